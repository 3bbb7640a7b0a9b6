package integrity

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/internal/notify"
	"github.com/iotenablers/enablers/modelrepo/internal/clock"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/lease"
)

const (
	// poll is how often a process looks whether a scrub is due, and what others have found.
	poll = 15 * time.Second
	// progress is how often the state of a scrub is stored.
	progress = 10 * time.Second
	// silence is after how long without progress another process goes on with a scrub.
	silence = 2 * time.Minute
	// batch is how many contents are looked up at a time. Each needs some 200 bytes.
	batch = 50_000
	// look is how often, at most, everything is read to see whether absent blobs are needed.
	look = 10 * time.Minute
)

// Scrubber compares everything with its digest, slowly, from time to time and on request. One
// process at a time does it; another one goes on if that one stops.
type Scrubber struct {
	// Checker compares, and keeps the state.
	Checker *Checker
	// Contents yields what is referred to. The same content may come several times.
	Contents func(ctx context.Context) iter.Seq2[Content, error]
	// Interval is the time from the beginning of a scrub to that of the next one. Negative
	// means only on request.
	Interval time.Duration
	// BytesPerSecond bounds a scrub that was not requested.
	BytesPerSecond int64
	// Me is the identifier of this process.
	Me string
	// Logger receives the results.
	Logger *slog.Logger
	// Wake receives from requests of this process. It has a buffer of one.
	Wake chan struct{}
}

// Request is [Checker.Request] for a scrub that this process begins at once, if Run runs.
func (s *Scrubber) Request(ctx context.Context) (State, error) {
	state, err := s.Checker.Request(ctx)
	if err == nil {
		notify.Send(s.Wake)
	}
	return state, err
}

// Run scrubs until the context ends. It also compares the content of which parts were sent, unless
// the scrub is left to requests.
func (s *Scrubber) Run(ctx context.Context) {
	var parts sync.WaitGroup
	if s.Interval >= 0 {
		parts.Go(func() { s.Checker.compareParts(ctx) })
	}
	defer parts.Wait()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	var observed lease.Observation
	for {
		if err := s.round(ctx, &observed); err != nil && ctx.Err() == nil {
			s.Logger.Error("the scrub failed, the next round goes on", "error", err, "again", poll)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-s.Wake:
		}
	}
}

// round reads the marks, and runs the scrubs that are due. The observation is that of the
// state of a scrub that another process runs.
func (s *Scrubber) round(ctx context.Context, observed *lease.Observation) error {
	if _, err := s.Checker.Marks(ctx); err != nil {
		return err
	}
	for {
		state, revision, err := s.Checker.state(ctx)
		if err != nil {
			return err
		}
		now := time.Now().UTC()
		switch {
		case state.Requested:
			state = State{By: s.Me, Fast: true, Begun: now}
		case state.Running() && state.By != s.Me && observed.Unchanged(revision) < silence:
			return nil
		case state.Running():
			state.By = s.Me
		case s.Interval >= 0 && (state.Begun.IsZero() || clock.Passed(state.Begun, s.Interval)):
			state = State{By: s.Me, Begun: now}
		default:
			return nil
		}
		revision, err = s.Checker.store(ctx, state, revision)
		if err == nil {
			p := &pass{Scrubber: s, state: state, revision: revision, stored: time.Now()}
			err = p.run(ctx)
		}
		if err != nil && !storage.Overtaken(err) {
			return err
		}
	}
}

// pass is a scrub that this process runs.
type pass struct {
	*Scrubber
	state    State
	revision storage.Revision
	stored   time.Time
}

// run compares everything behind the state's position. The error matches overtaken if
// another process has written the state: a scrub was requested, or that process goes on.
func (p *pass) run(ctx context.Context) error {
	for {
		contents, err := p.next(ctx)
		if err != nil {
			return err
		}
		if len(contents) == 0 {
			p.state.By, p.state.Ended, p.state.After = "", time.Now().UTC(), ""
			p.Logger.Info("scrubbed", "contents", p.state.Contents, "bytes", p.state.Bytes, "damaged", p.state.Damaged)
			return p.store(ctx)
		}
		if err := p.compare(ctx, contents); err != nil {
			return err
		}
	}
}

// next returns the next contents in the order of their blobs.
func (p *pass) next(ctx context.Context) ([]Content, error) {
	var found []Content
	cut := func() {
		slices.SortFunc(found, func(a, b Content) int { return strings.Compare(a.Blob, b.Blob) })
		found = slices.CompactFunc(found, func(a, b Content) bool { return a.Blob == b.Blob })
		found = found[:min(len(found), batch)]
	}
	for content, err := range p.Contents(ctx) {
		if err != nil {
			return nil, err
		}
		if err := p.beat(ctx); err != nil {
			return nil, err
		}
		if content.Blob <= p.state.After {
			continue
		}
		if found = append(found, content); len(found) >= 2*batch {
			cut()
		}
	}
	cut()
	return found, nil
}

// compare compares contents, and marks what is damaged.
func (p *pass) compare(ctx context.Context, contents []Content) error {
	absent, looked := map[string]error{}, time.Now()
	for _, content := range contents {
		begun := time.Now()
		err := p.Checker.Compare(ctx, content, func(bytes int) error {
			p.state.Bytes += int64(bytes)
			if err := p.pause(ctx, &begun, bytes); err != nil {
				return err
			}
			return p.beat(ctx)
		})
		switch {
		case errors.Is(err, errAbsent):
			absent[content.Blob] = err
		case errors.Is(err, storage.ErrDamaged):
			p.state.Damaged++
			p.Checker.Mark(ctx, content, err)
		case err != nil:
			return err
		default:
			if err := p.Checker.Restored(ctx, content.Blob); err != nil {
				return err
			}
		}
		p.state.Contents++
		if len(absent) == 0 {
			p.state.After = content.Blob
		} else if time.Since(looked) > look {
			if err := p.markAbsent(ctx, absent); err != nil {
				return err
			}
			looked = time.Now()
		}
	}
	if err := p.markAbsent(ctx, absent); err != nil {
		return err
	}
	p.state.After = contents[len(contents)-1].Blob
	return p.store(ctx)
}

// markAbsent marks the blobs that are absent, except those that were deleted because nothing
// refers to them any more. It empties the map.
func (p *pass) markAbsent(ctx context.Context, absent map[string]error) error {
	if len(absent) == 0 {
		return nil
	}
	for content, err := range p.Contents(ctx) {
		if err != nil {
			return err
		}
		if reason, found := absent[content.Blob]; found {
			p.state.Damaged++
			p.Checker.Mark(ctx, content, reason)
			delete(absent, content.Blob)
		}
		if err := p.beat(ctx); err != nil {
			return err
		}
	}
	clear(absent)
	return nil
}

// pause keeps a scrub that was not requested to its rate. Begun is when the bytes began to
// be read.
func (p *pass) pause(ctx context.Context, begun *time.Time, bytes int) error {
	if p.state.Fast {
		return ctx.Err()
	}
	return pace(ctx, begun, bytes, p.BytesPerSecond)
}

// beat stores the state from time to time.
func (p *pass) beat(ctx context.Context) error {
	if time.Since(p.stored) < progress {
		return nil
	}
	return p.store(ctx)
}

// store stores the state.
func (p *pass) store(ctx context.Context) error {
	revision, err := p.Checker.store(ctx, p.state, p.revision)
	if err != nil {
		return err
	}
	p.revision, p.stored = revision, time.Now()
	return nil
}
