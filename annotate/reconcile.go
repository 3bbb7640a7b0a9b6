package annotate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// reconcile looks at the storage again and again, and does what others have
// asked for there.
func (m *Manager) reconcile(ctx context.Context) {
	f := m.fleet
	for {
		err := m.lookAround(ctx)
		if ctx.Err() != nil {
			return
		}
		if f.setFault(err) {
			if err != nil {
				m.config.Logger.Warn("the storage cannot be read, changes of other instances wait", "error", err)
			} else {
				m.config.Logger.Info("the storage can be read")
			}
		}
		_, next := f.overdue()
		next = max(next, f.poll/10)
		f.pause(ctx, next*9/10+rand.N(next/5+1)) // so that instances do not look in step
	}
}

// pause waits until the next look is due, or is asked for. However many ask,
// there are no more than ten looks in the time of one poll.
func (f *fleet) pause(ctx context.Context, due time.Duration) {
	if !wait(ctx, f.poll/10) {
		return
	}
	timer := time.NewTimer(due - f.poll/10)
	defer timer.Stop()
	select {
	case <-f.nudge:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// lookAround reads what is stored and acts on it. The order of the three
// readings matters; see claim.
func (m *Manager) lookAround(ctx context.Context) error {
	f := m.fleet
	ctx, cancel := context.WithTimeout(ctx, max(f.duration, storageTimeout))
	defer cancel()
	look := f.begin()
	claims, err := m.list(ctx, claimPrefix)
	if err != nil {
		return err
	}
	leases, err := m.list(ctx, instancePrefix)
	if err != nil {
		return err
	}
	channels, err := m.list(ctx, channelPrefix)
	if err != nil {
		return err
	}
	sessions := f.see(leases)
	dead, err := f.bury(ctx)
	for _, session := range dead {
		delete(sessions, session)
	}
	m.mergeChannels(channels, look)
	stale := m.mergeClaims(claims, sessions, look)
	if f.session() != "" {
		err = errors.Join(err, m.sweep(ctx, stale), m.decideRestoring(ctx), m.distribute(ctx))
	}
	for _, e := range m.all() {
		if m.unsettled(e) {
			m.settleLater(e)
		}
	}
	if f.fresh() {
		for _, e := range m.all() {
			err = errors.Join(err, m.report(ctx, e))
		}
	}
	return err
}

// list reads all documents under a prefix.
func (m *Manager) list(ctx context.Context, prefix string) ([]storage.Document, error) {
	var documents []storage.Document
	for document, err := range storage.All(ctx, m.config.Documents, prefix) {
		if err != nil {
			return nil, err
		}
		documents = append(documents, document)
	}
	return documents, nil
}

// all returns every entry, also those that clients do not see, by identifier.
func (m *Manager) all() []*entry {
	m.mu.RLock()
	defer m.mu.RUnlock()
	entries := make([]*entry, 0, len(m.entries))
	for _, e := range m.entries {
		if e.listed {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b *entry) int { return cmp.Compare(a.id, b.id) })
	return entries
}

// mergeChannels takes over what is stored about channels. What was written
// here since the look began is newer.
func (m *Manager) mergeChannels(documents []storage.Document, look uint64) {
	found := map[string]bool{}
	for _, document := range documents {
		id := strings.TrimPrefix(document.Key, channelPrefix)
		found[id] = true
		m.mu.RLock()
		e, serving := m.entries[id], m.phase == serving
		creating := e != nil && !e.listed
		m.mu.RUnlock()
		if e == nil && serving {
			e = m.restore(document)
			m.mu.Lock()
			if m.entries[id] == nil {
				m.entries[id] = e
			}
			m.mu.Unlock()
			continue
		}
		if e != nil && !creating {
			m.merge(e, document, look)
		}
	}
	for _, e := range m.all() {
		e.mu.Lock()
		if !found[e.id] && e.stamp < look {
			e.removed = true
		}
		e.mu.Unlock()
	}
}

// merge takes over what is stored about one channel.
func (m *Manager) merge(e *entry, document storage.Document, look uint64) {
	e.mu.Lock()
	known := e.revision == document.Revision || e.stamp >= look || e.removed
	incarnation := e.config.Incarnation
	e.mu.Unlock()
	if known {
		return
	}
	b := decodeBookkeeping(document.Data)
	var w wish
	var err error
	if b.Incarnation == incarnation {
		w, err = decodeRecord(document.Data, m.sealer)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stamp >= look {
		return
	}
	switch {
	case b.Incarnation != incarnation:
		e.removed = true
		m.fleet.look() // for the one that came after it
	case err != nil:
		// What it is cannot be read here, only what is to happen to it.
		e.config.keep(b)
		e.revision = document.Revision
	default:
		w.Settings.ChannelID = e.id
		e.config, e.revision = w, document.Revision
	}
}

// mergeClaims takes over who runs what. It returns the claims on channels that
// are gone.
func (m *Manager) mergeClaims(documents []storage.Document, sessions map[string]bool, look uint64) (stale []storage.Document) {
	found := map[string]storage.Document{}
	for _, document := range documents {
		found[strings.TrimPrefix(document.Key, claimPrefix)] = document
	}
	now := time.Now()
	own := m.fleet.session()
	m.mu.RLock()
	defer m.mu.RUnlock()
	for id, e := range m.entries {
		document := found[id]
		delete(found, id)
		e.mu.Lock()
		if p := &e.possession; p.stamp < look {
			if p.revision != document.Revision {
				p.claim, p.revision = decodeClaim(document.Data), document.Revision
			}
			p.alive = p.revision != 0 && sessions[p.claim.Session]
			if p.claim.Session != own {
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
		e.mu.Unlock()
	}
	for _, document := range found {
		if session := decodeClaim(document.Data).Session; session == own || !sessions[session] {
			stale = append(stale, document)
		}
	}
	return stale
}

// sweep removes claims on channels that are gone.
func (m *Manager) sweep(ctx context.Context, stale []storage.Document) error {
	var errs []error
	for _, document := range stale {
		err := m.config.Documents.Delete(ctx, document.Key, document.Revision)
		if !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrConflict) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// decideRestoring stops all channels when Config.RestoreStopped asks for it
// and the whole service starts, rather than one more instance.
func (m *Manager) decideRestoring(ctx context.Context) error {
	f := m.fleet
	if !f.isRestoring() {
		return nil
	}
	first, known := f.firstOfAll()
	if !known {
		return nil
	}
	if first {
		for _, e := range m.all() {
			if err := m.stopRestored(ctx, e); err != nil {
				return err
			}
		}
	}
	f.mu.Lock()
	f.restoring = false
	f.mu.Unlock()
	return f.settled(ctx)
}

// stopRestored stops a channel that is as it was when this instance started.
// What was created or changed since then is somebody's will.
func (m *Manager) stopRestored(ctx context.Context, e *entry) error {
	if err := e.take(ctx); err != nil {
		return err
	}
	defer e.give()
	w, revision := e.wish()
	if revision != e.loaded || !e.wanted() {
		return nil
	}
	stopWish(&w)
	next, err := m.updateDocument(ctx, e.id, revision, w)
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrConflict) {
		return nil
	}
	if err == nil {
		e.noteStored(w, next)
	}
	return err
}

// distribute gives every instance its share. The rule: an instance claims free
// channels until it has as many as divide evenly, rounded up, by the instances
// alive; one that has more, because others have come, gives back what is over,
// once nobody has come or gone for the time of a lease. Since all shares
// together are as many as there are channels, or more, every channel finds
// somebody, and since only what exceeds a share is given back, none moves
// twice. What nobody has claimed for two leases, because those with room
// cannot, is claimed by whoever can and kept.
func (m *Manager) distribute(ctx context.Context) error {
	f := m.fleet
	if !f.fresh() || f.isRestoring() {
		return nil
	}
	own := f.session()
	var unclaimed, ours []*entry
	running := 0
	var errs []error
	for _, e := range m.all() {
		e.mu.Lock()
		who, removing := e.standingIn(own), e.config.Removing && !e.removed
		wanted, over := e.isWanted() && !e.config.Settings.Distributed, sinceFreed(e.possession)
		adopted := e.possession.adopted
		e.mu.Unlock()
		if removing && who == free {
			_, err := m.acquire(ctx, e)
			errs = append(errs, err)
		}
		if !wanted {
			continue
		}
		running++
		switch {
		case who == mine && !adopted:
			ours = append(ours, e)
		case who == free && over > 2*f.duration:
			if taken, err := m.acquire(ctx, e); taken || err != nil {
				e.mu.Lock()
				e.possession.adopted = taken
				e.mu.Unlock()
				errs = append(errs, err)
			}
		case who == free:
			unclaimed = append(unclaimed, e)
		}
	}
	instances, stable := f.size()
	share := (running + instances - 1) / instances
	rand.Shuffle(len(unclaimed), func(i, j int) { unclaimed[i], unclaimed[j] = unclaimed[j], unclaimed[i] })
	for _, e := range unclaimed {
		if len(ours) >= share {
			break
		}
		taken, err := m.acquire(ctx, e)
		errs = append(errs, err)
		if taken {
			ours = append(ours, e)
		}
	}
	if len(ours) > share && stable > f.duration {
		for _, e := range ours[share:] {
			e.mu.Lock()
			e.possession.yield = true
			e.mu.Unlock()
		}
	}
	return errors.Join(errs...)
}

// sinceFreed returns for how long nobody has had a channel.
func sinceFreed(p possession) time.Duration {
	if p.freed.IsZero() {
		return 0
	}
	return time.Since(p.freed)
}

func decodeClaim(data []byte) claim {
	var c claim
	if len(data) > 0 {
		_ = json.Unmarshal(data, &c) // a claim that cannot be read is nobody's
	}
	return c
}
