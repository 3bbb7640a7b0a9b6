package modelrepo

import (
	"context"
	"errors"
	"time"

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
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return node{}, 0, err
	}
	n, err := visibleNode(doc)
	return n, doc.Revision, err
}

// visibleNode decodes a document. It returns errAbsent without one, and for a node that is not visible yet.
func visibleNode(doc storage.Document) (node, error) {
	if doc.Revision == 0 {
		return node{}, errAbsent
	}
	n, err := decodeNode(doc)
	if err != nil {
		return node{}, err
	}
	if !n.visible() {
		return node{}, errAbsent
	}
	return n, nil
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
	var n node
	_, err = storage.Change(ctx, t.docs, at.key(), func(doc storage.Document) (data []byte, err error) {
		if n, err = visibleNode(doc); err != nil {
			return nil, err
		}
		err = change(&n)
		if errors.Is(err, errKeep) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		n.Mark = nil
		return n.encode(), nil
	})
	return n, err
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
