package flcollect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/internal/httpapi"
)

const (
	heartbeat  = 15 * time.Second       // of silence, before a comment shows that the stream is alive
	pace       = 100 * time.Millisecond // between two looks at a job
	eventBatch = 100                    // rounds that are read at a time
)

// cursor is what a client has seen of a job: the rounds of a run up to one, and
// whether the run has ended. As text it is the id of an event.
type cursor struct {
	run   int64
	round int
	ended bool
}

func (c cursor) String() string {
	text := fmt.Sprintf("%d.%d", c.run, c.round)
	if c.ended {
		text += ".end"
	}
	return text
}

// readCursor reads the id of the last event. One that is not ours has seen
// nothing.
func readCursor(text string) cursor {
	c, parts := cursor{}, strings.Split(text, ".")
	if len(parts) < 2 || len(parts) > 3 || len(parts) == 3 && parts[2] != "end" {
		return cursor{}
	}
	var err error
	if c.run, err = strconv.ParseInt(parts[0], 10, 64); err != nil {
		return cursor{}
	}
	if c.round, err = strconv.Atoi(parts[1]); err != nil || c.round < 0 {
		return cursor{}
	}
	c.ended = len(parts) == 3
	return c
}

// events answers with a stream of events (HTML standard, section 9.2): the
// rounds so far, and then rounds and statuses as they come, until the job has
// ended. What a client has not read yet is not kept for it: it has a place among
// the stored rounds, and goes on from there.
func (r *rest) events(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("id")
	after, err := queryNumber(req, "after", 0, 0, MaxRounds)
	if err != nil {
		return err
	}
	select {
	case r.streams <- struct{}{}:
		defer func() { <-r.streams }()
	default:
		return &httpapi.Error{Status: http.StatusServiceUnavailable, Detail: "There are too many streams of events. Please try again."}
	}
	status, err := r.known(req, id)
	if err != nil {
		return err
	}
	seen, last := cursor{run: status.Run, round: after}, req.Header.Get("Last-Event-ID")
	if last != "" {
		seen = readCursor(last)
	}
	if seen.run != status.Run {
		seen = cursor{run: status.Run} // what it has seen is gone
	}
	if seen.ended && status.State.Ended() {
		w.WriteHeader(http.StatusNoContent) // which tells the browser to stop asking
		return nil
	}
	stream := httpapi.NewEventStream(w)
	if req.Method == http.MethodHead {
		return nil
	}
	f := follower{jobs: r.jobs, id: id, seen: seen, stream: stream}
	// A client that goes away, or does not read, is no error of ours; and the
	// answer has begun, so that an error can only end it.
	if err := f.follow(req.Context()); err != nil && req.Context().Err() == nil {
		r.options.Logger.Debug("stream of events ended", "job", id, "error", err)
	}
	return nil
}

// follower tells one client about one job.
type follower struct {
	jobs   jobs
	id     string
	seen   cursor
	stream *httpapi.EventStream
	told   []byte // the last status
}

func (f *follower) follow(ctx context.Context) error {
	f.stream.Begin()
	for {
		changed := f.jobs.Changed(f.id)
		ended, err := f.look(ctx)
		if err != nil || ended {
			return err
		}
		if err := f.wait(ctx, changed); err != nil {
			return err
		}
	}
}

// look tells what is new, and reports whether nothing more will come.
func (f *follower) look(ctx context.Context) (ended bool, err error) {
	status, err := f.jobs.Status(ctx, f.id)
	if err != nil {
		return false, err
	}
	if status.Run != f.seen.run {
		f.seen, f.told = cursor{run: status.Run}, nil
	}
	if f.told == nil && !status.State.Ended() {
		if err := f.tell(status); err != nil {
			return false, err
		}
	}
	for {
		rounds, err := f.jobs.Rounds(ctx, f.id, f.seen.round, eventBatch)
		if err != nil {
			return false, err
		}
		now, err := f.jobs.Status(ctx, f.id)
		if err != nil {
			return false, err
		}
		if now.Run != f.seen.run {
			return false, nil // the rounds may be of another run
		}
		for _, round := range rounds {
			f.seen.round = round.Number
			if err := f.stream.Event("round", f.seen.String(), round); err != nil {
				return false, err
			}
		}
		if err := f.stream.Flush(); err != nil {
			return false, err
		}
		if len(rounds) < eventBatch {
			break
		}
	}
	f.seen.ended = status.State.Ended()
	return f.seen.ended, f.tell(status)
}

// tell tells the status if it is not the one that was told last.
func (f *follower) tell(status Status) error {
	text, err := json.Marshal(viewOf(status))
	if err != nil {
		return err
	}
	if bytes.Equal(text, f.told) {
		return nil
	}
	f.told = text
	if err := f.stream.Event("status", f.seen.String(), json.RawMessage(text)); err != nil {
		return err
	}
	return f.stream.Flush()
}

// wait returns when it is time to look again.
func (f *follower) wait(ctx context.Context, changed <-chan struct{}) error {
	slow := time.NewTimer(pace)
	defer slow.Stop()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for changed != nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
			changed = nil
		case <-beat.C:
			f.stream.Comment()
			if err := f.stream.Flush(); err != nil {
				return err
			}
		}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-slow.C:
		return nil
	}
}
