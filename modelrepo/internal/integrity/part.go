package integrity

import (
	"context"
	"errors"
	"time"

	"github.com/iotenablers/enablers/internal/notify"
	"github.com/iotenablers/enablers/storage"
)

const (
	// compareFirst is the size up to which content is compared before a part of it is sent.
	compareFirst = 8 << 20
	// compareBeside is the divisor of a size: content is compared beside a part that has at
	// least that share of its bytes.
	compareBeside = 4
	// partRate is how many bytes per second are compared of content of which smaller parts were
	// sent, and maxParts how many contents wait for that.
	partRate = 64 << 20
	maxParts = 1000
)

// Part prepares that the next n bytes are sent, which are not the whole content and whose digest
// is therefore unknown. What is read for that is bounded:
//   - Content that this process has compared lately is not compared.
//   - Up to [compareFirst] bytes are compared at once. The error matches [storage.ErrDamaged].
//   - Beside a part of at least a quarter of the content the whole is compared. The function
//     that Part returns waits for the result: call it before the last bytes are sent. A download
//     that was interrupted and goes on ends with an error if the content is damaged.
//   - Other content is compared afterwards, by [Scrubber.Run] of this process, if it scrubs by
//     itself.
func (r *Reader) Part(n int64) (compared func() error, err error) {
	c, content := r.checker, r.content
	switch {
	case c.isGood(content.Blob, r.file):
		return nil, nil
	case content.Size <= compareFirst:
		return nil, c.verify(r.ctx, content, func(int) error { return nil })
	case n < content.Size/compareBeside:
		c.suspect(content)
		return nil, nil
	}
	ctx, cancel := context.WithCancel(r.ctx)
	result := make(chan error, 1)
	go func() { result <- c.verify(ctx, content, func(int) error { return ctx.Err() }) }()
	r.cancel = cancel
	return func() error { return <-result }, nil
}

// verify compares content, and marks it if it is damaged. Other failures are those of the
// comparison and not of the content, whose reader finds out by itself.
func (c *Checker) verify(ctx context.Context, content Content, each func(bytes int) error) error {
	err := c.Compare(ctx, content, each)
	if !errors.Is(err, storage.ErrDamaged) || errors.Is(err, errAbsent) { // deleted, or replaced, meanwhile
		return nil
	}
	c.Mark(ctx, content, err)
	return err
}

// suspect records that a part of content was sent that was not compared lately.
func (c *Checker) suspect(content Content) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.suspects) < maxParts {
		c.suspects[content.Blob] = content
		notify.Send(c.suspected)
	}
}

// suspectedContent returns the content that is compared next.
func (c *Checker) suspectedContent() (Content, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, content := range c.suspects {
		return content, true
	}
	return Content{}, false
}

// compareParts compares the content of which parts were sent, one after the other, until the
// context ends.
func (c *Checker) compareParts(ctx context.Context) {
	for ctx.Err() == nil {
		content, found := c.suspectedContent()
		if !found {
			select {
			case <-ctx.Done():
			case <-c.suspected:
			}
			continue
		}
		begun := time.Now()
		_ = c.verify(ctx, content, func(bytes int) error { return pace(ctx, &begun, bytes, partRate) }) // it marks what is damaged
		c.mu.Lock()
		delete(c.suspects, content.Blob)
		c.mu.Unlock()
	}
}

// pace waits until the bytes may have been read at a rate per second. Begun is when they began to
// be read, and then when the next ones do.
func pace(ctx context.Context, begun *time.Time, bytes int, rate int64) error {
	due := begun.Add(time.Duration(float64(bytes) / float64(rate) * float64(time.Second)))
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		*begun = time.Now()
		return nil
	}
}
