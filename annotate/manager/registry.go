package manager

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/annotate"
)

// registry holds the channels of a service by identifier. All methods are safe
// for concurrent use.
type registry struct {
	mu      sync.RWMutex
	entries map[string]*entry
	claims  map[*entry]annotate.ChannelConfig // what channels are about to become
}

func newRegistry() *registry {
	return &registry{entries: map[string]*entry{}, claims: map[*entry]annotate.ChannelConfig{}}
}

// find returns a channel that clients see.
func (r *registry) find(id string) (*entry, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if e := r.entries[id]; e != nil && e.listed && !e.isHidden() {
		return e, nil
	}
	return nil, fmt.Errorf("find channel %q: %w", id, ErrChannelNotFound)
}

// visible returns the channels that clients see, by identifier.
func (r *registry) visible() []*entry {
	return slices.DeleteFunc(r.all(), (*entry).isHidden)
}

// all returns every channel that is not still being created, by identifier.
func (r *registry) all() []*entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	entries := make([]*entry, 0, len(r.entries))
	for _, e := range r.entries {
		if e.listed {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b *entry) int { return cmp.Compare(a.id, b.id) })
	return entries
}

// get returns the entry of an identifier, listed or not; nil if absent.
func (r *registry) get(id string) (e *entry, listed bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e = r.entries[id]
	return e, e != nil && e.listed
}

// has reports whether the entry is there.
func (r *registry) has(e *entry) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.entries[e.id] == e
}

// add adds an entry, unless there is one of its identifier.
func (r *registry) add(e *entry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries[e.id] != nil {
		return false
	}
	r.entries[e.id] = e
	return true
}

// reserve adds the entry of a new channel, unless its identifier is taken or
// another channel has one of its sessions.
func (r *registry) reserve(e *entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries[e.id] != nil {
		return fmt.Errorf("create channel %q: %w", e.id, ErrChannelExists)
	}
	if err := r.checkSessionsLocked(e, &e.config.ChannelConfig.ChannelConfig); err != nil {
		return err
	}
	r.entries[e.id] = e
	return nil
}

// claim takes the sessions of a configuration that a channel is about to have, until release,
// unless another channel has one of them.
func (r *registry) claim(e *entry, next annotate.ChannelConfig) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.checkSessionsLocked(e, &next); err != nil {
		return err
	}
	r.claims[e] = next
	return nil
}

// release ends a claim: the channel has its configuration.
func (r *registry) release(e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.claims, e)
}

// checkSessionsLocked returns an error if another channel has, or is about to have, one of
// the sessions. The mutex is held.
func (r *registry) checkSessionsLocked(e *entry, config *annotate.ChannelConfig) error {
	for _, other := range r.entries {
		if other == e {
			continue
		}
		if err := config.CheckSessions(other.settings()); err != nil {
			return err
		}
		if claim, ok := r.claims[other]; ok {
			if err := config.CheckSessions(claim); err != nil {
				return err
			}
		}
	}
	return nil
}

// list shows an entry to clients.
func (r *registry) list(e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.listed = true
}

// drop removes an entry.
func (r *registry) drop(e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries[e.id] == e {
		delete(r.entries, e.id)
	}
}

// each calls do with every entry, also those being created, with the registry
// locked.
func (r *registry) each(do func(*entry)) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, e := range r.entries {
		do(e)
	}
}
