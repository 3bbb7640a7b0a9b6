package modelrepo

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/storage"
)

// maxIndexedNames bounds the memory of all indexes. The least recently used ones are
// removed first.
const maxIndexedNames = 2_000_000

// window is the part of an index that is on a page.
type window struct {
	names  []string // in ascending order
	before string   // the name before the first, empty if it is the first of all
	total  int
}

// indexes are the sorted names of the children of nodes that were listed by page. The
// zero value is ready for use.
type indexes struct {
	mu    sync.Mutex
	byKey map[string]*list.Element // of *index
	order list.List                // the most recently used at the front
	names int                      // in all of them
}

// window returns the names of a page, in the state of the node that was just read or a
// later one.
func (x *indexes) window(ctx context.Context, t *tree, at Path, parent node, l Listing) (window, error) {
	i := x.of(at)
	if err := i.hold(ctx); err != nil {
		return window{}, err
	}
	defer i.release()
	if err := i.refresh(ctx, t, parent); err != nil {
		return window{}, err
	}
	x.account(i)
	from, to := l.bounds(len(i.names))
	if l.Descending {
		from, to = len(i.names)-to, len(i.names)-from
	}
	w := window{names: slices.Clone(i.names[from:to]), total: len(i.names)}
	if from > 0 {
		w.before = i.names[from-1]
	}
	return w, nil
}

// count returns how many children a node has, in the state that was just read or a
// later one, including those that are being created and are recorded in the node,
// except the child of the given name.
func (x *indexes) count(ctx context.Context, t *tree, at Path, parent node, except string) (int, error) {
	i := x.of(at)
	if err := i.hold(ctx); err != nil {
		return 0, err
	}
	defer i.release()
	if err := i.refresh(ctx, t, parent); err != nil {
		return 0, err
	}
	x.account(i)
	count := len(i.names)
	for _, name := range i.unsettled {
		// A child that is not recorded yet will count this one when it is.
		_, visible := slices.BinarySearch(i.names, name)
		if !visible && name != except && slices.Contains(parent.Recent, name) {
			count++
		}
	}
	return count, nil
}

// of returns the index of the children of a node.
func (x *indexes) of(at Path) *index {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byKey == nil {
		x.byKey = map[string]*list.Element{}
	}
	if element, found := x.byKey[at.key()]; found {
		x.order.MoveToFront(element)
		return element.Value.(*index)
	}
	i := &index{at: at, turn: make(chan struct{}, 1)}
	x.byKey[at.key()] = x.order.PushFront(i)
	return i
}

// account updates the total number of names and removes other indexes if there are too
// many.
func (x *indexes) account(i *index) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if element := x.byKey[i.at.key()]; element == nil || element.Value != any(i) {
		return // removed meanwhile
	}
	x.names += len(i.names) + 1 - i.counted
	i.counted = len(i.names) + 1 // an empty index counts as well
	for x.names > maxIndexedNames && x.order.Len() > 1 {
		oldest := x.order.Remove(x.order.Back()).(*index)
		delete(x.byKey, oldest.at.key())
		x.names -= oldest.counted
	}
}

// index is the sorted list of the names of the visible children of a node.
//
// It is valid for the count of changes that was in the node before the names were read.
// A child that changed since then is named in the node, because every change is
// recorded there. A child that was changing at that time had a mark, because the mark
// comes before the record; it is read again until the mark is removed.
type index struct {
	at   Path
	turn chan struct{} // full while the index is in use

	id        string // of the node; empty before the first reading
	seen      uint64 // the node's count of changes
	names     []string
	unsettled []string // names to read again

	counted int // guarded by indexes.mu
}

func (i *index) hold(ctx context.Context) error {
	select {
	case i.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (i *index) release() { <-i.turn }

// refresh updates the index to the state of the node, or leaves it in a later state.
func (i *index) refresh(ctx context.Context, t *tree, parent node) error {
	if i.id != parent.ID {
		return i.read(ctx, t, parent)
	}
	if parent.Changes > i.seen {
		changed, known := parent.missed(i.seen)
		if !known {
			return i.read(ctx, t, parent)
		}
		for _, name := range changed {
			if !slices.Contains(i.unsettled, name) {
				i.unsettled = append(i.unsettled, name)
			}
		}
		i.seen = parent.Changes
	}
	return i.settle(ctx, t)
}

// read reads the names of all children.
func (i *index) read(ctx context.Context, t *tree, parent node) error {
	i.id, i.names, i.unsettled = "", nil, nil
	var names, unsettled []string
	prefix := i.at.childPrefix()
	for doc, err := range storage.All(ctx, t.docs, prefix) {
		if err != nil {
			return err
		}
		name := doc.Key[len(prefix):]
		if !bytes.Contains(doc.Data, []byte(markMember)) {
			names = append(names, name)
			continue
		}
		child, err := peekNode(doc)
		if err != nil {
			return err
		}
		if child.visible() {
			names = append(names, name)
		}
		if child.Mark != nil {
			unsettled = append(unsettled, name)
		}
	}
	i.id, i.seen, i.names, i.unsettled = parent.ID, parent.Changes, names, unsettled
	return nil
}

// settle reads the children that may have changed.
func (i *index) settle(ctx context.Context, t *tree) error {
	var still []string
	for at, name := range i.unsettled {
		child, _, err := t.load(ctx, i.at.child(name))
		switch {
		case errors.Is(err, errAbsent):
			// The child may be pending, so it is read again until there is no document.
			_, err = t.docs.Get(ctx, i.at.child(name).key())
			if err == nil {
				still = append(still, name)
			} else if !errors.Is(err, storage.ErrNotFound) {
				i.unsettled = append(still, i.unsettled[at:]...)
				return err
			}
			i.drop(name)
		case err != nil:
			i.unsettled = append(still, i.unsettled[at:]...)
			return err
		default:
			if child.Mark != nil {
				still = append(still, name)
			}
			i.insert(name)
		}
	}
	i.unsettled = still
	return nil
}

func (i *index) insert(name string) {
	if at, found := slices.BinarySearch(i.names, name); !found {
		i.names = slices.Insert(i.names, at, name)
	}
}

func (i *index) drop(name string) {
	if at, found := slices.BinarySearch(i.names, name); found {
		i.names = slices.Delete(i.names, at, at+1)
	}
}
