package apimgmt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/internal/keep"
	"github.com/iotenablers/enablers/storage"
)

const (
	headKey      = "catalogue"
	recordPrefix = "enabler/"

	headFormat = 1
	// maxRecord is the greatest length of a record; it has to fit into the head.
	maxRecord = 4 << 20
)

// head is the document "catalogue", which every change begins and ends with. Its fields
// are a stored format.
type head struct {
	Format int `json:"format"`
	// Serial counts the changes.
	Serial uint64 `json:"serial"`
	// Pending is the change that is under way.
	Pending *pendingChange `json:"intent,omitempty"`
	// Unconfirmed are the keys of enablers of which the gateway may serve something else
	// than their records say.
	Unconfirmed []string `json:"doubtful,omitempty"`

	revision storage.Revision
	unknown  keep.Members
}

// pendingChange is a change that is prepared and not yet committed or rolled back.
type pendingChange struct {
	ID     string    `json:"id" keep:"key"`
	Op     string    `json:"op"`
	Holder string    `json:"holder"`
	At     time.Time `json:"at"`
	Key    string    `json:"key"`
	// Desired is the record that the change writes.
	Desired record `json:"after"`
	// Routing reports whether the change is applied to the gateway.
	Routing bool `json:"routing"`
}

var (
	headType   = keep.TypeFor[head]()
	recordType = keep.TypeFor[record]()
)

// unconfirmed returns the head with a key among the unconfirmed ones, or without it.
func (h head) unconfirmed(key string, unconfirmed bool) head {
	h.Unconfirmed = slices.DeleteFunc(slices.Clone(h.Unconfirmed), func(k string) bool { return k == key })
	if unconfirmed {
		h.Unconfirmed = append(h.Unconfirmed, key)
	}
	return h
}

// catalogue reads and writes the head and the records. It is safe for concurrent use.
type catalogue struct {
	docs  storage.Documents
	files *files

	mu     sync.Mutex
	cached *snapshot
}

// loadHead reads the head. The first call creates it.
func (c *catalogue) loadHead(ctx context.Context) (head, error) {
	doc, err := storage.Change(ctx, c.docs, headKey, func(found storage.Document) ([]byte, error) {
		if found.Revision != 0 {
			return nil, nil
		}
		return json.Marshal(head{Format: headFormat})
	})
	if err != nil {
		return head{}, fmt.Errorf("read the catalogue: %w", err)
	}
	var h head
	if h.unknown, err = headType.Unmarshal(doc.Data, &h); err != nil {
		return head{}, fmt.Errorf("read the catalogue: %w", err)
	}
	if h.Pending != nil {
		h.Pending.Desired.unknown = h.unknown.At(pendingPath()...)
	}
	if h.Format != headFormat {
		return head{}, fmt.Errorf("read the catalogue: its format is %d, not %d", h.Format, headFormat)
	}
	h.revision = doc.Revision
	return h, nil
}

// pendingPath is where the head has the record of the pending change.
func pendingPath() []string { return []string{"intent", "after"} }

// saveHead replaces the head if it is still the one that was loaded.
func (c *catalogue) saveHead(ctx context.Context, h head) (head, error) {
	if h.Pending != nil {
		h.unknown = h.unknown.Put(h.Pending.Desired.unknown, pendingPath()...)
	}
	data, unknown, err := h.unknown.MarshalKept(h)
	if err != nil {
		return h, err
	}
	revision, err := c.docs.Update(ctx, headKey, h.revision, data)
	if err != nil {
		return h, fmt.Errorf("write the catalogue: %w", err)
	}
	h.revision, h.unknown = revision, unknown
	return h, nil
}

// readStale reports whether an error may come from a blob that was there when the head
// was read, and that another change has deleted since.
func (c *catalogue) readStale(ctx context.Context, h head, err error) bool {
	if !errors.Is(err, storage.ErrNotFound) {
		return false
	}
	now, loadErr := c.loadHead(ctx)
	return loadErr == nil && now.revision != h.revision
}

// record reads the record of a key. Without one it is the zero record.
func (c *catalogue) record(ctx context.Context, key string) (record, error) {
	doc, err := c.docs.Get(ctx, recordPrefix+key)
	if errors.Is(err, storage.ErrNotFound) {
		return record{}, nil
	}
	if err != nil {
		return record{}, fmt.Errorf("read record %q: %w", key, err)
	}
	return decodeRecord(doc)
}

