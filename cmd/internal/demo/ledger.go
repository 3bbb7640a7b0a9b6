package demo

import (
	"bytes"
	"sync"
)

// maxPending is the number of messages of a format that may be under way: sent
// and not come out. It is below what the embedded broker keeps for a client.
const maxPending = 1000

// ledger matches what comes out with what was sent. Messages come out in the
// order in which they went in, so one that comes before another was overtaken
// or left out.
type ledger struct {
	room chan struct{} // a place for each message under way

	mu       sync.Mutex
	pending  [][]byte // what marks the messages under way, oldest first
	arrived  uint64
	skipped  uint64 // did not come in their turn
	repeated uint64 // came again, or were never sent
}

func newLedger() *ledger { return &ledger{room: make(chan struct{}, maxPending)} }

// expect notes that a message is going to be sent whose output contains the
// mark. A place in room was taken for it.
func (l *ledger) expect(mark []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, mark)
}

// withdraw takes back the newest expectation: its message was not sent.
func (l *ledger) withdraw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = l.pending[:len(l.pending)-1]
	<-l.room
}

// arrive notes an output.
func (l *ledger) arrive(output []byte) {
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

func (l *ledger) pendingCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pending)
}

// counts returns what arrived, what did not come in its turn, what came
// unexpected, and what is under way.
func (l *ledger) counts() (arrived, skipped, repeated, pending uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.arrived, l.skipped, l.repeated, uint64(len(l.pending))
}
