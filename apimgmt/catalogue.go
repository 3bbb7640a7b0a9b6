package apimgmt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/storage"
)

const (
	catalogueKey = "catalogue"
	recordPrefix = "enabler/"

	catalogueFormat = 1
	// maxRecord is how long a record may be; it has to fit into the catalogue.
	maxRecord = 4 << 20
)

// catalogue is the document that every change begins and ends with.
type catalogue struct {
	Format int `json:"format"`
	// Serial counts the changes.
	Serial uint64 `json:"serial"`
	// Intent is the change that is under way.
	Intent *intent `json:"intent,omitempty"`
	// Doubtful are the keys of enablers of which the gateway may not serve what
	// their records say.
	Doubtful []string `json:"doubtful,omitempty"`

	revision storage.Revision
}

// intent is a change that is decided and not yet finished.
type intent struct {
	ID     string    `json:"id"`
	Op     string    `json:"op"`
	Holder string    `json:"holder"`
	At     time.Time `json:"at"`
	Key    string    `json:"key"`
	After  record    `json:"after"`
	// Routing is whether the gateway has to be told.
	Routing bool `json:"routing"`
}

// doubt returns the catalogue with a key among the doubtful ones, or not.
func (c catalogue) doubt(key string, doubtful bool) catalogue {
	c.Doubtful = slices.DeleteFunc(slices.Clone(c.Doubtful), func(k string) bool { return k == key })
	if doubtful {
		c.Doubtful = append(c.Doubtful, key)
	}
	return c
}

// load reads the catalogue, and creates it at first.
func (p *Publisher) load(ctx context.Context) (catalogue, error) {
	for {
		doc, err := p.docs.Get(ctx, catalogueKey)
		switch {
		case errors.Is(err, storage.ErrNotFound):
			data, err := json.Marshal(catalogue{Format: catalogueFormat})
			if err != nil {
				return catalogue{}, err
			}
			if _, err := p.docs.Create(ctx, catalogueKey, data); err != nil && !errors.Is(err, storage.ErrExists) {
				return catalogue{}, fmt.Errorf("create the catalogue: %w", err)
			}
			continue
		case err != nil:
			return catalogue{}, fmt.Errorf("read the catalogue: %w", err)
		}
		var made catalogue
		if err := json.Unmarshal(doc.Data, &made); err != nil {
			return catalogue{}, fmt.Errorf("read the catalogue: %w", err)
		}
		if made.Format != catalogueFormat {
			return catalogue{}, fmt.Errorf("read the catalogue: its format is %d, not %d", made.Format, catalogueFormat)
		}
		made.revision = doc.Revision
		return made, nil
	}
}

// save replaces the catalogue if it is still the one that was loaded.
func (p *Publisher) save(ctx context.Context, c catalogue) (catalogue, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return c, err
	}
	revision, err := p.docs.Update(ctx, catalogueKey, c.revision, data)
	if err != nil {
		return c, fmt.Errorf("write the catalogue: %w", err)
	}
	c.revision = revision
	return c, nil
}

// snapshot is every record at one revision of the catalogue. It does not change.
type snapshot struct {
	catalogue catalogue
	records   map[string]record
	keys      []string // in order
}

// snapshot reads all records. They are consistent if no change is under way, and
// are kept for the next one who asks. Of several who read at a time only the one
// with the turn has to be exact: it decides at the revision that it has read.
func (p *Publisher) snapshot(ctx context.Context) (*snapshot, error) {
	at, err := p.load(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	kept := p.kept
	p.mu.Unlock()
	if kept != nil && kept.catalogue.revision == at.revision {
		return kept, nil
	}
	made := &snapshot{catalogue: at, records: map[string]record{}}
	for doc, err := range storage.All(ctx, p.docs, recordPrefix) {
		if err != nil {
			return nil, fmt.Errorf("read the records: %w", err)
		}
		var r record
		if err := json.Unmarshal(doc.Data, &r); err != nil {
			return nil, fmt.Errorf("read record %q: %w", doc.Key, err)
		}
		if r.Removed == nil {
			made.records[strings.TrimPrefix(doc.Key, recordPrefix)] = r
		}
	}
	made.keys = slices.Sorted(maps.Keys(made.records))
	again, err := p.load(ctx)
	if err != nil {
		return nil, err
	}
	if at.Intent == nil && again.revision == at.revision {
		p.keep(made)
	}
	return made, nil
}

// after is the snapshot with the record of a change that was made on it.
func (s *snapshot) after(c catalogue, key string, r record) *snapshot {
	made := &snapshot{catalogue: c, records: maps.Clone(s.records), keys: s.keys}
	i, found := slices.BinarySearch(s.keys, key)
	switch {
	case r.Removed != nil:
		delete(made.records, key)
		if found {
			made.keys = slices.Concat(s.keys[:i], s.keys[i+1:])
		}
	default:
		made.records[key] = r
		if !found {
			made.keys = slices.Concat(s.keys[:i], []string{key}, s.keys[i:])
		}
	}
	return made
}

// keep remembers a snapshot, and forgets the contents that are not routed in it.
func (p *Publisher) keep(s *snapshot) {
	routed := map[string]bool{}
	for _, r := range s.records {
		for _, e := range r.routed() {
			routed[e.Upload] = true
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = s
	maps.DeleteFunc(p.contents, func(upload string, _ *content) bool { return !routed[upload] })
}

// get finds a record by the name of its enabler.
func (s *snapshot) get(op, enabler string) (string, record, error) {
	key := keyOf(enabler)
	r, ok := s.records[key]
	if !ok {
		return key, record{}, notFound(op, clip(enabler), "there is no enabler of that name")
	}
	return key, r, nil
}
