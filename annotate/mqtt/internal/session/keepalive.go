package session

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Keepalive sends PINGREQ packets (MQTT 5 section 3.1.2.10) and notices that
// the broker is gone. While the connection is not read because our own queue
// is full, or something is still being sent, the broker's silence is our doing
// and does not count.
type Keepalive struct {
	wire    *Wire
	stalled atomic.Int32 // how many messages wait for room

	sending sync.Mutex // keeps the PINGREQ packets in the order of their numbers
	asked   uint64     // how many PINGREQ were sent

	mu       sync.Mutex
	answered uint64        // how many PINGRESP came
	changed  chan struct{} // closed and replaced when answered grows
}

func newKeepalive(w *Wire) *Keepalive {
	return &Keepalive{wire: w, changed: make(chan struct{})}
}

// Run does the work until ctx ends or the broker is gone. keepAlive is in
// seconds; the broker may have chosen another one than we did, and 0 means
// that nothing is to be sent.
func (k *Keepalive) Run(ctx context.Context, keepAlive uint16) error {
	if keepAlive == 0 {
		return nil
	}
	period := time.Duration(keepAlive) * time.Second
	ticker := time.NewTicker(period / 4)
	defer ticker.Stop()
	var pinged time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			// Looked at before lastRead, which is set before these end.
			stalled := k.stalled.Load() > 0 || k.wire.writing.Load() > 0
			silence := now.Sub(time.Unix(0, k.wire.lastRead.Load()))
			idle := now.Sub(time.Unix(0, k.wire.lastWrite.Load()))
			if !stalled && silence > period*3/2 {
				err := fmt.Errorf("the broker has been silent for %s", silence.Round(time.Millisecond))
				k.wire.Fail(err)
				return err
			}
			if max(silence, idle) < period/2 || now.Sub(pinged) < period/2 {
				continue
			}
			pinged = now
			if _, err := k.ping(); err != nil && ctx.Err() == nil {
				return fmt.Errorf("send PINGREQ: %w", err)
			}
		}
	}
}

// ping sends a PINGREQ and returns its number.
func (k *Keepalive) ping() (uint64, error) {
	k.sending.Lock()
	defer k.sending.Unlock()
	k.asked++
	number := k.asked
	return number, k.wire.Send([]byte{pingreq, 0})
}

// barrier returns when the broker has dealt with everything that was sent
// before, which it shows by answering a PINGREQ, or when either of the
// channels is closed.
func (k *Keepalive) barrier(lost, abort <-chan struct{}) {
	number, err := k.ping()
	if err != nil {
		return
	}
	for {
		k.mu.Lock()
		done, changed := k.answered >= number, k.changed
		k.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-lost:
			return
		case <-abort:
			return
		}
	}
}

// Answered takes a PINGRESP packet.
func (k *Keepalive) Answered() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answered++
	close(k.changed)
	k.changed = make(chan struct{})
}

// stall marks that the connection is not read for now.
func (k *Keepalive) stall() { k.stalled.Add(1) }

// resume ends what stall began.
func (k *Keepalive) resume() {
	k.wire.lastRead.Store(time.Now().UnixNano())
	k.stalled.Add(-1)
}
