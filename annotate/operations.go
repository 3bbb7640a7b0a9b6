package annotate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// Outcome says what a change has done.
type Outcome uint8

// The outcomes of [Manager.Patch].
const (
	// Unchanged means that everything was as asked for already.
	Unchanged Outcome = iota
	// Updated means that switches of optional topics changed.
	Updated
	// Stopped means that the channel was stopped.
	Stopped
	// Started means that the channel was started.
	Started
)

// Create makes a channel, stores it, and starts it unless its status says that
// it is stopped. It returns the identifier. A channel that cannot start is
// there all the same: stopped, and saying why. Errors are a [*FieldError], a
// [*MappingError], ErrChannelExists, ErrNotRunning, or the storage's.
func (m *Manager) Create(ctx context.Context, config ChannelConfig) (string, error) {
	ctx, done, err := m.begin(ctx)
	if err != nil {
		return "", fmt.Errorf("create channel %q: %w", config.Settings.ChannelID, err)
	}
	defer done()
	if err := refuseMasks(&config.Settings); err != nil {
		return "", err
	}
	config = config.materialise(m.config.Defaults)
	config.Status.Error, config.Status.Retrying, config.Status.Instance = "", false, ""
	channel, err := newChannel(config, m.config.Environment)
	if err != nil {
		return "", err
	}
	e := newEntry(channel.ID(), m.fleet)
	e.channel, e.config = channel, wish{ChannelConfig: config, Incarnation: rand.Text()}
	e.turn <- struct{}{}
	defer e.give()
	if err := m.reserve(ctx, e); err != nil {
		return "", err
	}
	if err := m.createDocument(ctx, e); err != nil {
		m.drop(e)
		return "", err
	}
	here := true
	if !config.Status.IsStopped && m.fleet != nil {
		if here, err = m.acquire(ctx, e); err != nil {
			m.config.Logger.Warn("new channel not claimed, will be by whoever has room", "channel", e.id, "error", err)
			here = false
		}
	}
	if !config.Status.IsStopped && here {
		if err := m.start(ctx, e); err == nil {
			m.keep(e)
		} else {
			m.stayStopped(ctx, e, err)
		}
	}
	m.mu.Lock()
	e.listed = true
	m.mu.Unlock()
	return e.id, nil
}

// stayStopped records that a new channel could not be started. When even that
// cannot be stored, the next service start will try to start the channel.
func (m *Manager) stayStopped(ctx context.Context, e *entry, cause error) {
	change := func(w *wish) { w.Status.IsStopped, w.Status.Error = true, cause.Error() }
	if err := m.store(ctx, e, change); err != nil {
		m.config.Logger.Warn("stopped channel not stored as stopped", "channel", e.id, "error", err)
		e.mu.Lock()
		change(&e.config)
		e.mu.Unlock()
	}
}

