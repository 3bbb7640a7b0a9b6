package modelrepo

import (
	"context"
	"errors"

	"github.com/iotenablers/enablers/storage"
)

// Model is a container of versions.
type Model struct {
	// Name is unique in the namespace.
	Name string `json:"name"`
	// Namespace is the name of the model's namespace.
	Namespace string `json:"namespace"`
	// LatestVersion is the version that the tag [Latest] stands for; empty if it is not
	// set. The version need not exist.
	LatestVersion string `json:"latestVersion,omitempty"`
	// Aliases maps further tags to the versions that they stand for. The versions need
	// not exist.
	Aliases map[string]string `json:"aliases,omitempty"`
	// Metadata describes the model.
	Metadata Metadata `json:"metadata,omitempty"`
	// Versions are the versions of the model. It is nil where the model is an item of a
	// set, and for a whole set that is empty.
	Versions *Set[Version] `json:"versions,omitempty"`
}

// ModelUpdate is what a model is created with or changed to.
type ModelUpdate struct {
	// LatestVersion is the new latest version. Empty leaves it as it is. [Unset]
	// removes it, which is valid in an update only.
	LatestVersion string `json:"latestVersion,omitempty"`
	// Aliases are set or replaced one by one; the target [Unset] removes an alias. An
	// alias has the form of a version tag. It is neither [Latest] nor the tag of an
	// existing version.
	Aliases map[string]string `json:"aliases,omitempty"`
	// Metadata are set, replaced or removed, each key by itself.
	Metadata Metadata `json:"metadata,omitempty"`
}

func (u ModelUpdate) check(op string, at Path, creating bool) error {
	err := checkValue(op, at, "latestVersion", u.LatestVersion, creating, func(v string) bool {
		return versionTags.MatchString(v) && v != Latest
	})
	if err == nil {
		err = checkAliases(op, at, u.Aliases, creating)
	}
	if err == nil {
		err = u.Metadata.check(op, at, creating)
	}
	return err
}

// set changes the node of a model.
func (u ModelUpdate) set(ctx context.Context, t *tree, op string, at Path, n *node) (changed bool, err error) {
	changed = apply(&n.LatestVersion, u.LatestVersion)
	aliases, err := t.setAliases(ctx, op, at, n, u.Aliases)
	if err != nil {
		return false, err
	}
	metadata, err := t.setMetadata(op, at, n, u.Metadata)
	return changed || aliases || metadata, err
}

// checkValue refuses an invalid value of a field.
func checkValue(op string, at Path, field, value string, creating bool, valid func(string) bool) error {
	switch {
	case value == "":
	case value == Unset && creating:
		return refuse(op, at, ErrInvalid, validating+"'%s' cannot be unset during creation", field)
	case value == Unset:
	case !valid(value):
		return refuse(op, at, ErrInvalid, validating+"'%s' is in invalid format", field)
	}
	return nil
}

// apply changes the field and reports whether anything has changed.
func apply(field *string, value string) bool {
	switch value {
	case "":
		return false
	case Unset:
		value = ""
	}
	changed := *field != value
	*field = value
	return changed
}

func listedModel(at Path, n node) Model {
	return Model{
		Name: at.Model, Namespace: at.Namespace,
		LatestVersion: n.LatestVersion, Aliases: n.Aliases, Metadata: n.Metadata,
	}
}

// CreateModel adds a model without versions. The error matches [ErrInvalid] for a name
// or a value that breaks the rules, [ErrExists] if the name is taken, [ErrNotFound] if
// there is no such namespace, [ErrTooLarge] or [ErrQuota].
func (s *Store) CreateModel(ctx context.Context, at Path, with ModelUpdate) error {
	const op = "create model"
	if !at.valid(2) {
		return refuse(op, at, ErrInvalid, "Invalid namespace or model name. "+
			"Namespace names must match regex: %s Model names must match regex: %s", namespaceRule, modelRule)
	}
	if err := with.check(op, at, true); err != nil {
		return err
	}
	var n node
	if _, err := with.set(ctx, s.tree, op, at, &n); err != nil {
		return failed(op, at, err)
	}
	err := s.hooks.Record(ctx, func() error { return s.tree.add(ctx, op, at, n) }, newEvent(ModelCreate, at))
	switch {
	case errors.Is(err, storage.ErrExists):
		return refuse(op, at, ErrExists, taken)
	case errors.Is(err, errAbsent):
		return notFound(op, at.Parent())
	case err != nil:
		return failed(op, at, err)
	}
	return nil
}

// Model returns a model with its versions, all or one page; the versions come without
// their formats. The error matches [ErrNotFound] if there is none.
func (s *Store) Model(ctx context.Context, at Path, listing *Listing) (Model, error) {
	const op = "get model"
	listing, err := check(op, at, listing, "version")
	if err != nil {
		return Model{}, err
	}
	n, err := s.tree.find(ctx, at, 2)
	if errors.Is(err, errAbsent) {
		return Model{}, notFound(op, at)
	}
	if err != nil {
		return Model{}, failed(op, at, err)
	}
	versions, err := children(ctx, s.tree, at, n, listing, listedVersion)
	if err != nil {
		return Model{}, failed(op, at, err)
	}
	m := listedModel(at, n)
	m.Versions = unlessEmpty(versions)
	return m, nil
}

// UpdateModel changes a model and reports whether anything has changed. The error
// matches [ErrInvalid], [ErrTooLarge], [ErrNotFound], or [ErrExists] if an alias is the
// tag of a version.
func (s *Store) UpdateModel(ctx context.Context, at Path, to ModelUpdate) (changed bool, err error) {
	const op = "update model"
	if err := to.check(op, at, false); err != nil {
		return false, err
	}
	return s.tree.update(ctx, op, at, 2, func(n *node) (bool, error) { return to.set(ctx, s.tree, op, at, n) })
}

// DeleteModel removes a model. The error matches [ErrNotFound] if there is none and
// [ErrNotEmpty] if it has versions.
func (s *Store) DeleteModel(ctx context.Context, at Path) error {
	return s.deleteContainer(ctx, at, 2, "Please delete the model versions first.")
}
