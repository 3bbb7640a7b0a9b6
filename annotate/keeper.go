package annotate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// load reads the stored channels. All of them are listed before the first one
// is started; a channel that cannot be made any more is listed as stopped,
// with the reason.
func (m *Manager) load(ctx context.Context) error {
	if m.config.Documents == nil {
		return nil
	}
	for after := ""; ; {
		page, err := m.config.Documents.List(ctx, channelPrefix, after, 0)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return nil
		}
		for _, document := range page {
			e := m.restore(strings.TrimPrefix(document.Key, channelPrefix), document.Data)
			e.revision = document.Revision
			if m.config.RestoreStopped && !e.config.Status.IsStopped && e.channel != nil {
				if err := m.store(ctx, e, func(s *Status) { s.IsStopped = true }); err != nil {
					return err
				}
			}
			m.mu.Lock()
			m.entries[e.id] = e
			m.mu.Unlock()
		}
		after = page[len(page)-1].Key
	}
}

// restore makes the entry of a stored channel.
func (m *Manager) restore(id string, data []byte) *entry {
	e := &entry{id: id, turn: make(chan struct{}, 1), listed: true, used: true}
	config, err := decodeRecord(data, m.sealer)
	if err == nil && config.Settings.ChannelID != id {
		err = fmt.Errorf("it is stored with the identifier %q", config.Settings.ChannelID)
	}
	if err == nil {
		config = config.materialise(m.config.Defaults)
		e.channel, err = newChannel(config, m.config.Environment)
	}
	config.Settings.ChannelID = id
	e.config, e.fault = config, config.Status.Error
	if err != nil {
		e.fault = fmt.Sprintf("restore channel %q: %v", id, err)
		m.config.Logger.Error("channel not restored", "channel", id, "error", err)
	}
	return e
}

// keep makes sure, from now until the channel is stopped or removed or Run
// ends, that it runs. The caller holds the entry's turn or is Run; there is
// one keeper of an entry at most.
func (m *Manager) keep(e *entry) {
	ctx, cancel := context.WithCancel(m.ctx)
	e.mu.Lock()
	if e.unkeep != nil {
		e.unkeep()
	}
	e.unkeep = cancel
	e.mu.Unlock()
	m.tasks.Go(func() {
		defer cancel()
		pause := m.config.RetryMin
		for m.revive(ctx, e) {
			since := time.Now()
			err := e.channel.Wait(ctx)
			if ctx.Err() != nil || err == nil {
				return
			}
			// A channel that does not hold for long is not started in haste.
			if time.Since(since) > m.config.RetryMax {
				pause = m.config.RetryMin
			}
			m.config.Logger.Error("channel failed, will be started again", "channel", e.id, "pause", pause, "error", err)
			if !wait(ctx, pause) {
				return
			}
			pause = m.longer(pause)
		}
	})
}

// longer is the pause after a pause.
func (m *Manager) longer(pause time.Duration) time.Duration {
	return min(2*pause, m.config.RetryMax)
}

// wait reports false when ctx ends before the pause does.
func wait(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// revive starts the channel, as often as it takes. It reports false when the
// channel is not to run any more.
func (m *Manager) revive(ctx context.Context, e *entry) bool {
	for pause := m.config.RetryMin; ; pause = m.longer(pause) {
		err := m.startKept(ctx, e)
		if err == nil {
			return true
		}
		if errors.Is(err, errUnwanted) || ctx.Err() != nil {
			return false
		}
		m.config.Logger.Warn("channel not started, will be tried again", "channel", e.id, "pause", pause, "error", err)
		if !wait(ctx, pause) {
			return false
		}
	}
}

// errUnwanted says that a channel is not to run any more.
var errUnwanted = errors.New("annotate: channel is not to run")

// startKept starts a channel that should run, in its turn.
func (m *Manager) startKept(ctx context.Context, e *entry) error {
	select {
	case m.starting <- struct{}{}:
		defer func() { <-m.starting }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := e.take(ctx); err != nil {
		return err
	}
	defer e.give()
	if ctx.Err() != nil || !e.wanted() {
		return errUnwanted
	}
	return m.start(ctx, e)
}

// start starts the channel. The entry's turn is held.
func (m *Manager) start(ctx context.Context, e *entry) error {
	err := e.channel.Start(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fault = ""
	if err != nil {
		e.fault = err.Error()
		return err
	}
	e.used = true
	return nil
}
