package modelrepo

import (
	"context"
	"errors"
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/cas"
	"github.com/iotenablers/enablers/storage"
)

// errAbsent says that there is no visible node. Operations give it the words
// of the interface.
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

// load reads a node. One that nobody may see yet is errAbsent as well.
func (t *tree) load(ctx context.Context, at Path) (node, storage.Revision, error) {
	doc, err := t.docs.Get(ctx, at.key())
	if errors.Is(err, storage.ErrNotFound) {
		return node{}, 0, errAbsent
	}
	if err != nil {
		return node{}, 0, err
	}
	n, err := decode[node](doc)
	if err != nil {
		return node{}, 0, err
	}
	if !n.visible() {
		return node{}, 0, errAbsent
	}
	return n, doc.Revision, nil
}

// edit changes a visible node by compare-and-set and returns it as it then is.
// The change is called again on the newer node when another one came between.
// An error of the change ends it; errKeep ends it without an error. Whoever is
// deleting the node meanwhile has to look again, so its mark goes.
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
		_, err = t.docs.Update(ctx, at.key(), revision, encode(n))
		if err == nil || !cas.Moved(err) {
			return n, err
		}
		if err := cas.Pause(ctx, attempt); err != nil {
			return node{}, err
		}
	}
}

// find is load for a path that somebody gave us: one that is not valid names
// nothing.
func (t *tree) find(ctx context.Context, at Path, depth int) (node, error) {
	if !at.valid(depth) {
		return node{}, errAbsent
	}
	n, _, err := t.load(ctx, at)
	return n, err
}

// update changes a node's own fields.
func (t *tree) update(ctx context.Context, op string, at Path, depth int, set func(*node) (bool, error)) (changed bool, err error) {
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
		return false, refuse(op, at, ErrNotFound, "Could not find %s '%s'.", at.kind(), at)
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
		n, err := decode[node](doc)
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
