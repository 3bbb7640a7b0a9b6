package demo

import (
	"bytes"
	"sync"
)

// maxPending is how many messages of a format may be under way: sent, without an output
// yet. The embedded broker keeps more than that for a client.
const maxPending = 1000

// matcher matches outputs with the messages that were sent. A channel keeps their order:
// a message whose output does not come before that of a later one is skipped.
type matcher struct {
	room chan struct{} // one element for each message under way

	mu       sync.Mutex
	pending  [][]byte // the marks of the messages under way, oldest first
	arrived  uint64
	skipped  uint64 // without an output in its order
	repeated uint64 // outputs that came again, or match no message
}

func newMatcher() *matcher { return &matcher{room: make(chan struct{}, maxPending)} }

// expect registers a message, before it is sent, whose output contains the mark. The
// caller has put an element into room for it.
func (l *matcher) expect(mark []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, mark)
}

// withdraw removes the newest message, which could not be sent.
func (l *matcher) withdraw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = l.pending[:len(l.pending)-1]
	<-l.room
}

// arrive registers an output.
func (l *matcher) arrive(output []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, mark := range l.pending {
		if !bytes.Contains(output, mark) {
			continue
		}
		l.arrived++
		l.skipped += uint64(i)
		l.pending = l.pending[i+1:]
		for range i + 1 {
			<-l.room
		}
		return
	}
	l.repeated++
}

func (l *matcher) pendingCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pending)
}

// counts returns the numbers of outputs, of skipped messages, of unexpected outputs, and
// of messages under way.
func (l *matcher) counts() (arrived, skipped, repeated, pending uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.arrived, l.skipped, l.repeated, uint64(len(l.pending))
}