func decodeRecord(doc storage.Document) (record, error) {
	var r record
	var err error
	if r.unknown, err = recordType.Unmarshal(doc.Data, &r); err != nil {
		return record{}, fmt.Errorf("read record %q: %w", doc.Key, err)
	}
	return r, nil
}

// settle writes what becomes of the record of a key by the change with a serial, unless a process
// has committed the change or rolled it back already. It returns what has become of it.
func (c *catalogue) settle(ctx context.Context, key string, serial uint64, next func(record) record) (outcome, error) {
	var done outcome
	_, err := storage.Change(ctx, c.docs, recordPrefix+key, func(found storage.Document) ([]byte, error) {
		var current record
		if found.Revision != 0 {
			var err error
			if current, err = decodeRecord(found); err != nil {
				return nil, err
			}
		}
		if done = current.outcome(serial); done != open {
			return nil, nil
		}
		desired := next(current)
		desired.RolledBack = max(desired.RolledBack, current.RolledBack)
		done = desired.outcome(serial)
		return desired.unknown.Marshal(desired)
	})
	if err != nil {
		return open, fmt.Errorf("settle record %q: %w", key, err)
	}
	return done, nil
}

// snapshot is every record at one revision of the head. It does not change.
type snapshot struct {
	head    head
	records map[string]record
	keys    []string // in order
}

// snapshot reads all records. They are consistent if no change is pending, and are
// cached for the next call. A change is committed at the revision of the snapshot that it
// was prepared on, so that of several at a time only one succeeds.
func (c *catalogue) snapshot(ctx context.Context) (*snapshot, error) {
	h, err := c.loadHead(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	cached := c.cached
	c.mu.Unlock()
	if cached != nil && cached.head.revision == h.revision {
		return cached, nil
	}
	s := &snapshot{head: h, records: map[string]record{}}
	for doc, err := range storage.All(ctx, c.docs, recordPrefix) {
		if err != nil {
			return nil, fmt.Errorf("read the records: %w", err)
		}
		r, err := decodeRecord(doc)
		if err != nil {
			return nil, err
		}
		if r.Removed == nil {
			s.records[strings.TrimPrefix(doc.Key, recordPrefix)] = r
		}
	}
	s.keys = slices.Sorted(maps.Keys(s.records))
	again, err := c.loadHead(ctx)
	if err != nil {
		return nil, err
	}
	if h.Pending == nil && again.revision == h.revision {
		c.cache(s)
	}
	return s, nil
}

// cache keeps a snapshot, and the contents of the versions that are routed in it.
func (c *catalogue) cache(s *snapshot) {
	c.mu.Lock()
	c.cached = s
	c.mu.Unlock()
	c.files.keepRouted(s)
}

// with is the snapshot with the record of a change that was prepared on it.
func (s *snapshot) with(h head, key string, r record) *snapshot {
	next := &snapshot{head: h, records: maps.Clone(s.records), keys: s.keys}
	i, found := slices.BinarySearch(s.keys, key)
	switch {
	case r.Removed != nil:
		delete(next.records, key)
		if found {
			next.keys = slices.Concat(s.keys[:i], s.keys[i+1:])
		}
	default:
		next.records[key] = r
		if !found {
			next.keys = slices.Concat(s.keys[:i], []string{key}, s.keys[i:])
		}
	}
	return next
}

// get finds a record by the name of its enabler.
func (s *snapshot) get(op, enabler string) (string, record, error) {
	key := enablerKey(enabler)
	r, ok := s.records[key]
	if !ok {
		return key, record{}, notFound(op, clip(enabler), "there is no enabler of that name")
	}
	return key, r, nil
}

// version finds a version of an enabler.
func (s *snapshot) version(op, enabler, version string) (string, record, edition, error) {
	key, r, err := s.get(op, enabler)
	if err != nil {
		return key, r, edition{}, err
	}
	e := r.find(version)
	if e == nil {
		return key, r, edition{}, notFound(op, r.Enabler, fmt.Sprintf("there is no version %q", clip(version)))
	}
	return key, r, *e, nil
}

// name is the name of an enabler, or its key if there is no record.
func (s *snapshot) name(key string) string {
	if r, ok := s.records[key]; ok {
		return r.Enabler
	}
	return key
}
