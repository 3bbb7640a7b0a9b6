package annotate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// load reads the stored channels. All of them are listed before the first one
// is started; a channel that cannot be made any more is listed as stopped,
// with the reason.
func (m *Manager) load(ctx context.Context) error {
	if m.config.Documents == nil {
		return nil
	}
	for document, err := range storage.All(ctx, m.config.Documents, channelPrefix) {
		if err != nil {
			return err
		}
		e := m.restore(document)
		e.loaded = e.revision
		if m.fleet == nil && m.config.RestoreStopped && e.wanted() {
			if err := m.store(ctx, e, stopWish); err != nil {
				return err
			}
		}
		m.mu.Lock()
		m.entries[e.id] = e
		m.mu.Unlock()
	}
	return nil
}

// stopWish makes a channel one that is not to run.
func stopWish(w *wish) { w.Status.IsStopped = true }

// restore makes the entry of a stored channel.
func (m *Manager) restore(document storage.Document) *entry {
	e := newEntry(strings.TrimPrefix(document.Key, channelPrefix), m.fleet)
	e.listed, e.used, e.revision = true, true, document.Revision
	w, err := decodeRecord(document.Data, m.sealer)
	if err == nil && w.Settings.ChannelID != e.id {
		err = fmt.Errorf("it is stored with the identifier %q", w.Settings.ChannelID)
	}
	if err == nil {
		w.ChannelConfig = w.materialise(m.config.Defaults)
		e.channel, err = newChannel(w.ChannelConfig, m.config.Environment)
	}
	if err != nil {
		w.keep(decodeBookkeeping(document.Data))
	}
	w.Settings.ChannelID = e.id
	e.config, e.restarts, e.fault = w, w.Restarts, w.Status.Error
	if err != nil {
		e.fault = fmt.Sprintf("restore channel %q: %v", e.id, err)
		m.config.Logger.Error("channel not restored", "channel", e.id, "error", err)
	}
	return e
}

// keep makes sure, from now until the channel is stopped or removed or this
// instance has no right to it any more, that it runs. The caller holds the
// entry's turn or is Run; there is one keeper of an entry at most.
func (m *Manager) keep(e *entry) {
	tenure, _ := m.rights(e)
	ctx, cancel := context.WithCancel(m.ctx)
	unlink := context.AfterFunc(tenure, cancel)
	k := &keeper{cancel}
	e.startKeeping(k)
	m.tasks.Go(func() {
		defer unlink()
		defer e.unkept(k)
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

// Reasons why a channel is not started.
var (
	errUnwanted  = errors.New("annotate: channel is not to run")
	errNotJoined = errors.New("annotate: waits until an earlier lease of this instance has run out")
	errNoRight   = errors.New("annotate: another instance may run the channel, because this one could not reach the storage")
)

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

// rights returns the contexts of a channel that runs here: the first ends when
// it must begin to stop, the second when it must be stopped.
func (m *Manager) rights(e *entry) (tenure, limit context.Context) {
	if e.fleet == nil || e.settings().Distributed {
		return m.ctx, context.Background()
	}
	return e.fleet.rights()
}

// mayStart returns nil if a channel may be started here now. A lease that has
// run out with nobody there to take over lets channels go on, but not start:
// one that has lost its session to an instance which this one cannot see does
// not take it back.
func (m *Manager) mayStart(e *entry) error {
	switch {
	case e.fleet == nil:
		return nil
	case e.fleet.session() == "":
		return errNotJoined
	case e.settings().Distributed:
		return nil
	case e.standing() != mine || !e.fleet.fresh():
		return errNoRight
	}
	return nil
}

// start starts the channel. The entry's turn is held.
func (m *Manager) start(ctx context.Context, e *entry) error {
	tenure, _ := m.rights(e)
	err := m.mayStart(e)
	if err == nil {
		ctx, cancel := context.WithCancel(ctx)
		unlink := context.AfterFunc(tenure, cancel)
		err = e.channel.Start(ctx)
		unlink()
		cancel()
	}
	if err == nil && tenure.Err() != nil && m.ctx.Err() == nil {
		// The right ended when the channel was all but started.
		m.stopChannel(tenure, e)
		err = errNoRight
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fault = ""
	if err != nil {
		e.fault = err.Error()
		return err
	}
	e.used = true
	e.fleet.look() // to report it
	return nil
}
