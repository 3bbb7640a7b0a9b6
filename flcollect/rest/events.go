package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/internal/view"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/internal/httpapi"
)

const (
	heartbeat  = 15 * time.Second       // of silence, before a comment shows that the stream is alive
	pace       = 100 * time.Millisecond // between two looks at a job
	eventBatch = 100                    // rounds that are read at a time
)

// cursor is the position of a reader in the events of a job: the last round of a run, and
// whether the end of the run was sent. As text it is the id of an event.
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

// readCursor reads the id of the last event. Any other text is the position before all
// events.
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
// ended. The server queues nothing for a slow reader: the stream goes on from its
// position among the stored rounds.
func (r *rest) events(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("id")
	after, err := queryNumber(req, "after", 0, 0, jobconfig.MaxRounds)
	if err != nil {
		return err
	}
	release, err := r.streams.Take()
	if err != nil {
		return err
	}
	defer release()
	status, err := view.Find(req.Context(), r.jobs, id)
	if err != nil {
		return err
	}
	seen, last := cursor{run: status.Run, round: after}, req.Header.Get("Last-Event-ID")
	if last != "" {
		seen = readCursor(last)
	}
	if seen.run != status.Run {
		seen = cursor{run: status.Run} // the run that it has seen is gone
	}
	if seen.ended && status.State.Ended() {
		w.WriteHeader(http.StatusNoContent) // with which browsers do not reconnect
		return nil
	}
	stream := httpapi.NewEventStream(w)
	if req.Method == http.MethodHead {
		return nil
	}
	f := follower{jobs: r.jobs, id: id, seen: seen, stream: stream}
	// A reader that leaves, or does not read, is no error of the server. The answer
	// has begun, so an error can only end it.
	if err := f.follow(req.Context()); err != nil && req.Context().Err() == nil {
		r.options.Logger.Debug("stream of events ended", "job", id, "error", err)
	}
	return nil
}

// follower streams the events of one job to one reader.
type follower struct {
	jobs   jobs
	id     string
	seen   cursor
	stream *httpapi.EventStream
	sent   []byte // the last status
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

// look sends new events, and reports whether the run has ended.
func (f *follower) look(ctx context.Context) (ended bool, err error) {
	status, err := f.jobs.Status(ctx, f.id)
	if err != nil {
		return false, err
	}
	if status.Run != f.seen.run {
		f.seen, f.sent = cursor{run: status.Run}, nil
	}
	if f.sent == nil && !status.State.Ended() {
		if err := f.send(status); err != nil {
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
	return f.seen.ended, f.send(status)
}

// send sends the status if it differs from the last one.
func (f *follower) send(status flcollect.Status) error {
	text, err := json.Marshal(view.FromStatus(status))
	if err != nil {
		return err
	}
	if bytes.Equal(text, f.sent) {
		return nil
	}
	f.sent = text
	if err := f.stream.Event("status", f.seen.String(), json.RawMessage(text)); err != nil {
		return err
	}
	return f.stream.Flush()
}

// wait returns when the job has changed, not more often than the pace allows.
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
