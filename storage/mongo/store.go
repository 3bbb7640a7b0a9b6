package mongo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/iotenablers/enablers/storage"
)

// The collections of the database. Their names are a stored format.
const (
	documentsCollection = "documents"
	blobsCollection     = "blobs"
	countersCollection  = "counters"
	filesCollection     = "fs.files"  // of GridFS
	chunksCollection    = "fs.chunks" // of GridFS
)

// Store is a database. It is created with [New] or [Open] and is safe for
// concurrent use.
type Store struct {
	client    *driver.Client
	hosts     string // for errors, without credentials
	timeout   time.Duration
	log       *slog.Logger
	documents *records[documentBody]
	blobs     *records[blobBody]
	contents  *contents
	closed    atomic.Bool
	close     func() error
	sweeper   sync.WaitGroup
	stop      context.CancelFunc // of the sweeper
	now       func() time.Time
}

// New checks the configuration and returns a store that connects on demand: the
// server need not run yet. The caller closes the store.
func New(config Config) (*Store, error) {
	opts, err := config.clientOptions()
	if err != nil {
		return nil, err
	}
	client, err := driver.Connect(opts)
	if err != nil {
		return nil, errors.New("mongo: Config.URI: the driver refuses it (not shown, for it may hold credentials)")
	}
	database := client.Database(config.Database)
	revisions := newRevisions(database.Collection(countersCollection))
	s := &Store{
		client:    client,
		hosts:     strings.Join(opts.Hosts, ","),
		timeout:   cmp.Or(config.Timeout, 30*time.Second),
		log:       config.Logger,
		documents: &records[documentBody]{database.Collection(documentsCollection), revisions},
		blobs:     &records[blobBody]{database.Collection(blobsCollection), revisions},
		contents:  newContents(database),
		now:       time.Now,
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.close = sync.OnceValue(s.disconnect)
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.sweeper.Go(func() { s.sweepForever(ctx) })
	return s, nil
}

// Open is [New] with a check of the server: it returns an error that names the
// hosts unless the server answers and accepts the credentials.
func Open(ctx context.Context, config Config) (*Store, error) {
	store, err := New(config)
	if err != nil {
		return nil, err
	}
	if err := store.Ping(ctx); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// Ping returns nil if the server answers and accepts the credentials.
func (s *Store) Ping(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("open mongo store at %s: %w", s.hosts, err)
	}
	limited, cancel := s.limit(ctx)
	defer cancel()
	if err := s.client.Ping(limited, nil); err != nil {
		return fmt.Errorf("open mongo store at %s: %w", s.hosts, s.explain(ctx, err))
	}
	return nil
}

// Hosts returns the HOST:PORT of every host of the configuration, separated by
// commas and without credentials.
func (s *Store) Hosts() string { return s.hosts }

// Documents returns the documents of the store. They are closed with it.
func (s *Store) Documents() *Documents { return &Documents{store: s} }

// Blobs returns the blobs of the store. They are closed with it.
func (s *Store) Blobs() *Blobs { return &Blobs{store: s} }

// Close waits for the calls that are running, for as long as one call may take,
// and ends the connections. Later calls return [storage.ErrClosed], also those
// of open blob writers and readers. A second Close returns the same error.
func (s *Store) Close() error { return s.close() }

func (s *Store) disconnect() error {
	s.closed.Store(true)
	s.stop()
	s.sweeper.Wait()
	ctx, cancel := s.limit(context.Background())
	defer cancel()
	if err := s.client.Disconnect(ctx); err != nil {
		return fmt.Errorf("close mongo store: %w", err)
	}
	return nil
}

// limit returns the context of one call.
func (s *Store) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.timeout)
}

// admit returns an error if a call must not begin: an ended context, an invalid
// key, a closed store.
func (s *Store) admit(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := storage.ValidKey(key); err != nil {
		return err
	}
	return s.open()
}

// admitListing is admit for listings, whose texts may be empty.
func (s *Store) admitListing(ctx context.Context, texts ...string) error {
	for _, text := range texts {
		if text != "" {
			if err := storage.ValidKey(text); err != nil {
				return err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.open()
}

func (s *Store) open() error {
	if s.closed.Load() {
		return storage.ErrClosed
	}
	return nil
}
