package modelrepo

import (
	"cmp"
	"context"
	"errors"
)

// readVersion returns the node of a version by its tag, by the tag [Latest] or by an
// alias.
func (t *tree) readVersion(ctx context.Context, op string, at Path) (Path, node, error) {
	byPointer := at.Version == Latest
	if byPointer {
		latest, err := t.latest(ctx, op, at)
		if err != nil {
			return at, node{}, err
		}
		at.Version = latest
	}
	n, err := t.find(ctx, at, 3)
	if errors.Is(err, errAbsent) && !byPointer && at.valid(3) {
		target, found, aliasErr := t.aliased(ctx, at)
		if found && aliasErr == nil {
			return t.readAliased(ctx, op, at, target)
		}
		err = cmp.Or(aliasErr, err)
	}
	switch {
	case errors.Is(err, errAbsent) && byPointer:
		return at, node{}, refuse(op, at, ErrNotFound,
			"Could not find the model version '%s', which 'latestVersion' was pointing to. "+
				"Please update the pointer or create the missing version.", at)
	case errors.Is(err, errAbsent):
		return at, node{}, missingVersion(op, at)
	case err != nil:
		return at, node{}, failed(op, at, err)
	}
	return at, n, nil
}

// readAliased returns the node of the version that an alias stands for.
func (t *tree) readAliased(ctx context.Context, op string, at Path, target string) (Path, node, error) {
	alias := at.Version
	at.Version = target
	n, err := t.find(ctx, at, 3)
	if errors.Is(err, errAbsent) {
		return at, node{}, refuse(op, at, ErrNotFound,
			"Could not find the model version '%s', which the alias '%s' was pointing to. "+
				"Please update the pointer or create the missing version.", at, alias)
	}
	if err != nil {
		return at, node{}, failed(op, at, err)
	}
	return at, n, nil
}

func missingVersion(op string, at Path) error {
	return refuse(op, at, ErrNotFound, "Could not find model version '%s'.", at)
}

// latest returns the tag that the model's latestVersion names.
func (t *tree) latest(ctx context.Context, op string, at Path) (string, error) {
	model := at.Parent()
	n, err := t.find(ctx, model, 2)
	switch {
	case errors.Is(err, errAbsent):
		return "", missingVersion(op, at)
	case err != nil:
		return "", failed(op, model, err)
	case n.LatestVersion == "":
		return "", refuse(op, at, ErrNotFound, "The 'latestVersion' pointer is not set for model '%s'.", model)
	}
	return n.LatestVersion, nil
}

// missingModel returns the error for the namespace or the model that does not exist.
func (t *tree) missingModel(ctx context.Context, op string, at Path) error {
	if _, err := t.find(ctx, at.Parent(), 1); errors.Is(err, errAbsent) {
		at = at.Parent()
	}
	return notFound(op, at)
}

// aliased returns the target of the tag if the tag is an alias of the model.
func (t *tree) aliased(ctx context.Context, at Path) (target string, found bool, err error) {
	n, err := t.find(ctx, at.Parent(), 2)
	if errors.Is(err, errAbsent) {
		return "", false, nil
	}
	target, found = n.Aliases[at.Version]
	return target, found, err
}

// unlessAlias returns the error for a write to a version that does not exist: that its
// tag is an alias, or else the other error.
func (t *tree) unlessAlias(ctx context.Context, op string, at Path, otherwise error) error {
	if !at.valid(3) {
		return otherwise
	}
	switch _, found, err := t.aliased(ctx, at); {
	case err != nil:
		return failed(op, at, err)
	case found:
		return refuse(op, at, ErrInvalid, noWrites, at.Version)
	}
	return otherwise
}

// Exists returns an error unless the path names a namespace, a model or a version: one
// that matches [ErrNotFound] if it names none. An alias is not a version here.
func (s *Store) Exists(ctx context.Context, at Path) error {
	const op = "export"
	_, err := s.tree.find(ctx, at, max(at.depth(), 1))
	if errors.Is(err, errAbsent) {
		return notFound(op, at)
	}
	if err != nil {
		return failed(op, at, err)
	}
	return nil
}
