package reputation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/internal/keep"
	"github.com/iotenablers/enablers/storage"
)

// Folder returns the prefix of the keys of a run's reputations. A run has two documents:
// one that counts, and one that may be of a round that does not count yet.
func Folder(token string) string { return "reputation/" + token + "/" }

func key(token string, slot int) string { return Folder(token) + strconv.Itoa(slot) }

// document holds the reputations after a round.
type document struct {
	Round   int                          `json:"round"`
	Clients map[string]report.Reputation `json:"clients"`
}

// Load replaces the reputations by the stored ones after the last round that counts.
func (t *Table) Load(ctx context.Context, store persist.Store, token string, round int) error {
	// Where another server may have had the job, it may still write to the slot that is free
	// now. What it writes is replaced with the next round.
	clients, slot, last, dirty := map[string]report.Reputation{}, 0, -1, store.Holds != nil
	var unknown keep.Members
	for at := range 2 {
		doc, err := store.Documents.Get(ctx, key(token, at))
		if errors.Is(err, storage.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		var stored document
		its, err := keep.Unmarshal(doc.Data, &stored)
		if err != nil {
			return fmt.Errorf("read %q: %w: %w", doc.Key, persist.ErrDamaged, err)
		}
		if stored.Round > round {
			dirty = true // a crash left it; it must not count once its round does
			continue
		}
		if stored.Round > last {
			slot, clients, last, unknown = at, stored.Clients, stored.Round, its
		}
	}
	if clients == nil {
		clients = map[string]report.Reputation{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clients, t.slot, t.dirty, t.unknown = clients, slot, dirty, unknown
	return nil
}

// State is what a table holds after a round, for [Table.Save]. Later rounds do not change it.
type State struct {
	clients map[string]report.Reputation
	changed bool // since the state before
}

// State returns what the table holds now. Each state that it returns is to be saved once its
// round counts, in the order of the rounds.
func (t *Table) State() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := State{changed: t.dirty}
	if t.dirty {
		s.clients, t.dirty = maps.Clone(t.clients), false
	}
	return s
}

// Save stores the state after a round beside the one before it.
func (t *Table) Save(ctx context.Context, store persist.Store, token string, round int, state State) error {
	if !state.changed {
		return nil
	}
	t.mu.Lock()
	slot, unknown := 1-t.slot, t.unknown
	t.mu.Unlock()
	data, unknown, err := unknown.MarshalKept(document{Round: round, Clients: state.clients})
	if err != nil {
		return err
	}
	if err := store.Put(ctx, key(token, slot), data); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slot, t.unknown = slot, unknown
	return nil
}
