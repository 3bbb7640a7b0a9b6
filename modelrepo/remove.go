package modelrepo

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/cleanup"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/lease"
)

// remove removes a node from the tree. It returns errAbsent if there is none, and the
// error of the check. Whatever the check reads elsewhere must move the node's revision
// when it changes. The function parent gets the parent when it records the deletion, and may
// change or refuse it; nil does nothing.
func (t *tree) remove(
	ctx context.Context, at Path, check func(context.Context, *node) error, parent func(*node) error,
) error {
	if parent == nil {
		parent = func(*node) error { return nil }
	}
	me, marked := newID(), false
	var seen lease.Observation
	return storage.Retry(ctx, func() (again bool, err error) {
		n, revision, err := t.load(ctx, at)
		if err != nil {
			return false, err
		}
		other := n.Mark
		if other != nil && marked && other.By != me && seen.Unchanged(revision) < t.settle {
			return true, nil // another operation is deleting the node
		}
		marked = true
		err = t.removeAt(ctx, at, n, revision, me, check, parent)
		return storage.Overtaken(err), err
	})
}

// removeAt removes the node at the revision. The error matches [storage.Overtaken] if the node
// is at another revision by now.
func (t *tree) removeAt(
	ctx context.Context, at Path, n node, revision storage.Revision, me string,
	check func(context.Context, *node) error, parent func(*node) error,
) error {
	if err := check(ctx, &n); err != nil {
		return err
	}
	n.Mark = &mark{leaving, me, time.Now().UTC()}
	revision, err := t.docs.Update(ctx, at.key(), revision, n.encode())
	if err != nil {
		return err
	}
	if err := t.announce(ctx, at, parent); err != nil && !errors.Is(err, errAbsent) {
		var refusal *Error
		if errors.As(err, &refusal) {
			ctx, cancel := cleanup.Context(ctx)
			defer cancel()
			_, _ = t.edit(ctx, at, func(*node) error { return nil }) // removes the mark, or Repair does
		}
		return err
	}
	return t.docs.Delete(ctx, at.key(), revision)
}

// childless returns ErrNotEmpty if there is a visible node below the path. Nodes that
// are being added there are deleted: their operations start again and check whether the
// parent still exists.
func (t *tree) childless(ctx context.Context, at Path) error {
	var proposed []storage.Document
	for doc, err := range storage.All(ctx, t.docs, at.childPrefix()) {
		if err != nil {
			return err
		}
		child, err := peekNode(doc)
		if err != nil {
			return err
		}
		if child.visible() {
			return ErrNotEmpty
		}
		proposed = append(proposed, doc)
	}
	for _, doc := range proposed {
		err := t.docs.Delete(ctx, doc.Key, doc.Revision)
		if errors.Is(err, storage.ErrConflict) {
			return storage.ErrConflict // it may be visible now
		}
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
	}
	return nil
}

// RemoveOptions changes how a version is deleted. The zero value is the default.
type RemoveOptions struct {
	// Force permits removing an immutable version, together with its content, and a version
	// that aliases of the model name, together with these.
	Force bool
}

// Removed is what the deletion of a version has changed besides.
type Removed struct {
	// Aliases are the aliases that named the version, and were removed with it.
	Aliases []string
	// WasLatest is set if the model's latestVersion names the version. It stays as it is.
	WasLatest bool
}

// RemoveVersion removes a version. The error matches [ErrNotFound] if there is none,
// [ErrNotEmpty] if it has content or documentation, and without Force [ErrImmutable] if it is
// immutable, and [ErrAliased] if aliases of the model name it. Uploads to it that are in
// progress fail at their end. A new version may get its tag afterwards. opts may be nil.
func (s *Store) RemoveVersion(ctx context.Context, at Path, opts *RemoveOptions) (Removed, error) {
	if opts == nil {
		opts = &RemoveOptions{}
	}
	r := removal{store: s, at: at, force: opts.Force}
	err := r.run(ctx)
	if err != nil {
		return Removed{}, err
	}
	slices.Sort(r.done.Aliases)
	return r.done, nil
}

// DeleteVersion is [Store.RemoveVersion] without Force.
func (s *Store) DeleteVersion(ctx context.Context, at Path) error {
	_, err := s.RemoveVersion(ctx, at, nil)
	return err
}

// DeleteImmutable is [Store.RemoveVersion] with Force.
func (s *Store) DeleteImmutable(ctx context.Context, at Path) error {
	_, err := s.RemoveVersion(ctx, at, &RemoveOptions{Force: true})
	return err
}

// removal is the deletion of a version.
type removal struct {
	store *Store
	at    Path
	force bool
	done  Removed
}

const deleteVersion = "delete model version"

// aliases returns the aliases in a model that name the version, sorted, or the refusal because of
// them.
func (r *removal) aliases(model *node) ([]string, error) {
	var names []string
	for name, target := range model.Aliases {
		if target == r.at.Version {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 || r.force {
		return names, nil
	}
	return nil, refuse(deleteVersion, r.at, ErrAliased, "Aliases of model '%s' name the version '%s': '%s'. Please change them first. "+
		"To delete them together with the version, the 'force' parameter must be set to '1'.",
		r.at.Parent(), r.at.Version, strings.Join(names, "', '"))
}

// record removes the aliases from the model while the deletion is recorded there: an alias
// that is set at the same time is seen here, or was set after the version was deleted.
func (r *removal) record(model *node) error {
	names, err := r.aliases(model)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		model.Aliases = maps.Clone(model.Aliases)
	}
	for _, name := range names {
		delete(model.Aliases, name)
		if !slices.Contains(r.done.Aliases, name) { // from an attempt before
			r.done.Aliases = append(r.done.Aliases, name)
		}
	}
	r.done.WasLatest = model.LatestVersion == r.at.Version
	return nil
}

func (r *removal) run(ctx context.Context) error {
	const op = deleteVersion
	s, at, immutable := r.store, r.at, r.force
	if err := refuseLatest(op, at); err != nil {
		return err
	}
	err, freed := errAbsent, s.contents.usage.reservation(at)
	if at.valid(3) {
		removable := func(ctx context.Context, n *node) error {
			switch {
			case n.Immutable && !immutable:
				return refuse(op, at, ErrImmutable, "Model version '%s' is immutable. "+
					"To delete it together with its content, the 'force' parameter must be set to '1'.", at)
			case !n.Immutable && len(n.Formats) > 0:
				return refuse(op, at, ErrNotEmpty, "Model version '%s' is not empty. Please delete the content first.",
					at)
			case !n.Immutable && n.Documentation != nil:
				return refuse(op, at, ErrNotEmpty,
					"Model version '%s' is not empty. Please delete the documentation first.", at)
			}
			model, err := s.tree.find(ctx, at.Parent(), 2)
			if err == nil {
				_, err = r.aliases(&model) // before the version is marked
			}
			if err != nil && !errors.Is(err, errAbsent) {
				return err
			}
			return freed.reserve(ctx, op, at, -n.size())
		}
		err = s.hooks.Record(ctx, func() error { return s.tree.remove(ctx, at, removable, r.record) },
			newEvent(ModelVersionDelete, at))
	}
	if err == nil {
		freed.commit()
	}
	switch {
	case errors.Is(err, errAbsent):
		missing := at
		if _, parentErr := s.tree.find(ctx, at.Parent(), 2); errors.Is(parentErr, errAbsent) {
			missing = at.Parent()
		}
		return s.tree.unlessAlias(ctx, op, at, notFound(op, missing))
	case err != nil:
		return failed(op, at, err)
	}
	return nil
}
