package modelrepo

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/iotenablers/enablers/storage"
)

// MaxAliases is the most aliases of a model.
const MaxAliases = 64

// checkAliases refuses aliases that break the rules for the tags of versions.
func checkAliases(op string, at Path, aliases map[string]string, creating bool) error {
	const invalid = validating + "'aliases.%s' is in invalid format"
	valid := func(tag string) bool { return versionTags.MatchString(tag) && tag != Latest }
	for _, name := range slices.Sorted(maps.Keys(aliases)) {
		target := aliases[name]
		switch {
		case name == Latest:
			return refuse(op, at, ErrInvalid, validating+"'aliases.latest' is not an alias, use 'latestVersion'")
		case !valid(name):
			return refuse(op, at, ErrInvalid,
				validating+"the alias '%s' in 'aliases' is in invalid format. Aliases must match regex: %s",
				clipped(name), versionRule)
		case target == Unset && creating:
			return refuse(op, at, ErrInvalid, validating+"'aliases.%s' cannot be unset during creation", name)
		case target != Unset && !valid(target):
			return refuse(op, at, ErrInvalid, invalid, name)
		}
	}
	if len(aliases) > MaxAliases {
		return refuse(op, at, ErrInvalid, validating+"'aliases' has too many names: %d, the most is %d",
			len(aliases), MaxAliases)
	}
	return nil
}

// setAliases changes the aliases of a model. It refuses a name that is the tag of a
// version.
//
// This and the creation of a version with that tag exclude each other. A creation
// writes the pending version before it announces it in the model. Here the model is
// read before the version is looked up, and written at the revision that was read. So
// either the version is found here, or its announcement finds the alias, or the model
// has moved and this runs again.
func (t *tree) setAliases(
	ctx context.Context, op string, at Path, n *node, aliases map[string]string,
) (changed bool, err error) {
	merged := maps.Clone(n.Aliases)
	for name, target := range aliases {
		old, found := n.Aliases[name]
		switch {
		case target == Unset:
			delete(merged, name)
			changed = changed || found
		case found && old == target:
		default:
			if !found {
				if err := t.freeForAlias(ctx, op, at.child(name)); err != nil {
					return false, err
				}
			}
			if merged == nil {
				merged = map[string]string{}
			}
			merged[name] = target
			changed = true
		}
	}
	if len(merged) > MaxAliases {
		return false, refuse(op, at, ErrInvalid,
			preUpdate+"the number of aliases would exceed the allowed limit: they would be %d, the most is %d.",
			len(merged), MaxAliases)
	}
	if changed {
		n.Aliases = merged
	}
	return changed, nil
}

// freeForAlias returns nil if there is no version at the path, visible or pending.
func (t *tree) freeForAlias(ctx context.Context, op string, at Path) error {
	_, err := t.docs.Get(ctx, at.key())
	switch {
	case err == nil:
		return refuse(op, at.Parent(), ErrExists,
			"'%s' cannot be an alias of model '%s', because it is the tag of a version.", at.Version, at.Parent())
	case errors.Is(err, storage.ErrNotFound):
		return nil
	}
	return err
}
