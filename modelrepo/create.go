package modelrepo

import (
	"context"
	"errors"
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/cleanup"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/lease"
)

// add adds a node to the tree. It returns errAbsent if there is no parent,
// storage.ErrExists if the name is taken, and a refusal if the parent does not admit
// the node.
//
// Only the operation that proposed a node makes it visible. When another operation
// proposes the same name, it takes over the proposal, once, and the first operation
// waits for the result.
func (t *tree) add(ctx context.Context, op string, at Path, n node) error {
	return t.addWith(ctx, op, at, n, nil, func(*node) error { return nil })
}

// addWith is add for a node with content. While the node is pending it has the tickets
// in place of the content. The function complete is called in that time, perhaps more
// than once, and sets the content.
func (t *tree) addWith(
	ctx context.Context, op string, at Path, n node, tickets []ticket, complete func(*node) error,
) error {
	n.ID = newID()
	marked := n
	marked.Formats, marked.Uploads = nil, tickets
	p := proposal{tree: t, at: at, node: marked}
	return storage.Retry(ctx, func() (again bool, err error) {
		if err := t.requireParent(ctx, at); err != nil {
			return false, err
		}
		revision, done, err := p.propose(ctx)
		if done || err != nil {
			return false, err
		}
		err = complete(&n)
		if err == nil {
			err = t.announce(ctx, at, func(parent *node) error { return t.admit(ctx, op, at, parent) })
		}
		if err == nil {
			_, err = t.docs.Update(ctx, at.key(), revision, n.encode())
		}
		if storage.Overtaken(err) {
			return true, nil // the proposal was taken over, or deleted because the parent was being deleted
		}
		if err != nil {
			p.withdraw(ctx, revision)
		}
		return false, err
	})
}

// requireParent returns errAbsent unless the parent is there.
func (t *tree) requireParent(ctx context.Context, at Path) error {
	if at.Parent().depth() == 0 {
		return nil
	}
	_, _, err := t.load(ctx, at.Parent())
	return err
}

// announce records in the parent that the child changes. It moves the parent's
// revision, so that a deletion of the parent checks it again. The check gets the parent
// as it was before, and its error ends the announcement.
func (t *tree) announce(ctx context.Context, child Path, check func(*node) error) error {
	for {
		_, err := t.edit(ctx, child.Parent(), func(n *node) error {
			if err := check(n); err != nil {
				return err
			}
			n.note(child.Name())
			return nil
		})
		if !errors.Is(err, errAbsent) || child.Parent().depth() > 0 {
			return err
		}
		root := node{ID: newID()}
		if _, err := t.docs.Create(ctx, rootKey, root.encode()); err != nil && !errors.Is(err, storage.ErrExists) {
			return err
		}
	}
}

// proposal is a node that is being added to the tree.
type proposal struct {
	tree *tree
	at   Path
	node node
	took bool              // it has taken over another proposal
	seen lease.Observation // of the proposal of another operation
}

// propose stores the node as pending. It is done when the node is visible already.
func (p *proposal) propose(ctx context.Context) (revision storage.Revision, done bool, err error) {
	t, key, marked := p.tree, p.at.key(), p.node
	err = storage.Retry(ctx, func() (again bool, err error) {
		marked.Mark = &mark{pending, p.node.ID, time.Now().UTC()}
		revision, err = t.docs.Create(ctx, key, marked.encode())
		if !errors.Is(err, storage.ErrExists) {
			return false, err
		}
		doc, err := t.docs.Get(ctx, key)
		if errors.Is(err, storage.ErrNotFound) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		found, err := peekNode(doc)
		if err != nil {
			return false, err
		}
		switch {
		case found.visible() && found.ID == p.node.ID:
			done = true // an update that returned an error has happened
			return false, nil
		case found.visible():
			done = true
			return false, storage.ErrExists
		case found.ID == p.node.ID:
			revision = doc.Revision
			return false, nil
		case p.took && p.seen.Unchanged(doc.Revision) < t.settle:
			return true, nil // the other operation has probably not crashed
		}
		revision, err = t.docs.Update(ctx, key, doc.Revision, marked.encode())
		p.took = p.took || err == nil
		return storage.Overtaken(err), err
	})
	return revision, done, err
}

// withdraw removes the node if it is still pending.
func (p *proposal) withdraw(ctx context.Context, revision storage.Revision) {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	_ = p.tree.docs.Delete(ctx, p.at.key(), revision) // or Repair does it later
}

// admit returns why the parent does not admit the child. It runs before the child is
// recorded in the parent, and the record is written at the revision that was read. So
// every child that was recorded before is counted: those that are visible, and those
// that will be.
func (t *tree) admit(ctx context.Context, op string, child Path, parent *node) error {
	at := child.Parent()
	if _, found := parent.Aliases[child.Version]; found && child.depth() == 3 {
		return refuse(op, child, ErrInvalid, reservedTag+" It is an alias of model '%s'.", child.Version, at)
	}
	most := t.limits.children(at.depth())
	if most == 0 {
		return nil
	}
	count, err := t.indexes.count(ctx, t, at, *parent, child.Name())
	if err != nil {
		return err
	}
	if count >= most {
		return refuse(op, child, ErrQuota, "%s '%s' has as many %ss as it can have: %d.",
			at.title(), at, child.Kind(), most)
	}
	return nil
}
