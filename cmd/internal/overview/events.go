package overview

import (
	"slices"
	"sync"
	"time"
)

// mostEvents is how many events are kept of each block, so that one with many does not
// displace those of the others.
const mostEvents = 50

// longestEvent is in bytes.
const longestEvent = 500

// groupTime is how long after the last one an event that says the same is counted with it.
const groupTime = time.Minute

// Event is something that happened in a block, or several times in a row.
type Event struct {
	// Number grows from event to event, and when an event happens again.
	Number uint64 `json:"number"`
	// At is when it happened last.
	At time.Time `json:"at"`
	// Block is the name of the block.
	Block string `json:"block"`
	// Level is info, warn or error.
	Level string `json:"level"`
	// Text says what happened, Detail the particulars.
	Text   string `json:"text"`
	Detail string `json:"detail"`
	// Href is the address of the page about it.
	Href string `json:"href"`
	// Times is how often it happened.
	Times int `json:"times"`
}

// Events keeps the last events of all blocks. The zero value is ready for use, by several
// goroutines.
type Events struct {
	mu     sync.Mutex
	blocks map[string][]Event // the oldest first
	next   uint64
}

// Add adds an event. One that says the same about the same as one of the last minute is
// counted with it.
func (e *Events) Add(one Event) {
	one.Text, one.Detail = shorten(one.Text), shorten(one.Detail)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.blocks == nil {
		e.blocks = map[string][]Event{}
	}
	e.next++
	one.Number, one.Times = e.next, 1
	kept := e.blocks[one.Block]
	i := slices.IndexFunc(kept, func(k Event) bool {
		return k.Text == one.Text && k.Href == one.Href && k.Level == one.Level && one.At.Sub(k.At) < groupTime
	})
	switch {
	case i >= 0:
		one.Times += kept[i].Times
		kept = slices.Delete(kept, i, i+1)
	case len(kept) >= mostEvents:
		kept = slices.Delete(kept, 0, 1)
	}
	e.blocks[one.Block] = append(kept, one)
}

// Last returns the newest events, the newest first.
func (e *Events) Last(most int) []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := []Event{}
	for _, kept := range e.blocks {
		all = append(all, kept...)
	}
	slices.SortFunc(all, func(a, b Event) int { return int(b.Number) - int(a.Number) })
	return all[:min(most, len(all))]
}
