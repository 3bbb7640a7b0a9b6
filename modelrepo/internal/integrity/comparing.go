package integrity

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// comparing is a comparison in progress, which all wait for that need the result.
type comparing struct {
	ended   chan struct{} // closed when err is the result
	err     error
	cancel  context.CancelFunc
	urgent  atomic.Bool // it is not kept to partRate
	waiting int         // guarded by Checker.mu
}

// result waits for the result of [Checker.Compare] until the context ends.
func (p *comparing) result(ctx context.Context) error {
	select {
	case <-p.ended:
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join returns the comparison of content that is in progress, or begins one. It ends when all
// have left it. Damage that it finds is marked.
func (c *Checker) join(ctx context.Context, content Content, urgent bool) *comparing {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.comparing[content.Blob]
	if p == nil {
		p = &comparing{ended: make(chan struct{})}
		ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
		c.comparing[content.Blob] = p
		go c.conclude(ctx, content, p)
	}
	p.waiting++
	if urgent {
		p.urgent.Store(true)
	}
	return p
}

// leave is called once after join. It reports whether it ended the comparison.
func (c *Checker) leave(content Content, p *comparing) (last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.waiting--; p.waiting > 0 {
		return false
	}
	p.cancel()
	c.removeLocked(content, p)
	return true
}

// removeLocked lets the next one who joins begin again.
func (c *Checker) removeLocked(content Content, p *comparing) {
	if c.comparing[content.Blob] == p {
		delete(c.comparing, content.Blob)
	}
}

// conclude compares content.
func (c *Checker) conclude(ctx context.Context, content Content, p *comparing) {
	defer p.cancel()
	begun := time.Now()
	p.err = c.Compare(ctx, content, func(bytes int) error {
		if p.urgent.Load() {
			begun = time.Now()
			return ctx.Err()
		}
		return pace(ctx, &begun, bytes, partRate)
	})
	damaged := errors.Is(p.err, storage.ErrDamaged)
	if damaged && !errors.Is(p.err, errAbsent) { // deleted, or replaced, meanwhile
		c.Mark(ctx, content, p.err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(content, p)
	if p.err == nil || damaged {
		delete(c.suspects, content.Blob)
	}
	close(p.ended)
}
