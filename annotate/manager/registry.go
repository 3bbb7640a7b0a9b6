package manager

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// registry holds the channels of a service by identifier. All methods are safe
// for concurrent use.
type registry struct {
	mu      sync.RWMutex
	entries map[string]*entry
}

func newRegistry() *registry { return &registry{entries: map[string]*entry{}} }

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

// get returns the entry of an identifier, listed or not; nil when there is none.
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
	for _, other := range r.entries {
		if err := e.config.CheckSessions(other.settings()); err != nil {
			return err
		}
	}
	r.entries[e.id] = e
	return nil
}

// list makes an entry visible.
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
