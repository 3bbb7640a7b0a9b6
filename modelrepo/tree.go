package modelrepo

import (
	"context"
	"errors"
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/cas"
	"github.com/iotenablers/enablers/storage"
)

// errAbsent is returned when there is no visible node. Operations replace it by an
// error in the words of the interface.
var errAbsent = errors.New("modelrepo: no such node")

// errKeep is returned by a change that finds nothing to change.
var errKeep = errors.New("modelrepo: nothing to change")

// tree is the namespaces, models and versions as nodes in a store of documents.
type tree struct {
	docs    storage.Documents
	limits  Limits
	settle  time.Duration
	locks   keyLocks
	indexes indexes
	scans   chan struct{} // has one element for each scan that runs
}

// load reads a node. It returns errAbsent for a node that is not visible yet.
func (t *tree) load(ctx context.Context, at Path) (node, storage.Revision, error) {
	doc, err := t.docs.Get(ctx, at.key())
	if errors.Is(err, storage.ErrNotFound) {
		return node{}, 0, errAbsent
	}
	if err != nil {
		return node{}, 0, err
	}
	n, err := decodeNode(doc)
	if err != nil {
		return node{}, 0, err
	}
	if !n.visible() {
		return node{}, 0, errAbsent
	}
	return n, doc.Revision, nil
}

// edit changes a visible node by compare-and-set and returns the new node. It calls the
// change again on the newer node when another edit came between. An error of the change
// ends the edit; errKeep ends it without an error. The mark of a deletion that is in
// progress is removed, so that the deletion checks the node again.
func (t *tree) edit(ctx context.Context, at Path, change func(*node) error) (node, error) {
	unlock, err := t.locks.lock(ctx, at.key())
	if err != nil {
		return node{}, err
	}
	defer unlock()
	for attempt := 0; ; attempt++ {
		n, revision, err := t.load(ctx, at)
		if err != nil {
			return node{}, err
		}
		if err := change(&n); err != nil {
			if errors.Is(err, errKeep) {
				err = nil
			}
			return n, err
		}
		n.Mark = nil
		_, err = t.docs.Update(ctx, at.key(), revision, n.encode())
		if err == nil || !cas.Moved(err) {
			return n, err
		}
		if err := cas.Pause(ctx, attempt); err != nil {
			return node{}, err
		}
	}
}

// find is load for a path that is not checked: an invalid path names nothing.
func (t *tree) find(ctx context.Context, at Path, depth int) (node, error) {
	if !at.valid(depth) {
		return node{}, errAbsent
	}
	n, _, err := t.load(ctx, at)
	return n, err
}

// update changes the fields of a node and returns the error in the words of the
// interface.
func (t *tree) update(
	ctx context.Context, op string, at Path, depth int, set func(*node) (bool, error),
) (changed bool, err error) {
	err = errAbsent
	if at.valid(depth) {
		_, err = t.edit(ctx, at, func(n *node) error {
			if changed, err = set(n); err == nil && !changed {
				return errKeep
			}
			return err
		})
	}
	if errors.Is(err, errAbsent) {
		return false, refuse(op, at, ErrNotFound, "Could not find %s '%s'.", at.Kind(), at)
	}
	if err != nil {
		return false, failed(op, at, err)
	}
	return changed, nil
}

// eachChild calls do for every visible child.
func (t *tree) eachChild(ctx context.Context, at Path, do func(Path, node) error) error {
	for doc, err := range storage.All(ctx, t.docs, at.childPrefix()) {
		if err != nil {
			return err
		}
		n, err := peekNode(doc)
		if err != nil {
			return err
		}
		if !n.visible() {
			continue
		}
		if err := do(at.child(doc.Key[len(at.childPrefix()):]), n); err != nil {
			return err
		}
	}
	return nil
}
