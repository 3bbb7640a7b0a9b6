// Package events keeps the last events of an instance, for those who read them at their own pace.
package events

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/multilink/status"
)

// Kept is how many events are kept for slow and returning readers.
const Kept = 1024

// MostReaders is how many readers wait for events at most.
const MostReaders = 64

// Hub keeps the last events and wakes the readers.
type Hub struct {
	boot string // distinguishes the numbers of this process from those of another

	mu      sync.Mutex
	ring    [Kept]status.Event
	next    uint64        // number of the next event; the first is 1
	changed chan struct{} // closed at the next event
	ended   bool
	readers int
}

// New returns a hub without events.
func New() *Hub {
	return &Hub{boot: rand.Text()[:8], next: 1, changed: make(chan struct{})}
}

// Publish keeps an event. It never blocks.
func (h *Hub) Publish(e status.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return
	}
	h.ring[h.next%Kept] = e
	h.next++
	close(h.changed)
	h.changed = make(chan struct{})
}

// Close ends all streams.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.ended = true
		close(h.changed)
	}
}

// Numbered is an event and its number.
type Numbered struct {
	Number uint64
	Event  status.Event
}

// Read returns up to most events from number on, how many before them are gone, and a
// channel that is closed when there are more. ended says that none will come.
func (h *Hub) Read(number uint64, most int) (events []Numbered, missed uint64, more <-chan struct{}, ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	oldest := uint64(1)
	if h.next > Kept {
		oldest = h.next - Kept
	}
	if number < oldest {
		missed, number = oldest-number, oldest
	}
	for ; number < h.next && len(events) < most; number++ {
		events = append(events, Numbered{number, h.ring[number%Kept]})
	}
	return events, missed, h.changed, h.ended
}

// Join counts one more reader, unless there are as many as there may be. The reader calls leave
// once.
func (h *Hub) Join() (leave func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readers == MostReaders {
		return nil, false
	}
	h.readers++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.readers--
	}, true
}

// Last returns the number from which on there are up to that many events.
func (h *Hub) Last(count uint64) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.next - min(count, h.next-1, Kept)
}

// ID returns the identifier of an event.
func (h *Hub) ID(number uint64) string { return fmt.Sprintf("%s-%d", h.boot, number) }

// After returns the number of the event that follows the one with that id. The reader of
// an id of another process has seen no event of this one.
func (h *Hub) After(id string) uint64 {
	boot, number, _ := strings.Cut(id, "-")
	n, err := strconv.ParseUint(number, 10, 64)
	h.mu.Lock()
	defer h.mu.Unlock()
	if boot != h.boot || err != nil || n >= h.next {
		return 1
	}
	return n + 1
}
