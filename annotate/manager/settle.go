package manager

import (
	"cmp"
	"context"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/storage"
)

// task is what this instance has to do about a channel.
type task struct {
	gone     bool // it is no longer stored
	finish   bool // clients have deleted it, and this instance finishes the removal
	run      bool // it must run here
	release  bool // this instance has its lease and must not run it
	restart  bool
	edited   bool // its topics or settings are other than those of the channel
	changed  bool // the stored state was not applied yet
	kept     bool // a keeper keeps it running
	running  bool
	stored   record
	revision storage.Revision
}

// task compares the stored with the current state.
func (r *reconciler) task(e *entry) task {
	own, fresh := e.fleet.Session(), e.fleet.Fresh()
	restoring := e.fleet.IsRestoring()
	running := e.channel != nil && !e.channel.Status().Stopped
	e.mu.Lock()
	defer e.mu.Unlock()
	distributed := e.config.Distributed
	owned := own != "" && e.standingLocked(own) == mine
	p := task{
		gone:    e.removed,
		finish:  owned && e.config.Removing,
		run:     owned && e.isWantedLocked() && !e.possession.yield && !restoring,
		restart: e.config.Restarts != e.restarts,
		edited:  e.config.Edits != e.edits,
		changed: e.revision != e.settled,
		kept:    e.keeper != nil,
		running: running,
		stored:  e.config, revision: e.revision,
	}
	p.release = owned && !distributed && !p.run && !p.finish
	if !distributed && !fresh {
		p.run = p.kept // a running channel goes on, a stopped one stays stopped
		p.release, p.finish = false, false
	}
	return p
}

// unsettled reports whether the channel has a task. One that runs without a right to it is
// stopped, whatever the cause.
func (r *reconciler) unsettled(e *entry) bool {
	p := r.task(e)
	return p.gone || p.finish || p.release || p.run != p.kept || (!p.run && p.running) || p.changed || (p.restart && p.run)
}

// settleLater settles a channel, unless that is in progress.
func (r *reconciler) settleLater(e *entry) {
	e.mu.Lock()
	busy := e.settling
	e.settling = true
	e.mu.Unlock()
	if busy {
		return
	}
	r.runner.tasks.Go(func() {
		defer func() {
			e.mu.Lock()
			e.settling = false
			e.mu.Unlock()
		}()
		if err := e.take(r.runner.ctx); err != nil {
			return
		}
		defer e.give()
		if err := r.settle(r.runner.ctx, e); err != nil && r.runner.ctx.Err() == nil {
			r.config.Logger.Warn("stored state of the channel not applied, will be tried again", "channel", e.id, "error", err)
		}
	})
}

// settle applies the stored state to a channel. The caller holds the entry's turn.
func (r *reconciler) settle(ctx context.Context, e *entry) error {
	p := r.task(e)
	switch {
	case p.gone:
		r.discard(ctx, e)
		return nil
	case p.finish:
		return r.finishRemoval(ctx, e)
	case e.channel == nil:
		e.noteSettled(p)
		if p.release {
			return releaseLease(ctx, e)
		}
		return nil
	}
	if !p.run || p.restart {
		e.stopKeeping()
		r.runner.stop(ctx, e)
		e.setFault("")
	}
	if p.edited {
		if err := r.runner.reconfigure(ctx, e); err != nil {
			// Another version may have checked it when it was stored. A further
			// attempt would fail as well.
			r.config.Logger.Error("settings not replaced, the channel keeps the old ones", "channel", e.id, "error", err)
		}
	}
	if p.changed {
		if err := r.catchUp(ctx, e, p.stored); err != nil {
			return err
		}
	}
	e.noteSettled(p)
	switch {
	case p.release:
		defer r.fleet.Look()
		return releaseLease(ctx, e)
	case p.run && (!p.kept || p.restart || p.edited):
		r.runner.keep(e)
	}
	return nil
}

// noteSettled records that the task is done.
func (e *entry) noteSettled(p task) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.settled = p.revision
	e.restarts = p.stored.Restarts
	e.edits = p.stored.Edits
}

// catchUp applies what another instance has stored: the mapping and the switches of topics.
func (r *reconciler) catchUp(ctx context.Context, e *entry, stored record) error {
	if next := stored.Mapping; !sameMapping(next, e.channel.Config().Mapping) {
		if err := e.channel.SetMapping(next); err != nil {
			// Another version may have checked it when it was stored. A further
			// attempt would fail as well.
			r.config.Logger.Error("mapping not replaced, the channel keeps the old one", "channel", e.id, "error", err)
		}
	}
	return e.channel.SetTopics(ctx, stored.Off)
}

// sameMapping reports whether two mappings have the same texts and formats.
func sameMapping(a, b annotate.Mapping) bool {
	language := func(m annotate.Mapping) annotate.MappingLanguage { return cmp.Or(m.Language, annotate.LanguageRML) }
	return a.RML == b.RML && language(a) == language(b) && a.Shapes == b.Shapes &&
		a.InputFormat == b.InputFormat && a.OutputFormat == b.OutputFormat
}

// finishRemoval stops a channel, removes its subscription from the broker, and then its
// documents. The caller holds the entry's turn, and this instance has the channel's lease.
func (r *reconciler) finishRemoval(ctx context.Context, e *entry) error {
	r.runner.forget(ctx, e)
	if err := r.records.remove(ctx, e); err != nil {
		return err
	}
	if err := releaseLease(ctx, e); err != nil {
		return err
	}
	e.setRemoved()
	r.channels.drop(e)
	return e.close()
}

// discard ends a channel that is no longer stored. The instance that ran it removes
// its subscription.
func (r *reconciler) discard(ctx context.Context, e *entry) {
	e.setRemoved()
	if e.standing() == mine {
		r.runner.forget(ctx, e)
		if err := releaseLease(ctx, e); err != nil {
			r.config.Logger.Debug("lease of a removed channel not deleted yet", "channel", e.id, "error", err)
		}
	}
	e.stopKeeping()
	r.channels.drop(e)
	_ = e.close()
}

// close closes the channel, if there is one.
func (e *entry) close() error {
	if e.channel == nil {
		return nil
	}
	return e.channel.Close()
}
