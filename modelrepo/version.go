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
	// Model and Namespace are where it is.
	Model     string `json:"model"`
	Namespace string `json:"namespace"`
	// Formats describes the content under each format tag; nil where the
	// version is an item of a set.
	Formats map[string]File `json:"formats,omitzero"`
	// DefaultFormat is what is downloaded when no format is named; empty if
	// that is not set. There need not be content in it.
	DefaultFormat string `json:"defaultFormat,omitempty"`
}

// VersionUpdate is what a version is created with, or changed to.
type VersionUpdate struct {
	// DefaultFormat is the new default format. Empty leaves it as it is, and
	// [Unset] removes it, which only makes sense in a change.
	DefaultFormat string `json:"defaultFormat,omitempty"`
}

func (u VersionUpdate) check(op string, at Path, creating bool) error {
	return checkValue(op, at, "defaultFormat", u.DefaultFormat, creating, ValidFormat)
}

func listedVersion(at Path, n node) Version {
	return Version{Version: at.Version, Model: at.Model, Namespace: at.Namespace, DefaultFormat: n.DefaultFormat}
}

// refuseLatest refuses to write by the tag that is only for reading.
func refuseLatest(op string, at Path) error {
	if at.Version == Latest {
		return refuse(op, at, ErrInvalid, "The 'latest' tag cannot be used for writes.")
	}
	return nil
}

// CreateVersion adds a version without content. The error matches [ErrInvalid]
// for a name or a value that breaks the rules, [ErrExists] if the tag is
// taken, [ErrNotFound] if there is no such model.
func (s *Store) CreateVersion(ctx context.Context, at Path, with VersionUpdate) error {
	const op = "create model version"
	if at.Version == Latest {
		return refuse(op, at, ErrInvalid, "Version tag 'latest' is reserved. Please choose another tag.")
	}
	if !at.valid(3) {
		return refuse(op, at, ErrInvalid, "Invalid namespace, model name, or version. Namespace names must match regex: %s Model names must match regex: %s Version tags must match regex: %s",
			namespaceRule, modelRule, versionRule)
	}
	if err := with.check(op, at, true); err != nil {
		return err
	}
	err := s.add(ctx, at, node{DefaultFormat: with.DefaultFormat})
	switch {
	case errors.Is(err, storage.ErrExists):
		return refuse(op, at, ErrExists, taken)
	case errors.Is(err, errAbsent):
		return s.missingModel(ctx, op, at.parent())
	case err != nil:
		return failed(op, at, err)
	}
	return nil
}

// missingModel says which of namespace and model is not there.
func (s *Store) missingModel(ctx context.Context, op string, at Path) error {
	if _, err := s.find(ctx, at.parent(), 1); errors.Is(err, errAbsent) {
		at = at.parent()
	}
	return notFound(op, at)
}

// Version returns a version with its formats. The tag may be [Latest]; the
// result has the real one. The error matches [ErrNotFound] if there is none.
func (s *Store) Version(ctx context.Context, at Path) (Version, error) {
	const op = "get model version"
	at, n, err := s.readVersion(ctx, op, at)
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

// readVersion finds the node of a version, by its tag or as the latest.
func (s *Store) readVersion(ctx context.Context, op string, at Path) (Path, node, error) {
	byPointer := at.Version == Latest
	if byPointer {
		latest, err := s.latest(ctx, op, at)
		if err != nil {
			return at, node{}, err
		}
		at.Version = latest
	}
	n, err := s.find(ctx, at, 3)
	switch {
	case errors.Is(err, errAbsent) && byPointer:
		return at, node{}, refuse(op, at, ErrNotFound, "Could not find the model version '%s', which 'latestVersion' was pointing to. Please update the pointer or create the missing version.", at)
	case errors.Is(err, errAbsent):
		return at, node{}, missingVersion(op, at)
	case err != nil:
		return at, node{}, failed(op, at, err)
	}
	return at, n, nil
}

func missingVersion(op string, at Path) error {
	return refuse(op, at, ErrNotFound, "Could not find model version '%s'.", at)
}

// latest returns the tag that the model's pointer names.
func (s *Store) latest(ctx context.Context, op string, at Path) (string, error) {
	model := at.parent()
	n, err := s.find(ctx, model, 2)
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

// UpdateVersion changes a version and reports whether anything was different.
// The error matches [ErrInvalid] or [ErrNotFound].
func (s *Store) UpdateVersion(ctx context.Context, at Path, to VersionUpdate) (changed bool, err error) {
	const op = "update model version"
	if err := refuseLatest(op, at); err != nil {
		return false, err
	}
	if err := to.check(op, at, false); err != nil {
		return false, err
	}
	return s.update(ctx, op, at, 3, func(n *node) bool { return apply(&n.DefaultFormat, to.DefaultFormat) })
}

// DeleteVersion removes a version. The error matches [ErrNotFound] if there is
// none, [ErrNotEmpty] if it has content. Uploads to it that are under way will
// not find it at their end.
func (s *Store) DeleteVersion(ctx context.Context, at Path) error {
	const op = "delete model version"
	if err := refuseLatest(op, at); err != nil {
		return err
	}
	err := errAbsent
	if at.valid(3) {
		err = s.remove(ctx, at, func(_ context.Context, n *node) error {
			if len(n.Formats) > 0 {
				return ErrNotEmpty
			}
			return nil
		})
	}
	switch {
	case errors.Is(err, errAbsent):
		if _, parentErr := s.find(ctx, at.parent(), 2); errors.Is(parentErr, errAbsent) {
			at = at.parent()
		}
		return notFound(op, at)
	case errors.Is(err, ErrNotEmpty):
		return refuse(op, at, ErrNotEmpty, "Model version '%s' is not empty. Please delete the content first.", at)
	case err != nil:
		return failed(op, at, err)
	}
	return nil
}
