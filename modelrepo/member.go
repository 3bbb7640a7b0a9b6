package modelrepo

import (
	"context"
	"errors"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// add puts a new node into the tree. It returns errAbsent if there is no
// parent, storage.ErrExists if the name is taken, and a refusal if the parent
// does not take it.
//
// Only the operation that proposed a node makes it visible. When another one
// proposes the same name, it takes the proposal over, once, and the first one
// waits for how that ends.
func (s *Store) add(ctx context.Context, op string, at Path, n node) error {
	return s.addWith(ctx, op, at, n, nil, func(*node) error { return nil })
}

// addWith is add for a node with content. While the node is pending it has the
// tickets in place of the content. Complete is called in that time, perhaps
// more than once, and makes it the node that becomes visible.
func (s *Store) addWith(ctx context.Context, op string, at Path, n node, tickets []ticket, complete func(*node) error) error {
	n.ID = newID()
	marked := n
	marked.Formats, marked.Uploads = nil, tickets
	p := proposal{store: s, at: at, node: marked}
	for attempt := 0; ; attempt++ {
		if err := s.requireParent(ctx, at); err != nil {
			return err
		}
		revision, done, err := p.propose(ctx)
		if done || err != nil {
			return err
		}
		err = complete(&n)
		if err == nil {
			err = s.announce(ctx, at, func(parent *node) error { return s.admit(ctx, op, at, parent) })
		}
		if err == nil {
			_, err = s.docs.Update(ctx, at.key(), revision, encode(n))
		}
		if err == nil {
			return nil
		}
		if !moved(err) {
			p.withdraw(ctx, revision)
			return err
		}
		// Taken over, or aborted because the parent was being deleted.
		if err := pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// requireParent returns errAbsent unless the parent is there.
func (s *Store) requireParent(ctx context.Context, at Path) error {
	if at.parent().depth() == 0 {
		return nil
	}
	_, _, err := s.load(ctx, at.parent())
	return err
}

// announce notes in the parent that the child changes. It moves the parent's
// revision, so that whoever is deleting the parent looks again. The check sees
// the parent before, and its error ends it.
func (s *Store) announce(ctx context.Context, child Path, check func(*node) error) error {
	for {
		_, err := s.edit(ctx, child.parent(), func(n *node) error {
			if err := check(n); err != nil {
				return err
			}
			n.note(child.name())
			return nil
		})
		if !errors.Is(err, errAbsent) || child.parent().depth() > 0 {
			return err
		}
		root := node{ID: newID()}
		if _, err := s.docs.Create(ctx, rootKey, encode(root)); err != nil && !errors.Is(err, storage.ErrExists) {
			return err
		}
	}
}

// proposal is a node that is being added.
type proposal struct {
	store *Store
	at    Path
	node  node
	took  bool // it has taken another one over
}

// propose stores the node as a pending one. It is done when the node is
// visible already.
func (p *proposal) propose(ctx context.Context) (revision storage.Revision, done bool, err error) {
	s, key, marked := p.store, p.at.key(), p.node
	for attempt := 0; ; attempt++ {
		marked.Mark = &mark{pending, p.node.ID, time.Now().UTC()}
		revision, err := s.docs.Create(ctx, key, encode(marked))
		if !errors.Is(err, storage.ErrExists) {
			return revision, false, err
		}
		doc, err := s.docs.Get(ctx, key)
		if errors.Is(err, storage.ErrNotFound) {
			continue
		}
		if err != nil {
			return 0, false, err
		}
		found, err := decode[node](doc)
		switch {
		case err != nil:
			return 0, false, err
		case found.visible() && found.ID == p.node.ID:
			return 0, true, nil // the store had done what it could not confirm
		case found.visible():
			return 0, true, storage.ErrExists
		case found.ID == p.node.ID:
			return doc.Revision, false, nil
		case p.took && !s.stale(found.Mark):
			if err := pause(ctx, attempt); err != nil {
				return 0, false, err
			}
			continue
		}
		revision, err = s.docs.Update(ctx, key, doc.Revision, encode(marked))
		if err == nil {
			p.took = true
			return revision, false, nil
		}
		if !moved(err) {
			return 0, false, err
		}
	}
}

// withdraw removes the pending node, if it is still that.
func (p *proposal) withdraw(ctx context.Context, revision storage.Revision) {
	ctx, cancel := lastly(ctx)
	defer cancel()
	_ = p.store.docs.Delete(ctx, p.at.key(), revision) // Repair would, later
}

// stale reports whether the operation that left the mark has probably crashed.
func (s *Store) stale(m *mark) bool { return time.Since(m.Since) >= s.config.Settle }

// remove takes a node out of the tree. It returns errAbsent if there is none,
// and what the check of the node returns. What the check looked at elsewhere
// must move the node's revision when it changes.
func (s *Store) remove(ctx context.Context, at Path, check func(context.Context, *node) error) error {
	me, marked := newID(), false
	for attempt := 0; ; attempt++ {
		n, revision, err := s.load(ctx, at)
		if err != nil {
			return err
		}
		if other := n.Mark; other == nil || !marked || other.By == me || s.stale(other) {
			err = s.removeAt(ctx, at, n, revision, me, check)
			if !moved(err) {
				return err
			}
			marked = true
		}
		// Changed meanwhile, or another one is about to delete it.
		if err := pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// removeAt removes the node at the revision. The error matches moved when it is
// at another by now.
func (s *Store) removeAt(ctx context.Context, at Path, n node, revision storage.Revision, me string, check func(context.Context, *node) error) error {
	if err := check(ctx, &n); err != nil {
		return err
	}
	n.Mark = &mark{leaving, me, time.Now().UTC()}
	revision, err := s.docs.Update(ctx, at.key(), revision, encode(n))
	if err != nil {
		return err
	}
	goes := func(*node) error { return nil }
	if err := s.announce(ctx, at, goes); err != nil && !errors.Is(err, errAbsent) {
		return err
	}
	return s.docs.Delete(ctx, at.key(), revision)
}

// childless returns ErrNotEmpty if a visible node is below the path. Nodes that
// are being added there are aborted: their operations begin again and find out
// whether the parent is still there.
func (s *Store) childless(ctx context.Context, at Path) error {
	var proposed []storage.Document
	for doc, err := range storage.All(ctx, s.docs, at.childPrefix()) {
		if err != nil {
			return err
		}
		child, err := decode[node](doc)
		if err != nil {
			return err
		}
		if child.visible() {
			return ErrNotEmpty
		}
		proposed = append(proposed, doc)
	}
	for _, doc := range proposed {
		err := s.docs.Delete(ctx, doc.Key, doc.Revision)
		if errors.Is(err, storage.ErrConflict) {
			return storage.ErrConflict // it may be visible now
		}
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
	}
	return nil
}
