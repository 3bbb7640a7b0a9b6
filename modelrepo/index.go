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

// maxIndexedNames bounds the memory of all indexes together. The least recently
// used ones go first.
const maxIndexedNames = 2_000_000

// window is a page's part of an index.
type window struct {
	names  []string // in ascending order
	before string   // the name before the first, empty if it is the first of all
	total  int
}

// indexes holds the sorted names of the children of nodes whose children were
// listed by page. The zero value is ready for use.
type indexes struct {
	mu    sync.Mutex
	byKey map[string]*list.Element // of *index
	order list.List                // the most recently used at the front
	names int                      // in all of them
}

// window returns the names of a page, as of the node that was just read or
// later.
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

// count returns how many children a node has, as of the node that was just read
// or later, with those that are being created and were noted in it. The child
// of the given name is not counted if it is one of the latter.
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
		// One that is not noted yet will count this one when it is.
		_, visible := slices.BinarySearch(i.names, name)
		if !visible && name != except && slices.Contains(parent.Recent, name) {
			count++
		}
	}
	return count, nil
}

// of returns the index of a node's children.
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

// account counts the index's names and lets others go if they are too many.
func (x *indexes) account(i *index) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if element := x.byKey[i.at.key()]; element == nil || element.Value != any(i) {
		return // let go meanwhile
	}
	x.names += len(i.names) + 1 - i.counted
	i.counted = len(i.names) + 1 // an empty one counts as well
	for x.names > maxIndexedNames && x.order.Len() > 1 {
		oldest := x.order.Remove(x.order.Back()).(*index)
		delete(x.byKey, oldest.at.key())
		x.names -= oldest.counted
	}
}

// index is the sorted list of the names of a node's visible children.
//
// It holds as of the count of changes that was read from the node before it
// was made. A child that changed since then is found in the node, because
// every change is noted there; one that was changing at that time was marked,
// because the mark comes before the note, and is looked at again until its
// mark is gone.
type index struct {
	at   Path
	turn chan struct{} // full while somebody uses it

	id        string // of the node; empty before the first reading
	seen      uint64 // the node's count of changes
	names     []string
	unsettled []string // names to look at again

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

// refresh brings the index to the state of the node, or leaves it at a later
// one.
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
		child, err := decode[node](doc)
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

// settle looks at the children that may have changed.
func (i *index) settle(ctx context.Context, t *tree) error {
	var still []string
	for at, name := range i.unsettled {
		child, _, err := t.load(ctx, i.at.child(name))
		switch {
		case errors.Is(err, errAbsent):
			// Whether it is pending is not known here, so it is looked at until
			// nothing is there at all.
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
