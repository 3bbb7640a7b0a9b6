package lease

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// Holder is a lease that has not run out.
type Holder struct {
	// Key is that of the lease.
	Key string
	// Session is the one that holds it.
	Session string
	// Value is [Config].Value of the holder.
	Value json.RawMessage
}

// Watcher finds out which leases below a prefix have run out. It belongs to one goroutine.
// Create one with [NewWatcher].
type Watcher struct {
	documents storage.Documents
	prefix    string
	duration  time.Duration
	seen      map[string]*Observation
}

// NewWatcher returns a watcher of the leases whose keys begin with a prefix, below which
// there is nothing else. A lease has run out when its document has not changed for the
// duration, or for that of the holder if that is longer.
func NewWatcher(documents storage.Documents, prefix string, duration time.Duration) *Watcher {
	return &Watcher{documents: documents, prefix: prefix, duration: duration, seen: map[string]*Observation{}}
}

// Look returns the leases that have not run out, in the order of their keys, and deletes
// the others: their sessions never come back. Call it several times in the duration of a
// lease. A session that was named before Look was called and is not among the result is
// over.
func (w *Watcher) Look(ctx context.Context) ([]Holder, error) {
	var holders []Holder
	there := map[string]bool{}
	for stored, err := range storage.All(ctx, w.documents, w.prefix) {
		if err != nil {
			return nil, err
		}
		there[stored.Key] = true
		seen := w.seen[stored.Key]
		if seen == nil {
			seen = &Observation{}
			w.seen[stored.Key] = seen
		}
		theirs := decode(stored.Data)
		if seen.Unchanged(stored.Revision) >= theirs.patience(w.duration) {
			err := w.documents.Delete(ctx, stored.Key, stored.Revision)
			if err == nil || errors.Is(err, storage.ErrNotFound) {
				delete(there, stored.Key)
				continue
			}
			if !errors.Is(err, storage.ErrConflict) {
				return nil, err
			}
			// It was renewed, or taken by another session: the next look tells.
		}
		holders = append(holders, Holder{Key: stored.Key, Session: theirs.Session, Value: theirs.Value})
	}
	for key := range w.seen {
		if !there[key] {
			delete(w.seen, key)
		}
	}
	return holders, nil
}
