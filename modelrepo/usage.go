package modelrepo

import (
	"context"
	"sync"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// How long a tally is used without reading again: before other processes may have
// uploaded a lot, and, before a refusal, until they may have deleted content.
const (
	tallyTrusted = time.Minute
	tallyFresh   = time.Second
)

// usage is how many bytes of content the namespaces have, where that is limited.
type usage struct {
	tree *tree
	most int64 // bytes of a namespace; 0 for no limit

	mu sync.Mutex
	of map[string]*tally // by namespace
}

// tally is the content of one namespace. Reading all versions of the namespace corrects
// it now and then. Content that is added during a reading is counted even if the
// reading may have counted it already; content that is removed is not subtracted then.
// So the tally is never less than what this process has stored.
type tally struct {
	reading chan struct{} // full while a goroutine reads

	// The other fields are guarded by usage.mu.
	bytes    int64     // stored, as far as known
	reserved int64     // by uploads that are about to end
	came     int64     // stored since the reading began
	inexact  bool      // it may be more than there is
	read     time.Time // when the last reading began; zero before the first
	epoch    uint64    // moves when a reading begins and when it ends
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

// room returns nil if that many more bytes would fit, and otherwise a refusal.
func (u *usage) room(ctx context.Context, op string, at Path, more int64) error {
	return u.try(ctx, op, at, more, func(*tally) {})
}

// try calls then while it is certain that there is room.
func (u *usage) try(ctx context.Context, op string, at Path, more int64, then func(*tally)) error {
	t, most := u.tally(at.Namespace), u.most
	for attempt := 0; ; attempt++ {
		u.mu.Lock()
		fits := more <= 0 || more <= most-t.bytes-t.reserved
		age := time.Since(t.read)
		// Uploads of other processes can make a tally inexact as soon as it is read.
		old := more > 0 && attempt < 2 && (age > tallyTrusted || (!fits && (t.inexact || age > tallyFresh)))
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
			return refuse(op, at, ErrQuota,
				"Namespace '%s' can hold %d bytes of content, and holds %d. "+
					"The content does not fit. Nothing was stored.", at.Namespace, most, held)
		default:
			return nil
		}
	}
}

// readAgain reads all versions of the namespace, unless another goroutine has done so
// since the epoch.
func (u *usage) readAgain(ctx context.Context, at Path, t *tally, epoch uint64) error {
	select {
	case t.reading <- struct{}{}:
		defer func() { <-t.reading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	u.mu.Lock()
	if t.epoch > epoch+1 { // a reading has begun and ended since
		u.mu.Unlock()
		return nil
	}
	began := time.Now()
	t.came, t.epoch = 0, t.epoch+1
	reserved := t.reserved > 0
	u.mu.Unlock()

	bytes, err := u.tree.contentBytes(ctx, at.Namespace)

	u.mu.Lock()
	defer u.mu.Unlock()
	t.epoch++
	if err != nil {
		return err
	}
	t.bytes, t.inexact, t.read = bytes+t.came, reserved || t.came > 0, began
	return nil
}

// contentBytes returns the size of all content of a namespace.
func (t *tree) contentBytes(ctx context.Context, namespace string) (int64, error) {
	total := int64(0)
	for doc, err := range storage.All(ctx, t.docs, versionPrefix+namespace+"/") {
		if err != nil {
			return 0, err
		}
		n, err := peekNode(doc)
		if err != nil {
			return 0, err
		}
		total += n.size()
	}
	return total, nil
}

// size returns the size of the content of a version.
func (n *node) size() int64 {
	total := int64(0)
	for _, e := range n.Formats {
		total += e.Size
	}
	return total
}

// reservation is a change of the content of a namespace that is about to be written. A
// nil *reservation reserves nothing.
type reservation struct {
	usage *usage
	tally *tally
	epoch uint64
	delta int64
}

// reservation returns a reservation for the namespace; nil if nothing limits it.
func (u *usage) reservation(at Path) *reservation {
	if u.most == 0 {
		return nil
	}
	return &reservation{usage: u, tally: u.tally(at.Namespace)}
}

// reserve reserves a number of bytes, negative for content that is removed, in place of
// those reserved before. The error is a refusal if they do not fit.
func (c *reservation) reserve(ctx context.Context, op string, at Path, delta int64) error {
	if c == nil {
		return nil
	}
	c.release()
	return c.usage.try(ctx, op, at, delta, func(t *tally) {
		c.epoch, c.delta = t.epoch, delta
		t.reserved += max(delta, 0)
	})
}

// release ends the reservation without a change.
func (c *reservation) release() {
	if c == nil {
		return
	}
	c.usage.mu.Lock()
	defer c.usage.mu.Unlock()
	c.tally.reserved -= max(c.delta, 0)
	c.delta = 0
}

// commit adds what was reserved to the tally, because it is written.
func (c *reservation) commit() {
	if c == nil {
		return
	}
	c.usage.mu.Lock()
	defer c.usage.mu.Unlock()
	t := c.tally
	t.reserved -= max(c.delta, 0)
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
