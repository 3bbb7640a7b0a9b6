package demo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// board shows the counts of the streams.
type board struct {
	to       io.Writer
	terminal bool
	streams  []*stream
	begin    time.Time
	before   []uint64 // how many outputs of each stream there were a second ago
	drawn    int      // lines of the table on the terminal
}

func newBoard(to io.Writer, terminal bool, streams []*stream) *board {
	return &board{to: to, terminal: terminal, streams: streams, begin: time.Now(), before: make([]uint64, len(streams))}
}

// showUntil writes the first sample and then the counts, once a second, until
// ctx ends or note reports an error.
func (b *board) showUntil(ctx context.Context, failed <-chan error, note func(error) bool) {
	sample := b.streams[0].sample
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-failed:
			if note(err) {
				return
			}
		case <-sample:
			sample = nil
			b.showSample(b.streams[0])
		case <-tick.C:
			b.show()
		}
	}
}

func (b *board) showSample(s *stream) {
	fmt.Fprintf(b.to, "\na message in %s:\n%s\n\nand what it becomes:\n%s\n\n",
		s.name, indent(s.sampleIn), indent(s.sampleIs))
}

func indent(text []byte) string {
	lines := strings.Split(string(bytes.TrimSpace(text)), "\n")
	return "  " + strings.Join(lines, "\n  ")
}

// tally has the counts of a stream.
type tally struct {
	in, out, failed, missing, repeated, pending uint64
}

func (s *stream) tally() tally {
	arrived, skipped, repeated, pending := s.matcher.counts()
	failed := s.channels.Stats()[s.channelID].Failed
	return tally{
		in: s.confirmed.Load(), out: arrived, failed: failed, repeated: repeated, pending: pending,
		missing: skipped - min(skipped, failed), // a failed message is left out for a reason
	}
}

// show writes the current counts: as a table that overwrites the last one on a terminal,
// as a line elsewhere.
func (b *board) show() {
	var text strings.Builder
	if b.terminal {
		if b.drawn > 0 {
			fmt.Fprintf(&text, "\x1b[%dA", b.drawn)
		}
		b.drawn = 1 + len(b.streams)
		fmt.Fprintf(&text, "\r\x1b[K%6s %10s %10s %8s %8s %8s\n", clock(b.begin), "in", "out", "failed", "missing", "msg/s")
	} else {
		text.WriteString(clock(b.begin))
	}
	for i, s := range b.streams {
		t := s.tally()
		rate := t.out - b.before[i]
		b.before[i] = t.out
		if b.terminal {
			fmt.Fprintf(&text, "\r\x1b[K%6s %10d %10d %8d %8d %8d\n", s.name, t.in, t.out, t.failed, t.missing, rate)
			continue
		}
		fmt.Fprintf(&text, "   %s in %d out %d failed %d %d/s", s.name, t.in, t.out, t.failed, rate)
		if t.missing > 0 {
			fmt.Fprintf(&text, " MISSING %d", t.missing)
		}
	}
	if !b.terminal {
		text.WriteByte('\n')
	}
	_, _ = io.WriteString(b.to, text.String()) // there is no place for the error
}

func clock(begin time.Time) string { return time.Since(begin).Round(time.Second).String() }

// summary writes the last line.
func (b *board) summary() {
	var all tally
	for _, s := range b.streams {
		t := s.tally()
		all.in += t.in
		all.out += t.out
		all.failed += t.failed
		all.repeated += t.repeated
		all.missing += t.missing
		all.pending += t.pending
	}
	text := fmt.Sprintf("replayed for %s: %d in, %d out, %d failed, ", clock(b.begin), all.in, all.out, all.failed)
	if all.missing > 0 {
		text += fmt.Sprintf("%d MISSING", all.missing)
	} else {
		text += "none missing"
	}
	if all.pending > 0 {
		text += fmt.Sprintf(", %d still waiting to be annotated", all.pending)
	}
	if all.repeated > 0 {
		text += fmt.Sprintf(", %d more than once", all.repeated)
	}
	fmt.Fprintln(b.to, text)
}
