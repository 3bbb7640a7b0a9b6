package annotate

import (
	"context"
	"errors"
	"fmt"

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
	config.Status.Error = ""
	channel, err := newChannel(config, m.config.Environment)
	if err != nil {
		return "", err
	}
	e := &entry{id: channel.ID(), channel: channel, config: config, turn: make(chan struct{}, 1)}
	e.turn <- struct{}{}
	defer e.give()
	if err := m.reserve(e); err != nil {
		return "", err
	}
	if err := m.createDocument(ctx, e); err != nil {
		m.drop(e)
		return "", err
	}
	if !config.Status.IsStopped {
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
	change := func(s *Status) { s.IsStopped, s.Error = true, cause.Error() }
	if err := m.store(ctx, e, change); err != nil {
		m.config.Logger.Warn("stopped channel not stored as stopped", "channel", e.id, "error", err)
		e.mu.Lock()
		change(&e.config.Status)
		e.mu.Unlock()
	}
}

// reserve takes the identifier and the MQTT sessions.
func (m *Manager) reserve(e *entry) error {
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

// Patch changes what the update names. The error is ErrChannelNotFound,
// ErrNotRunning, the storage's, or says why the channel could not be started
// or a topic not be switched on.
func (m *Manager) Patch(ctx context.Context, id string, update StatusUpdate) (Outcome, error) {
	outcome := Unchanged
	err := m.operate(ctx, id, func(ctx context.Context, e *entry) error {
		before := e.view().Status
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
		}
		outcome = Started
		return m.launch(ctx, e)
	})
	return outcome, err
}

// Restart stops the channel, if it runs, and starts it.
func (m *Manager) Restart(ctx context.Context, id string) error {
	return m.operate(ctx, id, func(ctx context.Context, e *entry) error {
		e.stopKeeping()
		if e.channel != nil {
			m.stopChannel(ctx, e)
		}
		return m.launch(ctx, e)
	})
}

// Delete removes the channel from storage, stops it, and removes its
// subscription from the broker.
func (m *Manager) Delete(ctx context.Context, id string) error {
	return m.operate(ctx, id, func(ctx context.Context, e *entry) error {
		if err := m.deleteDocument(ctx, e); err != nil {
			return err
		}
		e.mu.Lock()
		e.removed = true
		used := e.used
		e.mu.Unlock()
		e.stopKeeping()
		if e.channel != nil && used {
			ctx, cancel := context.WithTimeout(ctx, m.config.MaxShutdown)
			defer cancel()
			if err := e.channel.Forget(ctx); err != nil {
				m.config.Logger.Warn("channel removed, not everything was tidied up", "channel", id, "error", err)
			}
		}
		m.drop(e)
		if e.channel == nil {
			return nil
		}
		return e.channel.Close()
	})
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
	if e.channel == nil {
		return fmt.Errorf("start channel %q: %s", e.id, e.view().Status.Error)
	}
	e.stopKeeping()
	if err := m.start(ctx, e); err != nil {
		if e.wanted() {
			m.keep(e) // it did run, so it is tried further
		}
		return err
	}
	if err := m.store(ctx, e, func(s *Status) { s.IsStopped, s.Error = false, "" }); err != nil {
		m.stopChannel(ctx, e)
		return err
	}
	m.keep(e)
	return nil
}

// halt stops a channel because a client asks for it.
func (m *Manager) halt(ctx context.Context, e *entry) error {
	if err := m.store(ctx, e, func(s *Status) { s.IsStopped, s.Error = true, "" }); err != nil {
		return err
	}
	e.stopKeeping()
	e.setFault("")
	m.stopChannel(ctx, e)
	return nil
}

// stopChannel stops the channel. What it did not finish is redelivered later,
// so that the log is the place for it: the channel is stopped all the same.
func (m *Manager) stopChannel(ctx context.Context, e *entry) {
	ctx, cancel := context.WithTimeout(ctx, m.config.MaxShutdown)
	defer cancel()
	if err := e.channel.Stop(ctx); err != nil {
		m.config.Logger.Warn("channel stopped, not everything was finished", "channel", e.id, "error", err)
	}
}

// changesTopics reports whether the update switches a configured topic.
func changesTopics(before Status, update StatusUpdate) bool {
	differs := func(have, want *bool) bool { return have != nil && want != nil && *have != *want }
	return differs(before.ErrorTopicEnabled, update.ErrorTopicEnabled) ||
		differs(before.InputMonitorTopicEnabled, update.InputMonitorTopicEnabled) ||
		differs(before.OutputMonitorTopicEnabled, update.OutputMonitorTopicEnabled)
}

// switchTopics switches and stores, or neither.
func (m *Manager) switchTopics(ctx context.Context, e *entry, before Status, update StatusUpdate) error {
	if e.channel == nil {
		return fmt.Errorf("change channel %q: %s", e.id, before.Error)
	}
	undo := StatusUpdate{
		InputMonitorTopicEnabled:  before.InputMonitorTopicEnabled,
		OutputMonitorTopicEnabled: before.OutputMonitorTopicEnabled,
		ErrorTopicEnabled:         before.ErrorTopicEnabled,
	}
	err := e.channel.SetTopics(ctx, update)
	if err == nil {
		now := e.channel.Status()
		err = m.store(ctx, e, func(s *Status) {
			s.InputMonitorTopicEnabled = now.InputMonitorTopicEnabled
			s.OutputMonitorTopicEnabled = now.OutputMonitorTopicEnabled
			s.ErrorTopicEnabled = now.ErrorTopicEnabled
		})
	}
	if err != nil {
		return errors.Join(err, e.channel.SetTopics(ctx, undo))
	}
	return nil
}
