package manager

import (
	"context"
	"fmt"
	"sync"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager/internal/fleet"
	"github.com/iotenablers/enablers/storage"
)

// entry is one channel of a Manager: the channel itself, what is stored about
// it, and whether it should run here.
type entry struct {
	id      string
	channel *annotate.Channel // nil for a stored channel that cannot be created
	turn    chan struct{}     // capacity 1: held by the running operation
	listed  bool              // visible to others; the Manager's mutex protects it
	fleet   *fleet.Fleet      // nil when the storage is not shared

	loaded storage.Revision // of the document at the start; zero for later channels

	mu         sync.Mutex
	config     record // as stored; its status is the desired one
	revision   storage.Revision
	stamp      uint64 // the look at the storage during which it was written here
	possession possession
	fault      string  // why it does not run, if the channel has no error
	removed    bool    // it is dropped, or about to be
	used       bool    // it may have a subscription at the broker
	keeper     *keeper // ensures that it runs; nil if it must not

	settling bool             // a goroutine applies the stored state
	settled  storage.Revision // of the stored state that was last applied
	restarts uint64           // number of applied restarts
	edits    uint64           // and of edits
}

// keeper is the goroutine that ensures that a channel runs.
type keeper struct{ end context.CancelFunc }

// newEntry returns an entry that is not listed.
func newEntry(id string, f *fleet.Fleet) *entry {
	return &entry{id: id, turn: make(chan struct{}, 1), fleet: f}
}

// wanted reports whether the channel should run, here or elsewhere.
func (e *entry) wanted() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.isWantedLocked()
}

// isWantedLocked is wanted with the mutex held.
func (e *entry) isWantedLocked() bool {
	return !e.config.Stopped && e.channel != nil && !e.removed && !e.config.Removing
}

// view returns a copy of the channel with its current status.
func (e *entry) view() Channel {
	c := e.share()
	c.ChannelConfig = c.clone()
	return c
}

// share returns the channel with its current status. What its fields refer to is never
// changed.
func (e *entry) share() Channel {
	e.mu.Lock()
	config := e.config.ChannelConfig
	e.mu.Unlock()
	return Channel{config, e.status()}
}

// status returns the current status of the channel.
func (e *entry) status() Status {
	standing := e.standing()
	e.mu.Lock()
	fault, p := e.fault, e.possession
	s := Status{Stopped: true, Off: e.config.Off, Error: e.config.Fault}
	wanted, kept := e.isWantedLocked(), e.keeper != nil
	e.mu.Unlock()
	switch {
	case e.channel == nil:
	case standing == mine:
		s = statusNow(e.channel)
		s.Retrying = s.Stopped && wanted && (kept || e.fleet != nil)
		if e.fleet != nil && (!s.Stopped || wanted) {
			s.Instance = e.fleet.Name()
		}
	default:
		s.Retrying = wanted
	}
	if standing == theirs {
		s.Stopped = p.lease.Stopped
		s.Retrying = p.lease.Retrying
		s.Error = p.lease.Error
		s.Instance = p.lease.Instance
		return s
	}
	if s.Stopped && s.Error == "" && (standing == mine || e.channel == nil) {
		s.Error = fault
	}
	if e.fleet != nil && s.Stopped && wanted && s.Error == "" {
		s.Error = "waits for an instance that runs it"
	}
	return s
}

// statusNow returns the status of a channel that is this instance's.
func statusNow(c *annotate.Channel) Status {
	now := c.Status()
	s := Status{Stopped: now.Stopped, Off: now.Off}
	if now.Err != nil {
		s.Error = now.Err.Error()
	}
	return s
}

// settings returns the configuration. It is not to be changed.
func (e *entry) settings() annotate.ChannelConfig {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.config.ChannelConfig.ChannelConfig
}

// stored returns the stored state of the channel and its revision.
func (e *entry) stored() (record, storage.Revision) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.config.clone(), e.revision
}

// noteStored records the state that this instance has written or read.
func (e *entry) noteStored(r record, revision storage.Revision) {
	var stamp uint64
	if e.fleet != nil {
		stamp = e.fleet.Stamp()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.config = r
	e.revision = revision
	e.stamp = stamp
}

// take waits until no other operation works on the channel.
func (e *entry) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case e.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *entry) give() { <-e.turn }

// stopKeeping ends the keeper, without waiting for it.
func (e *entry) stopKeeping() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.keeper != nil {
		e.keeper.end()
		e.keeper = nil
	}
}

// startKeeping makes k the keeper.
func (e *entry) startKeeping(k *keeper) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.keeper != nil {
		e.keeper.end()
	}
	e.keeper = k
}

// unkept removes the keeper k, unless it was replaced.
func (e *entry) unkept(k *keeper) {
	k.end()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.keeper == k {
		e.keeper = nil
	}
}

func (e *entry) setFault(fault string) {
	e.mu.Lock()
	e.fault = fault
	e.mu.Unlock()
}

func (e *entry) setRemoved() {
	e.mu.Lock()
	e.removed = true
	e.mu.Unlock()
}

func (e *entry) isRemoved() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.removed || e.config.Removing
}

// isHidden reports whether the channel is hidden from clients.
func (e *entry) isHidden() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.config.Removing
}

// makeable returns the reason why this instance cannot change the channel: it could not
// create the channel from its stored state.
func (e *entry) makeable(verb string) error {
	if e.channel == nil {
		return fmt.Errorf("%s channel %q: %s", verb, e.id, e.view().Status.Error)
	}
	return nil
}
