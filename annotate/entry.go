package annotate

import (
	"context"
	"sync"

	"github.com/iotenablers/enablers/storage"
)

// entry is one channel of a Manager: the channel itself, what is stored about
// it, and whether it should run.
type entry struct {
	id      string
	channel *Channel      // nil for a stored channel that cannot be made
	turn    chan struct{} // capacity 1: held by the operation at work
	listed  bool          // visible to others; the Manager's mutex protects it

	mu       sync.Mutex
	config   ChannelConfig // as stored; its status is what is wanted
	revision storage.Revision
	fault    string // why it does not run, when the channel cannot say
	removed  bool
	used     bool               // it may have a subscription at the broker
	unkeep   context.CancelFunc // ends the keeper, if there is one
}

// wanted reports whether the channel should run.
func (e *entry) wanted() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.config.Status.IsStopped && e.channel != nil && !e.removed
}

// view returns the channel with the status of now.
func (e *entry) view() ChannelConfig {
	e.mu.Lock()
	config, fault := e.config.clone(), e.fault
	e.mu.Unlock()
	if e.channel == nil {
		config.Status.IsStopped = true
	} else {
		config.Status = e.channel.Status()
	}
	if config.Status.IsStopped && config.Status.Error == "" {
		config.Status.Error = fault
	}
	return config
}

// settings returns the settings, which never change and are not to be changed.
func (e *entry) settings() Settings {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.config.Settings
}

// take waits for the turn to work on the channel.
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
	if e.unkeep != nil {
		e.unkeep()
		e.unkeep = nil
	}
}

func (e *entry) setFault(fault string) {
	e.mu.Lock()
	e.fault = fault
	e.mu.Unlock()
}

func (e *entry) isRemoved() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.removed
}
