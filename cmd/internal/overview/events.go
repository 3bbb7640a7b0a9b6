package overview

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// mostEvents is how many events are kept.
const mostEvents = 200

// longestEvent is in bytes.
const longestEvent = 500

// Event is something that a block has logged.
type Event struct {
	// Number grows by one from event to event.
	Number uint64    `json:"number"`
	At     time.Time `json:"at"`
	// Block is the name of the block.
	Block string `json:"block"`
	// Level is info, warn or error.
	Level string `json:"level"`
	Text  string `json:"text"`
}

// Events keeps the last events of all blocks. The zero value is ready for use, by several
// goroutines.
type Events struct {
	mu   sync.Mutex
	last []Event // the oldest first
	next uint64
}

// Of returns a logger that logs as the given one does, and keeps what a block logs at the
// level info or above.
func (e *Events) Of(block string, log *slog.Logger) *slog.Logger {
	return slog.New(&recorder{Handler: log.Handler(), events: e, block: block})
}

// Last returns the newest events, the newest first.
func (e *Events) Last(most int) []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	made := make([]Event, 0, most)
	for i := len(e.last) - 1; i >= 0 && len(made) < most; i-- {
		made = append(made, e.last[i])
	}
	return made
}

func (e *Events) add(one Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.next++
	one.Number = e.next
	if len(e.last) >= mostEvents {
		e.last = e.last[1:]
	}
	e.last = append(e.last, one)
}

// recorder is a handler that also keeps events.
type recorder struct {
	slog.Handler
	events *Events
	block  string
	attrs  []slog.Attr
}

// Enabled implements slog.Handler.
func (r *recorder) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || r.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (r *recorder) Handle(ctx context.Context, record slog.Record) error {
	if record.Level >= slog.LevelInfo {
		text := record.Message
		add := func(a slog.Attr) bool {
			text += fmt.Sprintf(" %s=%v", a.Key, a.Value.Resolve())
			return len(text) < longestEvent
		}
		for _, a := range r.attrs {
			add(a)
		}
		record.Attrs(add)
		if len(text) > longestEvent {
			text = strings.ToValidUTF8(text[:longestEvent], "") + "…"
		}
		r.events.add(Event{At: record.Time, Block: r.block, Level: strings.ToLower(record.Level.String()), Text: text})
	}
	if !r.Handler.Enabled(ctx, record.Level) {
		return nil
	}
	return r.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (r *recorder) WithAttrs(attrs []slog.Attr) slog.Handler {
	all := append(append([]slog.Attr{}, r.attrs...), attrs...)
	return &recorder{Handler: r.Handler.WithAttrs(attrs), events: r.events, block: r.block, attrs: all}
}

// WithGroup implements slog.Handler.
func (r *recorder) WithGroup(name string) slog.Handler {
	return &recorder{Handler: r.Handler.WithGroup(name), events: r.events, block: r.block, attrs: r.attrs}
}
