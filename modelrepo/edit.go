package modelrepo

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// errAbsent says that there is no visible node. Operations give it the words
// of the interface.
var errAbsent = errors.New("modelrepo: no such node")

// errKeep is returned by a change that finds nothing to change.
var errKeep = errors.New("modelrepo: nothing to change")

// load reads a node. One that nobody may see yet is errAbsent as well.
func (s *Store) load(ctx context.Context, at Path) (node, storage.Revision, error) {
	doc, err := s.docs.Get(ctx, at.key())
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
func (s *Store) edit(ctx context.Context, at Path, change func(*node) error) (node, error) {
	unlock, err := s.locks.lock(ctx, at.key())
	if err != nil {
		return node{}, err
	}
	defer unlock()
	for attempt := 0; ; attempt++ {
		n, revision, err := s.load(ctx, at)
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
		_, err = s.docs.Update(ctx, at.key(), revision, encode(n))
		if err == nil || !moved(err) {
			return n, err
		}
		if err := pause(ctx, attempt); err != nil {
			return node{}, err
		}
	}
}

// moved reports whether a document was no longer what had been read.
func moved(err error) bool {
	return errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound)
}

// pause waits before the next attempt: not at all at first, then a random time
// that grows to a tenth of a second. It fails when the context ends.
func pause(ctx context.Context, attempt int) error {
	const free, longest = 3, 100 * time.Millisecond
	if attempt < free {
		return ctx.Err()
	}
	limit := min(longest, time.Millisecond<<min(attempt-free, 7))
	timer := time.NewTimer(rand.N(limit) + 1)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// lastly returns a context for what an operation still does after its own has
// ended: taking away its traces. Without it Repair would, later.
func lastly(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
}

// keyLocks makes the edits of one document by this process wait for each other
// instead of failing at each other's revisions. Nothing depends on it but
// speed. The zero value is ready for use.
type keyLocks struct {
	mu   sync.Mutex
	held map[string]*keyLock
}

type keyLock struct {
	free  chan struct{}
	users int
}

// lock waits for the key. Nobody holds two.
func (k *keyLocks) lock(ctx context.Context, key string) (unlock func(), err error) {
	k.mu.Lock()
	if k.held == nil {
		k.held = map[string]*keyLock{}
	}
	l := k.held[key]
	if l == nil {
		l = &keyLock{free: make(chan struct{}, 1)}
		l.free <- struct{}{}
		k.held[key] = l
	}
	l.users++
	k.mu.Unlock()
	leave := func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(k.held, key)
		}
	}
	select {
	case <-l.free:
		return func() { l.free <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
