package flcollect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/iotenablers/enablers/storage"
)

// reputationPrefix is that of the documents with reputations. A run has two: one
// that counts, and one that may be of a round that does not count yet.
const reputationPrefix = "reputation/"

func reputationsOf(token string) string { return reputationPrefix + token + "/" }

func reputationKey(token string, slot int) string { return reputationsOf(token) + strconv.Itoa(slot) }

// storedReputations are the reputations after a round.
type storedReputations struct {
	Round   int                   `json:"round"`
	Clients map[string]Reputation `json:"clients"`
}

// recallReputations takes up what was known after the last round that counts.
func (t *training) recallReputations(ctx context.Context) error {
	if t.server.options.TrustClients {
		return nil
	}
	r := t.record()
	err := t.server.insist(ctx, t.id, func() error {
		stored, err := t.server.loadReputations(ctx, r.Token, r.Round)
		if err == nil {
			t.reputations.adopt(stored)
		}
		return err
	})
	if err != nil {
		return stoppedOr(ctx, fmt.Errorf("recall the reputations of clients: %w", err))
	}
	return nil
}

// loadReputations returns the reputations after the last round that counts.
func (s *Server) loadReputations(ctx context.Context, token string, round int) (*reputations, error) {
	loaded, last := newReputations(), -1
	for slot := range 2 {
		doc, err := s.options.Documents.Get(ctx, reputationKey(token, slot))
		if errors.Is(err, storage.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var stored storedReputations
		if err := json.Unmarshal(doc.Data, &stored); err != nil {
			return nil, fmt.Errorf("read %q: %w: %w", doc.Key, errDamaged, err)
		}
		if stored.Round > round {
			loaded.dirty = true // a crash left it; it must not count once its round does
			continue
		}
		if stored.Round > last {
			loaded.slot, loaded.known, last = slot, stored.Clients, stored.Round
		}
	}
	if loaded.known == nil {
		loaded.known = map[string]Reputation{}
	}
	return loaded, nil
}

// storeReputations stores the reputations after a round beside those before it.
func (s *Server) storeReputations(ctx context.Context, token string, round int, r *reputations) error {
	r.mu.Lock()
	dirty, slot, known := r.dirty, 1-r.slot, maps.Clone(r.known)
	r.mu.Unlock()
	if !dirty {
		return nil
	}
	data, err := json.Marshal(storedReputations{Round: round, Clients: known})
	if err != nil {
		return err
	}
	if err := s.put(ctx, reputationKey(token, slot), data); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slot, r.dirty = slot, false
	return nil
}
