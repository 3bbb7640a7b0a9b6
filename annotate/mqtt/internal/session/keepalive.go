package session

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Keepalive sends PINGREQ packets (MQTT 5 section 3.1.2.10) and detects a broker that does
// not answer. Silence does not count while the connection is not read because the queue is
// full, and while a write is in progress.
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

// Run sends PINGREQ packets until ctx ends or the broker does not answer. keepAlive is in
// seconds, as the broker confirmed it; 0 switches it off.
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
			// Read before lastRead, which is set before these end.
			stalled := k.stalled.Load() > 0 || k.wire.writing.Load() > 0
			silence, idle := k.wire.silence(), k.wire.idle()
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

// barrier waits until the broker has processed all earlier packets, which the answer to a
// PINGREQ shows, or until either of the channels is closed.
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

// Answered records a PINGRESP packet.
func (k *Keepalive) Answered() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answered++
	close(k.changed)
	k.changed = make(chan struct{})
}

// stall marks that the connection is not read for now.
func (k *Keepalive) stall() { k.stalled.Add(1) }

// resume ends a stall.
func (k *Keepalive) resume() {
	k.wire.touch()
	k.stalled.Add(-1)
}
