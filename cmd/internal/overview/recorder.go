package overview

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
)

// Source says which events come from the log of a block.
type Source struct {
	// Block is the name of the block.
	Block string
	// Level is the lowest level that becomes an event. Zero is info.
	Level slog.Level
	// Href returns the address of the page about an event, from the attributes of its line.
	// Nil means that there is none.
	Href func(attributes map[string]string) string
}

// Page returns the function of [Source] that finds the page about an event: that of the item which
// an attribute of the line names, or the first page of the part. Item is the address of items
// below it.
func Page(part, item, attribute string) func(attributes map[string]string) string {
	return func(attributes map[string]string) string {
		if id := attributes[attribute]; id != "" {
			return part + item + url.PathEscape(id)
		}
		return part
	}
}

// Logger returns a logger that logs as the given one does, and adds what it logs to the
// events.
func (e *Events) Logger(log *slog.Logger, source Source) *slog.Logger {
	return slog.New(&recorder{Handler: log.Handler(), events: e, source: source})
}

// recorder is a handler that also keeps events.
type recorder struct {
	slog.Handler
	events *Events
	source Source
	attrs  []slog.Attr
}

// Enabled implements slog.Handler.
func (r *recorder) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= r.source.Level || r.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (r *recorder) Handle(ctx context.Context, record slog.Record) error {
	if record.Level >= r.source.Level {
		r.events.Add(r.event(record))
	}
	if !r.Handler.Enabled(ctx, record.Level) {
		return nil
	}
	return r.Handler.Handle(ctx, record)
}

func (r *recorder) event(record slog.Record) Event {
	one := Event{At: record.Time, Block: r.source.Block, Level: levelName(record.Level), Text: record.Message}
	values, details := map[string]string{}, []string{}
	add := func(a slog.Attr) bool {
		text := shorten(a.Value.Resolve().String())
		values[a.Key] = text
		if isForPeople(text) {
			details = append(details, fmt.Sprintf("%s %s", a.Key, text))
		}
		return true
	}
	for _, a := range r.attrs {
		add(a)
	}
	record.Attrs(add)
	one.Detail = strings.Join(details, ", ")
	if r.source.Href != nil {
		one.Href = r.source.Href(values)
	}
	return one
}

// WithAttrs implements slog.Handler.
func (r *recorder) WithAttrs(attrs []slog.Attr) slog.Handler {
	all := append(append([]slog.Attr{}, r.attrs...), attrs...)
	return &recorder{Handler: r.Handler.WithAttrs(attrs), events: r.events, source: r.source, attrs: all}
}

// WithGroup implements slog.Handler. Events have the names of attributes without groups.
func (r *recorder) WithGroup(name string) slog.Handler {
	return &recorder{Handler: r.Handler.WithGroup(name), events: r.events, source: r.source, attrs: r.attrs}
}

// isForPeople reports whether the value of an attribute says something to people. Empty values
// do not, and neither do digests and stacks, which have long words.
func isForPeople(text string) bool {
	const longestWord = 60
	longest := 0
	for word := range strings.FieldsSeq(text) {
		longest = max(longest, len(word))
	}
	return text != "" && text != "[]" && longest < longestWord && !strings.Contains(text, "\n")
}

// levelName returns info, warn or error.
func levelName(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return "error"
	case level >= slog.LevelWarn:
		return "warn"
	}
	return "info"
}

// shorten returns a text that is not too long to be kept.
func shorten(text string) string {
	if len(text) > longestEvent {
		text = text[:longestEvent] + "…"
	}
	return strings.ToValidUTF8(text, "")
}
