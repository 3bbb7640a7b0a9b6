package repository

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/lease"
)

// Config configures a [Store].
type Config struct {
	// Documents keeps the records. Required. Give it a store of its own or a part
	// of one, see [storage.Prefixed]; prefixes have up to 100 bytes.
	Documents storage.Documents
	// Blobs keeps the files. Required, as above.
	Blobs storage.Blobs
	// MaxFile is the greatest size of a file in bytes. Zero means 8 GiB.
	MaxFile int64
	// MaxModel is the greatest size of a model's parameters that [Store.Model]
	// reads into memory, in bytes. Zero means 2 GiB.
	MaxModel int64
	// Strategies makes strategies of stored files. Nil means that only those with
	// the class of a built-in one can be used.
	Strategies Loader
	// MaxStrategy is the greatest size of the file of a strategy that is loaded, in
	// bytes. Zero means 64 MiB.
	MaxStrategy int64
	// Dir is the folder for a model's file while it is read. Empty means that of
	// the operating system.
	Dir string
	// Grace is for how long Collect must find a file that no record names for it to
	// remove it. Zero means 24 hours. An upload that takes longer fails.
	Grace time.Duration
	// Interval is how long Run waits between two collections. Zero means one hour.
	Interval time.Duration
	// Logger logs what Run removes, and what is left to it. Nil is silent.
	Logger *slog.Logger
}

// Store is an FL repository, and a flcollect.Repository. It is safe for concurrent use,
// also by several processes over one storage. Create one with [New].
type Store struct {
	docs   storage.Documents
	blobs  storage.Blobs
	config Config
	log    *slog.Logger

	collecting sync.Mutex // guards unnamed
	unnamed    lease.Observations
}

// largestLimit is greater than any file, with room for sums.
const largestLimit = 1 << 60

// New returns the repository over the two stores. It reads and writes nothing.
func New(config Config) (*Store, error) {
	switch {
	case config.Documents == nil:
		return nil, errors.New("repository: Config.Documents is required")
	case config.Blobs == nil:
		return nil, errors.New("repository: Config.Blobs is required")
	}
	for _, number := range []struct {
		name  string
		value int64
	}{{"MaxFile", config.MaxFile}, {"MaxModel", config.MaxModel}, {"MaxStrategy", config.MaxStrategy},
		{"Grace", int64(config.Grace)}, {"Interval", int64(config.Interval)}} {
		if number.value < 0 {
			return nil, fmt.Errorf("repository: Config.%s is %d, and has to be positive", number.name, number.value)
		}
	}
	config.MaxFile = min(cmp.Or(config.MaxFile, 8<<30), largestLimit)
	config.MaxModel = min(cmp.Or(config.MaxModel, defaultMaxModel), largestLimit)
	config.MaxStrategy = min(cmp.Or(config.MaxStrategy, defaultMaxStrategy), largestLimit)
	config.Grace = cmp.Or(config.Grace, 24*time.Hour)
	config.Interval = cmp.Or(config.Interval, time.Hour)
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	return &Store{docs: config.Documents, blobs: config.Blobs, config: config, log: config.Logger}, nil
}

// Ready returns nil if the storage answers and has space.
func (s *Store) Ready(ctx context.Context) error {
	if _, err := s.docs.Get(ctx, "model/"); err != nil && !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("repository: documents: %w", err)
	}
	if _, err := s.blobs.Stat(ctx, filePrefix); err != nil && !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("repository: blobs: %w", err)
	}
	if err := storage.Space(ctx, s.docs); err != nil {
		return fmt.Errorf("repository: documents: %w", err)
	}
	if err := storage.Space(ctx, s.blobs); err != nil {
		return fmt.Errorf("repository: blobs: %w", err)
	}
	return nil
}

// create stores a new record, which is a decoded JSON document.
func (s *Store) create(ctx context.Context, c collection, document any) error {
	r, err := read(c.form, document)
	if err != nil {
		return err
	}
	key := c.recordKey(r)
	data, err := json.Marshal(r)
	if err != nil {
		return failed("create record", key, err)
	}
	if _, err = s.docs.Create(ctx, key, data); errors.Is(err, storage.ErrExists) {
		return &refusal{"create record", key, ErrExists, c.exists}
	}
	return err
}

// read reads a decoded JSON document that has to be of a form.
func read(as form, document any) (record, error) {
	var wrong faults
	r, _ := as(document, []any{"body"}, &wrong).(record)
	if len(wrong) > 0 {
		return nil, &InvalidError{Faults: wrong}
	}
	return r, nil
}

// get returns a record.
func (s *Store) get(ctx context.Context, c collection, names ...string) (record, storage.Revision, error) {
	key := c.key(names...)
	doc, err := s.docs.Get(ctx, key)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return nil, 0, err
	}
	r, err := c.decode(key, doc)
	return r, doc.Revision, err
}

// decode decodes the document under a key, which may be missing.
func (c collection) decode(key string, doc storage.Document) (record, error) {
	if doc.Revision == 0 {
		return nil, &refusal{"get record", key, ErrNotFound, c.missing}
	}
	var r record
	if err := json.Unmarshal(doc.Data, &r); err != nil {
		return nil, failed("read record", key, err)
	}
	return r, nil
}

// change edits a record. Nothing is written where edit returns false.
func (s *Store) change(ctx context.Context, c collection, edit func(*record) bool, names ...string) error {
	key := c.key(names...)
	_, err := storage.Change(ctx, s.docs, key, func(doc storage.Document) ([]byte, error) {
		r, err := c.decode(key, doc)
		if err != nil || !edit(&r) {
			return nil, err
		}
		data, err := json.Marshal(r)
		if err != nil {
			return nil, failed("change record", key, err)
		}
		return data, nil
	})
	return err
}

// delete removes a record and its file.
func (s *Store) delete(ctx context.Context, c collection, names ...string) error {
	key, file := c.key(names...), ""
	err := storage.Remove(ctx, s.docs, key, func(doc storage.Document) (remove bool, err error) {
		r, err := c.decode(key, doc)
		file = r.text(c.file)
		return true, err
	})
	if errors.Is(err, storage.ErrNotFound) {
		return &refusal{"get record", key, ErrNotFound, c.missing}
	}
	if err != nil {
		return err
	}
	s.discard(ctx, file)
	return nil
}

// Results counts the results of trainings. It reads every record of one, so callers that
// show the number often keep it for a while.
func (s *Store) Results(ctx context.Context) (int, error) {
	n := 0
	for _, err := range s.documents(ctx, results().name+"/") {
		if err != nil {
			return 0, fmt.Errorf("count results: %w", err)
		}
		n++
	}
	return n, nil
}

// recordsPage is how many records a listing reads at a time.
const recordsPage = 64

// list yields the records under a prefix of keys. The first error ends it.
func (s *Store) list(ctx context.Context, prefix string) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		for doc, err := range s.documents(ctx, prefix) {
			var r record
			if err == nil {
				if err = json.Unmarshal(doc.Data, &r); err != nil {
					err = failed("read record", doc.Key, err)
				}
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// documents yields the documents under a prefix of keys, reading few at a time.
func (s *Store) documents(ctx context.Context, prefix string) iter.Seq2[storage.Document, error] {
	return func(yield func(storage.Document, error) bool) {
		after := ""
		for {
			page, err := s.docs.List(ctx, prefix, after, recordsPage)
			if err != nil {
				yield(storage.Document{}, err)
				return
			}
			for _, doc := range page {
				if !yield(doc, nil) {
					return
				}
			}
			if len(page) < recordsPage {
				return
			}
			after = page[len(page)-1].Key
		}
	}
}
