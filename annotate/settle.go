package annotate

import (
	"context"

	"github.com/iotenablers/enablers/storage"
)

// plan is what has to be done about a channel here.
type plan struct {
	gone     bool // it is no longer stored
	finish   bool // it is deleted for clients, and this instance tidies up
	run      bool // it is to run here
	release  bool // this instance has claimed it and is not to run it
	restart  bool
	changed  bool // what is stored is news
	kept     bool // it is being kept running
	wish     wish
	revision storage.Revision
}

// plan compares what is stored with what is.
func (m *Manager) plan(e *entry) plan {
	own, fresh := e.fleet.session(), e.fleet.fresh()
	restoring := e.fleet.isRestoring()
	e.mu.Lock()
	defer e.mu.Unlock()
	distributed := e.config.Settings.Distributed
	owned := own != "" && e.standingIn(own) == mine
	p := plan{
		gone:    e.removed,
		finish:  owned && e.config.Removing,
		run:     owned && e.isWanted() && !e.possession.yield && !restoring,
		restart: e.config.Restarts != e.restarts,
		changed: e.revision != e.settled,
		kept:    e.keeper != nil,
		wish:    e.config, revision: e.revision,
	}
	p.release = owned && !distributed && !p.run && !p.finish
	if !distributed && !fresh {
		p.run = p.kept // what goes on goes on, what was stopped in time stays so
		p.release, p.finish = false, false
	}
	return p
}

// unsettled reports whether something has to be done.
func (m *Manager) unsettled(e *entry) bool {
	p := m.plan(e)
	return p.gone || p.finish || p.release || p.run != p.kept || p.changed || p.restart && p.run
}

// settleLater settles a channel, unless that is being done.
func (m *Manager) settleLater(e *entry) {
	e.mu.Lock()
	busy := e.settling
	e.settling = true
	e.mu.Unlock()
	if busy {
		return
	}
	m.tasks.Go(func() {
		defer func() {
			e.mu.Lock()
			e.settling = false
			e.mu.Unlock()
		}()
		if err := e.take(m.ctx); err != nil {
			return
		}
		defer e.give()
		if err := m.settle(m.ctx, e); err != nil && m.ctx.Err() == nil {
			m.config.Logger.Warn("channel is not as it should be, will be tried again", "channel", e.id, "error", err)
		}
	})
}

// settle makes a channel what is stored about it. The entry's turn is held.
func (m *Manager) settle(ctx context.Context, e *entry) error {
	p := m.plan(e)
	switch {
	case p.gone:
		m.discard(ctx, e)
		return nil
	case p.finish:
		return m.finishRemoval(ctx, e)
	case e.channel == nil:
		e.noteSettled(p)
		if p.release {
			return m.release(ctx, e)
		}
		return nil
	}
	if !p.run || p.restart {
		e.stopKeeping()
		m.stopChannel(ctx, e)
		e.setFault("")
	}
	if p.changed {
		if err := m.catchUp(ctx, e, p.wish); err != nil {
			return err
		}
	}
	e.noteSettled(p)
	switch {
	case p.release:
		defer m.fleet.look()
		return m.release(ctx, e)
	case p.run && (!p.kept || p.restart):
		m.keep(e)
	}
	return nil
}

// noteSettled records that the channel is as it was planned.
func (e *entry) noteSettled(p plan) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.settled, e.restarts = p.revision, p.wish.Restarts
}

// catchUp applies what another instance has stored: the mapping and the
// switches of topics. All else of a channel never changes.
func (m *Manager) catchUp(ctx context.Context, e *entry, w wish) error {
	if next := w.Metadata.Mapping; !sameMapping(next, e.channel.Config().Metadata.Mapping) {
		if err := e.channel.SetMapping(next); err != nil {
			// It was checked when it was stored, perhaps by another version.
			// Trying again would not help.
			m.config.Logger.Error("mapping not replaced, the one before stays", "channel", e.id, "error", err)
		}
	}
	return e.channel.SetTopics(ctx, StatusUpdate{
		InputMonitorTopicEnabled:  w.Status.InputMonitorTopicEnabled,
		OutputMonitorTopicEnabled: w.Status.OutputMonitorTopicEnabled,
		ErrorTopicEnabled:         w.Status.ErrorTopicEnabled,
	})
}

// sameMapping reports whether two mappings make the same of a message.
func sameMapping(a, b Mapping) bool {
	return a.RML == b.RML && a.InputFormat == b.InputFormat && a.OutputFormat == b.OutputFormat
}

// finishRemoval stops a channel for good, removes its subscription from the
// broker, and then its documents. The entry's turn is held, and the claim is
// this instance's.
func (m *Manager) finishRemoval(ctx context.Context, e *entry) error {
	m.forget(ctx, e)
	if err := m.deleteDocument(ctx, e); err != nil {
		return err
	}
	if err := m.release(ctx, e); err != nil {
		return err
	}
	e.setRemoved()
	m.drop(e)
	return e.close()
}

// discard ends a channel that is no longer stored. Who ran it removes its
// subscription.
func (m *Manager) discard(ctx context.Context, e *entry) {
	e.setRemoved()
	if e.standing() == mine {
		m.forget(ctx, e)
		if err := m.release(ctx, e); err != nil {
			m.config.Logger.Debug("claim of a removed channel stays for now", "channel", e.id, "error", err)
		}
	}
	e.stopKeeping()
	m.drop(e)
	_ = e.close()
}

// forget stops a channel and removes its subscription from the broker. The log
// is the place for what that leaves behind.
func (m *Manager) forget(ctx context.Context, e *entry) {
	e.stopKeeping()
	e.mu.Lock()
	used := e.used
	e.mu.Unlock()
	if e.channel == nil || !used {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, m.config.MaxShutdown)
	defer cancel()
	if err := e.channel.Forget(ctx); err != nil {
		m.config.Logger.Warn("channel removed, not everything was tidied up", "channel", e.id, "error", err)
	}
}

// close closes the channel, if there is one.
func (e *entry) close() error {
	if e.channel == nil {
		return nil
	}
	return e.channel.Close()
}
