package modelrepo

import (
	"context"
	"sync"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// How long a tally is believed: until others may have uploaded a lot, and, before
// something is refused, until others may have deleted something.
const (
	tallyTrusted = time.Minute
	tallyFresh   = time.Second
)

// usage knows how many bytes of content the namespaces hold, where that is
// limited. The zero value is ready for use.
type usage struct {
	tree *tree
	most int64 // bytes of a namespace; 0 for no limit

	mu sync.Mutex
	of map[string]*tally // by namespace
}

// tally is what one namespace holds: at least what this process knows of. It is
// corrected by reading all its versions now and then. What comes is counted
// even if the reading may have counted it already; what goes is not counted
// then. So it is never less than what this process has stored.
type tally struct {
	reading chan struct{} // full while somebody reads

	// The others are guarded by usage.mu.
	bytes   int64     // stored, as far as known
	claimed int64     // by uploads that are about to end
	came    int64     // stored since the reading began
	inexact bool      // it may be more than there is
	read    time.Time // when the last reading began; zero before the first
	epoch   uint64    // moves when a reading begins and when it ends
}

func (u *usage) tally(namespace string) *tally {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of = map[string]*tally{}
	}
	t := u.of[namespace]
	if t == nil {
		t = &tally{reading: make(chan struct{}, 1)}
		u.of[namespace] = t
	}
	return t
}

// room returns nil if that many more bytes would fit, and else a refusal.
func (u *usage) room(ctx context.Context, op string, at Path, more int64) error {
	return u.try(ctx, op, at, more, func(*tally) {})
}

// try calls then, in one step with finding that there is room.
func (u *usage) try(ctx context.Context, op string, at Path, more int64, then func(*tally)) error {
	t, most := u.tally(at.Namespace), u.most
	for attempt := 0; ; attempt++ {
		u.mu.Lock()
		fits := more <= 0 || more <= most-t.bytes-t.claimed
		age := time.Since(t.read)
		// Somebody else's uploads can make a tally inexact as soon as it is read.
		old := more > 0 && attempt < 2 && (age > tallyTrusted || !fits && (t.inexact || age > tallyFresh))
		if !old && fits {
			then(t)
		}
		held, epoch := t.bytes, t.epoch
		u.mu.Unlock()
		switch {
		case old:
			if err := u.readAgain(ctx, at, t, epoch); err != nil {
				return err
			}
		case !fits:
			return refuse(op, at, ErrQuota, "Namespace '%s' can hold %d bytes of content, and holds %d. The content does not fit. Nothing was stored.", at.Namespace, most, held)
		default:
			return nil
		}
	}
}

// readAgain reads all versions of the namespace, unless another one has since
// the epoch.
func (u *usage) readAgain(ctx context.Context, at Path, t *tally, epoch uint64) error {
	select {
	case t.reading <- struct{}{}:
		defer func() { <-t.reading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	u.mu.Lock()
	if t.epoch > epoch+1 { // one began and ended since
		u.mu.Unlock()
		return nil
	}
	began := time.Now()
	t.came, t.epoch = 0, t.epoch+1
	claimed := t.claimed > 0
	u.mu.Unlock()

	bytes, err := u.tree.contentBytes(ctx, at.Namespace)

	u.mu.Lock()
	defer u.mu.Unlock()
	t.epoch++
	if err != nil {
		return err
	}
	t.bytes, t.inexact, t.read = bytes+t.came, claimed || t.came > 0, began
	return nil
}

// contentBytes adds up the content of a namespace.
func (t *tree) contentBytes(ctx context.Context, namespace string) (int64, error) {
	total := int64(0)
	for doc, err := range storage.All(ctx, t.docs, versionPrefix+namespace+"/") {
		if err != nil {
			return 0, err
		}
		n, err := decode[node](doc)
		if err != nil {
			return 0, err
		}
		total += n.size()
	}
	return total, nil
}

// size is how many bytes of content a version has.
func (n *node) size() int64 {
	total := int64(0)
	for _, e := range n.Formats {
		total += e.Size
	}
	return total
}

// change is a change of what a namespace holds, that is about to be written. A
// nil *change is none.
type change struct {
	usage *usage
	tally *tally
	epoch uint64
	delta int64
}

// changeOf begins a change of the namespace; nil if nothing limits it.
func (u *usage) change(at Path) *change {
	if u.most == 0 {
		return nil
	}
	return &change{usage: u, tally: u.tally(at.Namespace)}
}

// plan says how much comes, or goes if it is negative, in place of what was
// planned before. The error is a refusal if that does not fit.
func (c *change) plan(ctx context.Context, op string, at Path, delta int64) error {
	if c == nil {
		return nil
	}
	c.drop()
	return c.usage.try(ctx, op, at, delta, func(t *tally) {
		c.epoch, c.delta = t.epoch, delta
		t.claimed += max(delta, 0)
	})
}

// drop forgets what was planned.
func (c *change) drop() {
	if c == nil {
		return
	}
	c.usage.mu.Lock()
	defer c.usage.mu.Unlock()
	c.tally.claimed -= max(c.delta, 0)
	c.delta = 0
}

// done counts what was planned, because it is written.
func (c *change) done() {
	if c == nil {
		return
	}
	c.usage.mu.Lock()
	defer c.usage.mu.Unlock()
	t := c.tally
	t.claimed -= max(c.delta, 0)
	switch {
	case c.delta >= 0:
		t.bytes += c.delta
		t.came += c.delta
		t.inexact = t.inexact || c.epoch != t.epoch // it may be counted twice
	case c.epoch == t.epoch && t.epoch%2 == 0:
		t.bytes += c.delta
	default:
		t.inexact = true // a reading may have seen it gone already
	}
	c.delta = 0
}
