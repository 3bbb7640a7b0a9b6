package manager

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/iotenablers/enablers/annotate/manager/internal/fleet"
	"github.com/iotenablers/enablers/storage"
)

// reconciler applies the stored state of channels to this instance, where several instances
// share the storage.
type reconciler struct {
	config   *Config
	channels *registry
	records  *records
	runner   *runner
	fleet    *fleet.Fleet
}

// run reads the storage periodically until ctx ends.
func (r *reconciler) run(ctx context.Context) {
	f := r.fleet
	r.runner.tasks.Go(func() { f.Watch(ctx) })
	for {
		err := r.look(ctx)
		if ctx.Err() != nil {
			return
		}
		if f.SetFault(err) {
			if err != nil {
				r.config.Logger.Warn("the storage cannot be read, changes of other instances wait", "error", err)
			} else {
				r.config.Logger.Info("the storage can be read")
			}
		}
		next := f.Poll()
		f.AwaitLook(ctx, next*9/10+rand.N(next/5+1)) // so that instances do not read at the same moment
	}
}

// look reads the storage and applies it. The order of the three reads matters; see
// fleet.ChannelLease.
func (r *reconciler) look(ctx context.Context) error {
	f := r.fleet
	ctx, cancel := context.WithTimeout(ctx, max(f.Duration(), storageTimeout))
	defer cancel()
	look := f.Begin()
	leases, err := r.list(ctx, fleet.ChannelLeasePrefix)
	if err != nil {
		return err
	}
	sessions, _, expireErr := f.Sessions(ctx)
	if sessions == nil {
		return expireErr
	}
	channels, err := r.list(ctx, channelPrefix)
	if err != nil {
		return err
	}
	err = expireErr
	r.mergeChannels(channels, look)
	stale := r.mergeLeases(leases, sessions, look)
	if f.Session() != "" {
		err = errors.Join(err, r.sweep(ctx, stale), f.DecideRestoring(ctx, func() error { return r.stopRestored(ctx) }), r.distribute(ctx))
	}
	for _, e := range r.channels.all() {
		if r.unsettled(e) {
			r.settleLater(e)
		}
	}
	if f.Fresh() {
		for _, e := range r.channels.all() {
			err = errors.Join(err, reportStatus(ctx, e))
		}
	}
	return err
}

// list reads all documents under a prefix.
func (r *reconciler) list(ctx context.Context, prefix string) ([]storage.Document, error) {
	var documents []storage.Document
	for document, err := range storage.All(ctx, impatient{r.records.documents}, prefix) {
		if err != nil {
			return nil, err
		}
		documents = append(documents, document)
	}
	return documents, nil
}

// impatient gives up a read that is not answered, perhaps because its connection is dead.
// The next look has another one.
type impatient struct{ storage.Documents }

// List implements storage.Documents.
func (d impatient) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	const patience = 5 * time.Second // for one page
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return d.Documents.List(ctx, prefix, after, limit)
}

// mergeChannels updates the entries with the stored channels. What this instance has written
// since the read began is newer.
func (r *reconciler) mergeChannels(documents []storage.Document, look uint64) {
	found := map[string]bool{}
	for _, document := range documents {
		id := strings.TrimPrefix(document.Key, channelPrefix)
		found[id] = true
		e, listed := r.channels.get(id)
		if e == nil {
			r.channels.add(r.records.restore(document))
			continue
		}
		if listed {
			r.merge(e, document, look)
		}
	}
	for _, e := range r.channels.all() {
		e.mu.Lock()
		if !found[e.id] && e.stamp < look {
			e.removed = true
		}
		e.mu.Unlock()
	}
}