// reserve takes the identifier and the MQTT sessions. It waits for one that is
// still being removed by another instance.
func (m *Manager) reserve(ctx context.Context, e *entry) error {
	for {
		m.mu.RLock()
		other := m.entries[e.id]
		m.mu.RUnlock()
		if other == nil || !other.isHidden() {
			break
		}
		if err := m.awaitRemoval(ctx, other); err != nil {
			return fmt.Errorf("create channel %q: %w: the one before is still being removed", e.id, ErrChannelExists)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[e.id] != nil {
		return fmt.Errorf("create channel %q: %w", e.id, ErrChannelExists)
	}
	for _, other := range m.entries {
		theirs := other.settings()
		if err := e.config.Settings.checkSessions(&theirs); err != nil {
			return err
		}
	}
	m.entries[e.id] = e
	return nil
}

// refuseMasks finds credentials that were copied from what the service shows.
func refuseMasks(s *Settings) error {
	for _, topic := range s.topics() {
		for _, l := range topic.logins() {
			if *l.user == Masked || *l.password == Masked {
				return &FieldError{"settings." + l.field,
					"user or password is the mask that the service shows in their place; send the real ones"}
			}
		}
	}
	return nil
}

// Patch changes what the update names. Where another instance runs the channel
// it is stored, for that one to do. The error is ErrChannelNotFound,
// ErrNotRunning, the storage's, or says why the channel could not be started
// or a topic not be switched on.
func (m *Manager) Patch(ctx context.Context, id string, update StatusUpdate) (Outcome, error) {
	outcome := Unchanged
	err := m.operate(ctx, id, func(ctx context.Context, e *entry) error {
		before := e.view().Status
		here, err := m.isHere(ctx, e, update.IsStopped != nil && !*update.IsStopped)
		if err != nil {
			return err
		}
		if changesTopics(before, update) {
			if err := m.switchTopics(ctx, e, before, update); err != nil {
				return err
			}
			outcome = Updated
		}
		stop := update.IsStopped
		switch {
		case stop == nil || *stop && before.IsStopped && !e.wanted() || !*stop && !before.IsStopped:
			return nil
		case *stop:
			outcome = Stopped
			return m.halt(ctx, e)
		case !here:
			outcome = Started
			return m.order(ctx, e)
		}
		outcome = Started
		return m.launch(ctx, e)
	})
	return outcome, err
}

// isHere reports whether an operation is done by this instance. A channel that
// nobody runs and that is to start is claimed.
func (m *Manager) isHere(ctx context.Context, e *entry, start bool) (bool, error) {
	if m.fleet == nil || e.standing() == mine {
		return true, nil
	}
	if !start || e.channel == nil {
		return false, nil
	}
	return m.acquire(ctx, e)
}

// order has another instance start the channel, or start it again.
func (m *Manager) order(ctx context.Context, e *entry) error {
	if err := m.makeable(e, "start"); err != nil {
		return err
	}
	return m.store(ctx, e, func(w *wish) {
		w.Status.IsStopped, w.Status.Error = false, ""
		w.Restarts++
	})
}

// makeable returns why a channel cannot be changed that this instance could
// not make of what is stored.
func (m *Manager) makeable(e *entry, verb string) error {
	if e.channel == nil {
		return fmt.Errorf("%s channel %q: %s", verb, e.id, e.view().Status.Error)
	}
	return nil
}

// Restart stops the channel, if it runs, and starts it.
func (m *Manager) Restart(ctx context.Context, id string) error {
	return m.operate(ctx, id, func(ctx context.Context, e *entry) error {
		here, err := m.isHere(ctx, e, true)
		if err != nil {
			return err
		}
		if !here {
			return m.order(ctx, e)
		}
		e.stopKeeping()
		if e.channel != nil {
			m.stopChannel(ctx, e)
		}
		return m.launch(ctx, e)
	})
}

// SetMapping puts a mapping in the place of the channel's. A channel that runs
// goes on meanwhile: each message is mapped by the old or by the new mapping,
// none is lost and none is mapped twice. A mapping that cannot serve the
// channel is a [*FieldError] or a [*MappingError], and nothing changes. Where
// another instance runs the channel it is stored, for that one to do.
func (m *Manager) SetMapping(ctx context.Context, id string, mapping Mapping) error {
	return m.operate(ctx, id, func(ctx context.Context, e *entry) error {
		if err := m.makeable(e, "change"); err != nil {
			return err
		}
		if _, err := mapping.compile(m.config.MaxMessageBytes); err != nil {
			return withoutPrefix(err, "metadata.mapping.")
		}
		if err := m.store(ctx, e, func(w *wish) { w.Metadata.Mapping = mapping.clone() }); err != nil {
			return err
		}
		return e.channel.SetMapping(mapping)
	})
}

// Delete removes the channel from storage, stops it, and removes its
// subscription from the broker. Where another instance runs the channel it
// waits for that one to do so.
func (m *Manager) Delete(ctx context.Context, id string) error {
	var elsewhere *entry
	err := m.operate(ctx, id, func(ctx context.Context, e *entry) error {
		if m.fleet == nil || e.settings().Distributed {
			if err := m.deleteDocument(ctx, e); err != nil {
				return err
			}
			e.setRemoved()
			m.forget(ctx, e)
			m.drop(e)
			return e.close()
		}
		// From here on it is deleted, whoever fails: somebody will finish it.
		if err := m.markDocument(ctx, e); err != nil {
			return err
		}
		e.mu.Lock()
		e.config.Removing = true
		e.mu.Unlock()
		here, err := m.acquire(ctx, e)
		if err == nil && here && m.fleet.fresh() {
			err = m.finishRemoval(ctx, e)
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
	m.fleet.look()
	if err := m.awaitRemoval(ctx, elsewhere); err != nil {
		return fmt.Errorf("remove channel %q: %w", id, err)
	}
	return nil
}

// awaitRemoval waits until a channel that is marked as removed is gone, for as
// long as another instance may take to notice, or to be given up, and to stop
// the channel. After that the removal goes on without anybody waiting.
func (m *Manager) awaitRemoval(ctx context.Context, e *entry) error {
	limit := time.NewTimer(2*m.fleet.duration + 2*m.fleet.poll + m.config.MaxShutdown)
	defer limit.Stop()
	again := time.NewTicker(m.fleet.poll / 4)
	defer again.Stop()
	for {
		m.mu.RLock()
		there := m.entries[e.id] == e
		m.mu.RUnlock()
		if !there {
			return nil
		}
		select {
		case <-again.C:
			m.fleet.look()
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
	e, err := m.find(id)
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
		// Another service on the same storage has removed the channel.
		m.abandon(work, e)
		return fmt.Errorf("change channel %q: %w", id, ErrChannelNotFound)
	}
	return err
}

// abandon stops and drops a channel that is no longer stored.
func (m *Manager) abandon(ctx context.Context, e *entry) {
	e.mu.Lock()
	e.removed = true
	e.mu.Unlock()
	e.stopKeeping()
	if e.channel != nil {
		m.stopChannel(ctx, e)
		_ = e.channel.Close() // it is stopped already
	}
	m.drop(e)
}

// launch starts a channel because a client asks for it, and then has it kept.
func (m *Manager) launch(ctx context.Context, e *entry) error {
	if err := m.makeable(e, "start"); err != nil {
		return err
	}
	e.stopKeeping()
	if err := m.start(ctx, e); err != nil {
		if e.wanted() {
			m.keep(e) // it did run, so it is tried further
		}
		return err
	}
	err := m.store(ctx, e, func(w *wish) {
		w.Status.IsStopped, w.Status.Error = false, ""
		if w.Settings.Distributed {
			w.Restarts++ // for the other instances
		}
	})
	if err != nil {
		m.stopChannel(ctx, e)
		return err
	}
	e.mu.Lock()
	e.restarts = e.config.Restarts
	e.mu.Unlock()
	m.keep(e)
	return nil
}

// halt stops a channel because a client asks for it.
func (m *Manager) halt(ctx context.Context, e *entry) error {
	if err := m.store(ctx, e, func(w *wish) { w.Status.IsStopped, w.Status.Error = true, "" }); err != nil {
		return err
	}
	e.setFault("")
	if e.standing() != mine {
		return nil
	}
	e.stopKeeping()
	if e.channel != nil {
		m.stopChannel(ctx, e)
	}
	m.fleet.look() // to give it back
	return nil
}

// stopChannel stops the channel. What it did not finish is redelivered later,
// so that the log is the place for it: the channel is stopped all the same.
func (m *Manager) stopChannel(ctx context.Context, e *entry) {
	ctx, cancel := context.WithTimeout(ctx, m.config.MaxShutdown)
	defer cancel()
	if err := m.stop(ctx, e); err != nil {
		m.config.Logger.Warn("channel stopped, not everything was finished", "channel", e.id, "error", err)
	}
}

// stop stops the channel before this instance's right to it ends.
func (m *Manager) stop(ctx context.Context, e *entry) error {
	_, limit := m.rights(e)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(limit, cancel)()
	return e.channel.Stop(ctx)
}

// changesTopics reports whether the update switches a configured topic.
func changesTopics(before Status, update StatusUpdate) bool {
	differs := func(have, want *bool) bool { return have != nil && want != nil && *have != *want }
	return differs(before.ErrorTopicEnabled, update.ErrorTopicEnabled) ||
		differs(before.InputMonitorTopicEnabled, update.InputMonitorTopicEnabled) ||
		differs(before.OutputMonitorTopicEnabled, update.OutputMonitorTopicEnabled)
}

// switchTopics switches and stores, or neither. Where the channel does not run
// here switching is only remembering.
func (m *Manager) switchTopics(ctx context.Context, e *entry, before Status, update StatusUpdate) error {
	if err := m.makeable(e, "change"); err != nil {
		return err
	}
	undo := StatusUpdate{
		InputMonitorTopicEnabled:  before.InputMonitorTopicEnabled,
		OutputMonitorTopicEnabled: before.OutputMonitorTopicEnabled,
		ErrorTopicEnabled:         before.ErrorTopicEnabled,
	}
	err := e.channel.SetTopics(ctx, update)
	if err == nil {
		err = m.store(ctx, e, func(w *wish) {
			set := func(have *bool, want *bool) *bool {
				if have == nil || want == nil {
					return have
				}
				return clone(want)
			}
			s := &w.Status
			s.InputMonitorTopicEnabled = set(s.InputMonitorTopicEnabled, update.InputMonitorTopicEnabled)
			s.OutputMonitorTopicEnabled = set(s.OutputMonitorTopicEnabled, update.OutputMonitorTopicEnabled)
			s.ErrorTopicEnabled = set(s.ErrorTopicEnabled, update.ErrorTopicEnabled)
		})
	}
	if err != nil {
		return errors.Join(err, e.channel.SetTopics(ctx, undo))
	}
	return nil
}

func (m Mapping) clone() Mapping {
	m.Tags = slices.Clone(m.Tags)
	return m
}
