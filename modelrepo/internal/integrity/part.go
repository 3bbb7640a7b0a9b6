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
	// heldBack is how long the end of a part waits, at most, for the comparison beside it. It is
	// shorter than what proxies usually wait for the next bytes.
	heldBack = 20 * time.Second
	// partRate is how many bytes per second are compared of content of which smaller parts were
	// sent, and maxParts how many contents wait for that.
	partRate = 64 << 20
	maxParts = 1000
	// again is the pause after content of which parts were sent could not be read.
	again = 15 * time.Second
)

// Part prepares that the next n bytes are sent, which are not the whole content and whose digest
// is therefore unknown. What is read for that is bounded:
//   - Content that this process has compared lately is not compared.
//   - Up to [compareFirst] bytes are compared at once. The error matches [storage.ErrDamaged].
//   - Beside a part of at least a quarter of the content the whole is compared. The function
//     that Part returns waits for the result, for at most 20 seconds: call it before the last bytes are
//     sent. A download that was interrupted and goes on ends with an error if the content is damaged.
//   - Other content is compared afterwards, by [Scrubber.Run] of this process, if it scrubs by
//     itself; also content without a result after that time, or that could not be read.
//
// Content of which several parts are read at a time is compared once for all of them.
func (r *Reader) Part(n int64) (compared func() error, err error) {
	c, content := r.checker, r.content
	switch {
	case c.isGood(content.Blob, r.file):
		return nil, nil
	case content.Size > compareFirst && n < content.Size/compareBeside:
		c.suspect(content)
		return nil, nil
	case r.beside == nil:
		r.beside = c.join(r.ctx, content, true)
	}
	if content.Size <= compareFirst {
		return nil, r.judge(r.ctx)
	}
	return func() error {
		ctx, cancel := context.WithTimeout(r.ctx, heldBack)
		defer cancel()
		return r.judge(ctx)
	}, nil
}

// judge returns the damage that the comparison finds. Other failures are those of the comparison
// and not of the content, whose reader finds out by itself. If there is no result before the
// context ends, or content could not be read, it is compared afterwards.
func (r *Reader) judge(ctx context.Context) error {
	err := r.beside.result(ctx)
	switch {
	case err == nil, errors.Is(err, errAbsent): // deleted, or replaced, meanwhile
		return nil
	case errors.Is(err, storage.ErrDamaged):
		return err
	}
	r.checker.suspect(r.content)
	return nil
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
		whole := c.join(ctx, content, false)
		err := whole.result(ctx)
		if c.leave(content, whole) {
			<-whole.ended // nothing is read any more
		}
		if err == nil || errors.Is(err, storage.ErrDamaged) || ctx.Err() != nil {
			continue
		}
		c.log.Warn("compare content of which parts were sent", "blob", content.Blob, "error", err, "again", again)
		select {
		case <-ctx.Done():
		case <-time.After(again): // the next one, which may be this one
		}
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
