package modelrepo

import (
	"context"
	"errors"

	"github.com/iotenablers/enablers/storage"
)

// Version is a version of a model. It holds content under format tags.
type Version struct {
	// Version is the version's tag, unique in the model.
	Version string `json:"version"`
	// Model and Namespace name the parents of the version.
	Model     string `json:"model"`
	Namespace string `json:"namespace"`
	// Formats describes the content under each format tag. It is nil where the version
	// is an item of a set.
	Formats map[string]File `json:"formats,omitzero"`
	// DefaultFormat is the format of a download that names none; empty if it is not
	// set. It may have no content.
	DefaultFormat string `json:"defaultFormat,omitempty"`
	// Immutable is set when neither the version nor its content can change.
	Immutable bool `json:"immutable,omitempty"`
	// Metadata describes the version.
	Metadata Metadata `json:"metadata,omitempty"`
}

// VersionUpdate is what a version is created with or changed to.
type VersionUpdate struct {
	// DefaultFormat is the new default format. Empty leaves it as it is. [Unset]
	// removes it, which is valid in an update only.
	DefaultFormat string `json:"defaultFormat,omitempty"`
	// Immutable makes the version immutable, after the other changes of the same
	// update, in which alone it is valid. False leaves it as it is: an immutable
	// version stays immutable.
	Immutable bool `json:"immutable,omitempty"`
	// Metadata are set, replaced or removed, each key by itself.
	Metadata Metadata `json:"metadata,omitempty"`
}

func (u VersionUpdate) check(op string, at Path, creating bool) error {
	if u.Immutable && creating {
		return refuse(op, at, ErrInvalid, validating+"'immutable' cannot be set during creation")
	}
	if err := checkValue(op, at, "defaultFormat", u.DefaultFormat, creating, validFormat); err != nil {
		return err
	}
	return u.Metadata.check(op, at, creating)
}

// set changes the node of a version. It refuses to change an immutable one.
func (u VersionUpdate) set(t *tree, op string, at Path, n *node) (changed bool, err error) {
	changed = apply(&n.DefaultFormat, u.DefaultFormat)
	metadata, err := t.setMetadata(op, at, n, u.Metadata)
	if err != nil {
		return false, err
	}
	if changed = changed || metadata; changed {
		if err := n.refuseImmutable(op, at); err != nil {
			return false, err
		}
	}
	if u.Immutable && !n.Immutable {
		n.Immutable, changed = true, true
	}
	return changed, nil
}

// refuseImmutable refuses to change an immutable version.
func (n *node) refuseImmutable(op string, at Path) error {
	if n.Immutable {
		return refuse(op, at, ErrImmutable, "Model version '%s' is immutable. "+
			"Neither it nor its content can be changed. Please create a new version instead.", at)
	}
	return nil
}

func listedVersion(at Path, n node) Version {
	return Version{
		Version: at.Version, Model: at.Model, Namespace: at.Namespace,
		DefaultFormat: n.DefaultFormat, Immutable: n.Immutable, Metadata: n.Metadata,
	}
}

const (
	noWrites    = "The '%s' tag cannot be used for writes."
	reservedTag = "Version tag '%s' is reserved. Please choose another tag."
)

// refuseLatest refuses to write by the tag [Latest], which is for reading.
func refuseLatest(op string, at Path) error {
	if at.Version == Latest {
		return refuse(op, at, ErrInvalid, noWrites, Latest)
	}
	return nil
}

// CreateVersion adds a version without content. The error matches [ErrInvalid] for a
// name or a value that breaks the rules or a tag that is an alias, [ErrExists] if the
// tag is taken, [ErrNotFound] if there is no such model, [ErrTooLarge] or [ErrQuota].
func (s *Store) CreateVersion(ctx context.Context, at Path, with VersionUpdate) error {
	const op = "create model version"
	if at.Version == Latest {
		return refuse(op, at, ErrInvalid, reservedTag, Latest)
	}
	if !at.valid(3) {
		return refuse(op, at, ErrInvalid,
			"Invalid namespace, model name, or version. Namespace names must match regex: %s "+
				"Model names must match regex: %s Version tags must match regex: %s",
			namespaceRule, modelRule, versionRule)
	}
	if err := with.check(op, at, true); err != nil {
		return err
	}
	var n node
	if _, err := with.set(s.tree, op, at, &n); err != nil {
		return failed(op, at, err)
	}
	err := s.hooks.Record(ctx, func() error { return s.tree.add(ctx, op, at, n) }, newEvent(ModelVersionCreate, at))
	switch {
	case errors.Is(err, storage.ErrExists):
		return refuse(op, at, ErrExists, taken)
	case errors.Is(err, errAbsent):
		return s.tree.missingModel(ctx, op, at.Parent())
	case err != nil:
		return failed(op, at, err)
	}
	return nil
}

// Version returns a version with its formats. The tag may be [Latest] or an alias of
// the model; the result has the real tag. The error matches [ErrNotFound] if there is
// none.
func (s *Store) Version(ctx context.Context, at Path) (Version, error) {
	const op = "get model version"
	at, n, err := s.tree.readVersion(ctx, op, at)
	if err != nil {
		return Version{}, err
	}
	v := listedVersion(at, n)
	v.Formats = map[string]File{}
	for _, e := range n.Formats {
		v.Formats[e.Format] = e.file()
	}
	return v, nil
}

// UpdateVersion changes a version and reports whether anything has changed. The error
// matches [ErrInvalid], [ErrTooLarge], [ErrNotFound] or [ErrImmutable].
func (s *Store) UpdateVersion(ctx context.Context, at Path, to VersionUpdate) (changed bool, err error) {
	const op = "update model version"
	if err := refuseLatest(op, at); err != nil {
		return false, err
	}
	if err := to.check(op, at, false); err != nil {
		return false, err
	}
	changed, err = s.tree.update(ctx, op, at, 3, func(n *node) (bool, error) { return to.set(s.tree, op, at, n) })
	if errors.Is(err, ErrNotFound) {
		err = s.tree.unlessAlias(ctx, op, at, err)
	}
	return changed, err
}
