package manager

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/storage"
)

// Create creates a channel, stores it, and starts it unless it is to be stopped. It
// returns the identifier. A channel that cannot start is created nevertheless: it is
// stopped, and its status has the reason. Errors are an [*annotate.FieldError],
// ErrChannelExists, ErrNotRunning, errors of the storage, or match [annotate.ErrMapping].
func (m *Manager) Create(ctx context.Context, config ChannelConfig) (string, error) {
	ctx, done, err := m.begin(ctx)
	if err != nil {
		return "", fmt.Errorf("create channel %q: %w", config.ID, err)
	}
	defer done()
	if err := refuseMasks(config, m.config.Drivers); err != nil {
		return "", err
	}
	channel, err := annotate.NewChannel(config.ChannelConfig, m.config.Environment)
	if err != nil {
		return "", err
	}
	config = config.clone()
	config.ChannelConfig = channel.Config()
	config = m.records.complete(config)
	e := newEntry(channel.ID(), m.fleet)
	e.channel, e.config = channel, record{ChannelConfig: config, bookkeeping: bookkeeping{Incarnation: rand.Text()}}
	e.turn <- struct{}{}
	defer e.give()
	if err := m.reserve(ctx, e); err != nil {
		return "", err
	}
	if err := m.records.create(ctx, e); err != nil {
		m.channels.drop(e)
		return "", err
	}
	if !config.Stopped {
		m.startNew(ctx, e)
	}
	m.channels.list(e)
	m.config.Logger.Info("channel created", "channel", e.id)
	return e.id, nil
}

// startNew starts a new channel, unless another instance is to run it.
func (m *Manager) startNew(ctx context.Context, e *entry) {
	if m.fleet != nil {
		here, err := acquireLease(ctx, e)
		if err != nil {
			m.config.Logger.Warn("new channel without a lease, an instance with room will run it", "channel", e.id, "error", err)
		}
		if err != nil || !here {
			return
		}
	}
	if err := m.runner.start(ctx, e); err != nil {
		m.stayStopped(ctx, e, err)
		return
	}
	m.runner.keep(e)
}

// stayStopped records that a new channel could not be started. When even that
// cannot be stored, the next service start will try to start the channel.
func (m *Manager) stayStopped(ctx context.Context, e *entry, cause error) {
	m.config.Logger.Warn("new channel not started", "channel", e.id, "error", cause)
	change := func(r *record) { r.Stopped, r.Fault = true, cause.Error() }
	if err := m.records.change(ctx, e, change); err != nil {
		m.config.Logger.Warn("stopped channel not stored as stopped", "channel", e.id, "error", err)
		e.mu.Lock()
		change(&e.config)
		e.mu.Unlock()
	}
}

// reserve takes the identifier and the sessions. It waits for a channel that is
// still being removed by another instance.
func (m *Manager) reserve(ctx context.Context, e *entry) error {
	for {
		other, _ := m.channels.get(e.id)
		if other == nil || !other.isHidden() {
			return m.channels.reserve(e)
		}
		if err := m.awaitRemoval(ctx, other); err != nil {
			return fmt.Errorf("create channel %q: %w: the one before is still being removed", e.id, ErrChannelExists)
		}
	}
}

// refuseMasks returns an error for secrets that are copies of the masks in responses.
func refuseMasks(c ChannelConfig, drivers []annotate.Driver) error {
	form := c.Form()
	for _, topic := range form.Topics() {
		for _, d := range drivers {
			settings := form.SettingsOf(topic, d.Type)
			if settings == nil {
				continue
			}
			var names []string
			masked := false
			for _, secret := range settings.Secrets() {
				names = append(names, secret.Member)
				masked = masked || secret.Value == annotate.Masked
			}
			if masked {
				return &annotate.FieldError{
					Field: fmt.Sprintf("settings.%s.%s", topic.Role, d.Member),
					Reason: strings.Join(names, " or ") +
						" is the mask that the service shows in their place; send the real ones",
				}
			}
		}
	}
	return nil
}