// merge updates an entry with the stored channel.
func (r *reconciler) merge(e *entry, document storage.Document, look uint64) {
	e.mu.Lock()
	known := e.revision == document.Revision || e.stamp >= look || e.removed
	incarnation := e.config.Incarnation
	e.mu.Unlock()
	if known {
		return
	}
	b := decodeBookkeeping(document.Data)
	var w record
	var err error
	if b.Incarnation == incarnation {
		w, err = decode(document.Data, r.records.forms, r.records.sealer)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stamp >= look {
		return
	}
	switch {
	case b.Incarnation != incarnation:
		e.removed = true
		r.fleet.Look() // for the one that came after it
	case err != nil:
		// What it is cannot be read here, only what is to happen to it.
		e.config.bookkeeping = b
		e.revision = document.Revision
	default:
		w.ID = e.id
		e.config, e.revision = w, document.Revision
	}
}

// mergeLeases updates the entries with the channel leases. It returns the leases of channels
// that are gone.
func (r *reconciler) mergeLeases(
	documents []storage.Document, sessions map[string]bool, look uint64) (stale []storage.Document,
) {
	found := map[string]storage.Document{}
	for _, document := range documents {
		found[strings.TrimPrefix(document.Key, fleet.ChannelLeasePrefix)] = document
	}
	now := time.Now()
	own := r.fleet.Session()
	r.channels.each(func(e *entry) {
		document := found[e.id]
		delete(found, e.id)
		e.mu.Lock()
		defer e.mu.Unlock()
		if p := &e.possession; p.stamp < look {
			if p.revision != document.Revision {
				p.lease, p.revision = fleet.DecodeChannelLease(document.Data), document.Revision
			}
			p.alive = p.revision != 0 && sessions[p.lease.Session]
			if p.lease.Session != own {
				p.yield, p.adopted = false, false
			}
			e.used = e.used || p.revision != 0
			switch {
			case p.alive:
				p.freed = time.Time{}
			case p.freed.IsZero():
				p.freed = now
			}
		}
	})
	for _, document := range found {
		if session := fleet.DecodeChannelLease(document.Data).Session; session == own || !sessions[session] {
			stale = append(stale, document)
		}
	}
	return stale
}

// sweep removes the leases of channels that are gone.
func (r *reconciler) sweep(ctx context.Context, stale []storage.Document) error {
	var errs []error
	for _, document := range stale {
		err := r.records.documents.Delete(ctx, document.Key, document.Revision)
		if !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrConflict) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// stopRestored stops all channels, for Config.RestoreStopped.
func (r *reconciler) stopRestored(ctx context.Context) error {
	for _, e := range r.channels.all() {
		if err := r.stopUnchanged(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// stopUnchanged stops a channel that is as it was when this instance started. A
// channel that a client has created or changed since then stays as it is.
func (r *reconciler) stopUnchanged(ctx context.Context, e *entry) error {
	if err := e.take(ctx); err != nil {
		return err
	}
	defer e.give()
	w, revision := e.stored()
	if revision != e.loaded || !e.wanted() {
		return nil
	}
	w.Stopped = true
	next, err := r.records.update(ctx, e.id, revision, w)
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrConflict) {
		return nil
	}
	if err == nil {
		e.noteStored(w, next)
	}
	return err
}

// distribute gives every instance its share. An instance takes the leases of free
// channels until it has its share: the number of channels divided by that of the
// living instances, rounded up. An instance that has more, because others have
// joined, gives the excess back, once no instance has joined or left for the time
// of a lease. All shares together are at least as many as there are channels, so
// that every channel finds an instance; only what exceeds a share is given back,
// so that no channel moves twice. A channel without a lease for twice the time of
// a lease, because the instances with room cannot take it, is taken by any
// instance that can, and kept.
func (r *reconciler) distribute(ctx context.Context) error {
	f := r.fleet
	if !f.Fresh() || f.IsRestoring() {
		return nil
	}
	own := f.Session()
	var unassigned, ours []*entry
	running := 0
	var errs []error
	for _, e := range r.channels.all() {
		e.mu.Lock()
		who, removing := e.standingLocked(own), e.config.Removing && !e.removed
		wanted, over := e.isWantedLocked() && !e.config.Distributed, e.possession.sinceFreed()
		adopted := e.possession.adopted
		e.mu.Unlock()
		if removing && who == free {
			_, err := acquireLease(ctx, e)
			errs = append(errs, err)
		}
		if !wanted {
			continue
		}
		running++
		switch {
		case who == mine && !adopted:
			ours = append(ours, e)
		case who == free && over > 2*f.Duration():
			if taken, err := acquireLease(ctx, e); taken || err != nil {
				e.mu.Lock()
				e.possession.adopted = taken
				e.mu.Unlock()
				errs = append(errs, err)
			}
		case who == free:
			unassigned = append(unassigned, e)
		}
	}
	instances, stable := f.Size()
	share := (running + instances - 1) / instances
	rand.Shuffle(len(unassigned), func(i, j int) { unassigned[i], unassigned[j] = unassigned[j], unassigned[i] })
	for _, e := range unassigned {
		if len(ours) >= share {
			break
		}
		taken, err := acquireLease(ctx, e)
		errs = append(errs, err)
		if taken {
			ours = append(ours, e)
		}
	}
	if len(ours) > share && stable > f.Duration() {
		for _, e := range ours[share:] {
			e.mu.Lock()
			e.possession.yield = true
			e.mu.Unlock()
		}
	}
	return errors.Join(errs...)
}
