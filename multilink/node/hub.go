package node

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/multilink/status"
)

// ringSize is how many events are kept for slow and returning readers.
const ringSize = 1024

// hub keeps the last events and wakes the readers.
type hub struct {
	boot string // distinguishes the numbers of this process from those of another

	mu      sync.Mutex
	ring    [ringSize]status.Event
	next    uint64        // number of the next event; the first is 1
	changed chan struct{} // closed at the next event
	ended   bool
}

func newHub() *hub {
	return &hub{boot: rand.Text()[:8], next: 1, changed: make(chan struct{})}
}

// publish keeps an event. It never blocks.
func (h *hub) publish(e status.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return
	}
	h.ring[h.next%ringSize] = e
	h.next++
	close(h.changed)
	h.changed = make(chan struct{})
}

// close ends all streams.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.ended = true
		close(h.changed)
	}
}

// numbered is an event and its number.
type numbered struct {
	number uint64
	event  status.Event
}

// read returns up to most events from number on, how many before them are gone, and a
// channel that is closed when there are more. ended says that none will come.
func (h *hub) read(number uint64, most int) (events []numbered, missed uint64, more <-chan struct{}, ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	oldest := uint64(1)
	if h.next > ringSize {
		oldest = h.next - ringSize
	}
	if number < oldest {
		missed, number = oldest-number, oldest
	}
	for ; number < h.next && len(events) < most; number++ {
		events = append(events, numbered{number, h.ring[number%ringSize]})
	}
	return events, missed, h.changed, h.ended
}

// last is the number from which on there are up to that many events.
func (h *hub) last(count uint64) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.next - min(count, h.next-1, ringSize)
}

// id returns the identifier of an event.
func (h *hub) id(number uint64) string { return fmt.Sprintf("%s-%d", h.boot, number) }

// after is the number of the event that follows the one with that id. The reader of
// an id of another process has seen no event of this one.
func (h *hub) after(id string) uint64 {
	boot, number, _ := strings.Cut(id, "-")
	n, err := strconv.ParseUint(number, 10, 64)
	h.mu.Lock()
	defer h.mu.Unlock()
	if boot != h.boot || err != nil || n >= h.next {
		return 1
	}
	return n + 1
}