// Patch changes what the update names. Where another instance runs the channel
// the change is stored, and that instance applies it. The error is ErrChannelNotFound,
// ErrNotRunning, an error of the storage, or the reason why the channel could not be started
// or a topic not be switched on.
func (m *Manager) Patch(ctx context.Context, id string, update Update) (Outcome, error) {
	outcome := Unchanged
	err := m.operate(ctx, id, func(ctx context.Context, e *entry) error {
		before := e.view()
		here, err := m.isHere(ctx, e, update.Run == On)
		if err != nil {
			return err
		}
		if update.off(&before.ChannelConfig.ChannelConfig, before.Status.Off) != before.Status.Off {
			if err := m.switchTopics(ctx, e, before, update); err != nil {
				return err
			}
			outcome = Updated
		}
		stopped := before.Status.Stopped
		switch {
		case update.Run == Keep || (update.Run == Off && stopped && !e.wanted()) || (update.Run == On && !stopped):
			return nil
		case update.Run == Off:
			outcome = Stopped
			return m.logged("channel stopped", e, m.halt(ctx, e))
		case !here:
			outcome = Started
			return m.requestStart(ctx, e)
		}
		outcome = Started
		return m.logged("channel started", e, m.launch(ctx, e))
	})
	return outcome, err
}

// logged logs what an operation has done unless it failed, and returns its error.
func (m *Manager) logged(done string, e *entry, err error) error {
	if err == nil {
		m.config.Logger.Info(done, "channel", e.id)
	}
	return err
}

// isHere reports whether this instance performs an operation. To start a channel that no
// instance runs, it takes the channel's lease.
func (m *Manager) isHere(ctx context.Context, e *entry, start bool) (bool, error) {
	if m.fleet == nil || e.standing() == mine {
		return true, nil
	}
	if !start || e.channel == nil {
		return false, nil
	}
	return acquireLease(ctx, e)
}

// requestStart has another instance start the channel, or start it again.
func (m *Manager) requestStart(ctx context.Context, e *entry) error {
	if err := e.makeable("start"); err != nil {
		return err
	}
	return m.records.change(ctx, e, func(r *record) {
		r.Stopped, r.Fault = false, ""
		r.Restarts++
	})
}

// Restart stops the channel, if it runs, and starts it.
func (m *Manager) Restart(ctx context.Context, id string) error {
	return m.operate(ctx, id, func(ctx context.Context, e *entry) error {
		here, err := m.isHere(ctx, e, true)
		if err != nil {
			return err
		}
		if !here {
			return m.requestStart(ctx, e)
		}
		e.stopKeeping()
		if e.channel != nil {
			m.runner.stop(ctx, e)
		}
		return m.logged("channel started again", e, m.launch(ctx, e))
	})
}

// SetMapping replaces the mapping of a channel. A running channel continues: each message is
// mapped by the old or the new mapping, none is lost and none is mapped twice. For a mapping
// that the channel cannot use the error is an [*annotate.FieldError] or an error that
// matches [annotate.ErrMapping], and nothing changes. Where another instance runs the
// channel the mapping is stored, for that one to apply.
func (m *Manager) SetMapping(ctx context.Context, id string, mapping annotate.Mapping) error {
	return m.operate(ctx, id, func(ctx context.Context, e *entry) error {
		if err := e.makeable("change"); err != nil {
			return err
		}
		if err := e.channel.CheckMapping(mapping); err != nil {
			return withoutPrefix(err, "metadata.mapping.")
		}
		mapping.Tags = slices.Clone(mapping.Tags)
		if err := m.records.change(ctx, e, func(r *record) { r.Mapping = mapping }); err != nil {
			return err
		}
		return m.logged("mapping replaced", e, e.channel.SetMapping(mapping))
	})
}

// Delete removes the channel from storage, stops it, and removes its
// subscription from the broker. Where another instance runs the channel it
// waits for that one to do so.
func (m *Manager) Delete(ctx context.Context, id string) error {
	var elsewhere *entry
	err := m.operate(ctx, id, func(ctx context.Context, e *entry) error {
		if m.fleet == nil || e.settings().Distributed {
			if err := m.records.remove(ctx, e); err != nil {
				return err
			}
			e.setRemoved()
			m.runner.forget(ctx, e)
			m.channels.drop(e)
			return m.logged("channel removed", e, e.close())
		}
		// From here on the channel is deleted: an instance will finish the removal.
		if err := m.records.mark(ctx, e); err != nil {
			return err
		}
		e.mu.Lock()
		e.config.Removing = true
		e.mu.Unlock()
		here, err := acquireLease(ctx, e)
		if err == nil && here && m.fleet.Fresh() {
			err = m.reconciler.finishRemoval(ctx, e)
		} else {
			elsewhere = e
		}
		if err != nil {
			m.config.Logger.Warn("removal of a channel will be finished later", "channel", id, "error", err)
		}
		return nil
	})
	if err != nil || elsewhere == nil {
		return err
	}
	m.fleet.Look()
	if err := m.awaitRemoval(ctx, elsewhere); err != nil {
		return fmt.Errorf("remove channel %q: %w", id, err)
	}
	return nil
}

