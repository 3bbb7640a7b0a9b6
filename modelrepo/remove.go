package modelrepo

import (
	"context"
	"errors"
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/cas"
	"github.com/iotenablers/enablers/storage"
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
	for attempt := 0; ; attempt++ {
		n, revision, err := t.load(ctx, at)
		if err != nil {
			return err
		}
		if other := n.Mark; other == nil || !marked || other.By == me || t.stale(other) {
			err = t.removeAt(ctx, at, n, revision, me, check, parent)
			if !cas.Moved(err) {
				return err
			}
			marked = true
		}
		// The node has changed, or another operation is deleting it.
		if err := cas.Pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// removeAt removes the node at the revision. The error matches [cas.Moved] if the node
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
			ctx, cancel := cas.Cleanup(ctx)
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