// awaitRemoval waits until a channel that is marked as removed is gone, for as
// long as another instance may take to read that, or its lease to run out, and
// to stop the channel. After that the removal continues in the background.
func (m *Manager) awaitRemoval(ctx context.Context, e *entry) error {
	limit := time.NewTimer(2*m.fleet.Duration() + 2*m.fleet.Poll() + m.config.MaxShutdown)
	defer limit.Stop()
	again := time.NewTicker(m.fleet.Poll() / 4)
	defer again.Stop()
	for {
		if !m.channels.has(e) {
			return nil
		}
		select {
		case <-again.C:
			m.fleet.Look()
		case <-limit.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-m.ctx.Done():
			return ErrNotRunning
		}
	}
}

// operate runs one operation on a channel in its turn.
func (m *Manager) operate(ctx context.Context, id string, do func(context.Context, *entry) error) error {
	work, done, err := m.begin(ctx)
	if err != nil {
		return fmt.Errorf("change channel %q: %w", id, err)
	}
	defer done()
	e, err := m.channels.find(id)
	if err != nil {
		return err
	}
	// Waiting for the turn ends with the caller or the service; the work does
	// not end with the caller.
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(work, cancel)()
	if err := e.take(wait); err != nil {
		return fmt.Errorf("change channel %q: %w", id, err)
	}
	defer e.give()
	if e.isRemoved() {
		return fmt.Errorf("change channel %q: %w", id, ErrChannelNotFound)
	}
	err = do(work, e)
	if errors.Is(err, storage.ErrNotFound) {
		// Another instance on the same storage has removed the channel.
		m.runner.abandon(work, e)
		return fmt.Errorf("change channel %q: %w", id, ErrChannelNotFound)
	}
	return err
}

// launch starts a channel for a client, and starts its keeper.
func (m *Manager) launch(ctx context.Context, e *entry) error {
	if err := e.makeable("start"); err != nil {
		return err
	}
	e.stopKeeping()
	if err := m.runner.start(ctx, e); err != nil {
		if e.wanted() {
			m.runner.keep(e) // it ran before, so further attempts are made
		}
		return err
	}
	err := m.records.change(ctx, e, func(r *record) {
		r.Stopped, r.Fault = false, ""
		if r.Distributed {
			r.Restarts++ // for the other instances
		}
	})
	if err != nil {
		m.runner.stop(ctx, e)
		return err
	}
	e.mu.Lock()
	e.restarts = e.config.Restarts
	e.mu.Unlock()
	m.runner.keep(e)
	return nil
}

// halt stops a channel for a client.
func (m *Manager) halt(ctx context.Context, e *entry) error {
	if err := m.records.change(ctx, e, func(r *record) { r.Stopped, r.Fault = true, "" }); err != nil {
		return err
	}
	e.setFault("")
	if e.standing() != mine {
		return nil
	}
	e.stopKeeping()
	if e.channel != nil {
		m.runner.stop(ctx, e)
	}
	m.fleet.Look() // to release the lease
	return nil
}

// switchTopics switches topics and stores the switches, or does neither. If the channel does
// not run here, the switches are only stored.
func (m *Manager) switchTopics(ctx context.Context, e *entry, before Channel, update Update) error {
	if err := e.makeable("change"); err != nil {
		return err
	}
	off := before.Status.Off
	err := e.channel.SetTopics(ctx, update.off(&before.ChannelConfig.ChannelConfig, off))
	if err == nil {
		err = m.records.change(ctx, e, func(r *record) {
			r.Off = update.off(&r.ChannelConfig.ChannelConfig, r.Off)
		})
	}
	if err != nil {
		return errors.Join(err, e.channel.SetTopics(ctx, off))
	}
	return nil
}
