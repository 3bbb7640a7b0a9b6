package s3

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/iotenablers/enablers/storage"
)

// cleanupLimit bounds the time that a failed commit or an abort takes to remove
// its objects. The sweep removes the rest.
const cleanupLimit = 5 * time.Second

// Store is a bucket, or a part of one. It is created with [New] or [Open] and is
// safe for concurrent use.
type Store struct {
	config      Config
	connections *connections
	bucket      *bucket
	closed      atomic.Bool
	stop        context.CancelFunc // of the sweeper
	sweeper     sync.WaitGroup
	now         func() time.Time // by the clock of the server
}

// New checks the configuration and returns a store that connects on demand: the
// server need not run yet. The caller closes the store.
func New(config Config) (*Store, error) {
	s, err := newStore(config)
	if err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	if s.config.SweepInterval > 0 {
		s.sweeper.Go(func() { s.sweepForever(ctx) })
	}
	return s, nil
}

func newStore(config Config) (*Store, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	connections := newConnections(config.Timeout, config.TLS)
	core, err := config.client(connections)
	if err != nil {
		return nil, err
	}
	return &Store{
		config:      config,
		connections: connections,
		bucket:      &bucket{core: core, name: config.Bucket, prefix: config.Prefix},
		now:         connections.now,
	}, nil
}

// Open is [New] with a check of the server: it returns an error unless the
// server answers, accepts the credentials and has the bucket. It creates the
// bucket if [Config].CreateBucket is set.
func Open(ctx context.Context, config Config) (*Store, error) {
	store, err := New(config)
	if err != nil {
		return nil, err
	}
	if config.CreateBucket {
		err = store.create(ctx)
	}
	if err == nil {
		err = store.Ping(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// create creates the bucket unless it is there.
func (s *Store) create(ctx context.Context) error {
	err := s.bucket.ping(ctx)
	if code(err) != minio.NoSuchBucket {
		return nil // Ping returns other errors
	}
	err = s.bucket.core.MakeBucket(ctx, s.config.Bucket, minio.MakeBucketOptions{Region: s.config.Region})
	if err == nil || code(err) == "BucketAlreadyOwnedByYou" {
		return nil
	}
	return fmt.Errorf("create bucket %q: %w", s.config.Bucket, s.explain(err, ctx))
}

// Ping returns nil if the server answers, accepts the credentials and has the
// bucket.
func (s *Store) Ping(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		err = s.open()
	}
	if err == nil {
		err = s.bucket.ping(ctx)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", s.config, s.explain(err, ctx))
	}
	return nil
}

// Blobs returns the blobs of the store. They are closed with it.
func (s *Store) Blobs() *Blobs { return &Blobs{store: s} }

// Close ends the sweep and the unused connections. Later calls return
// [storage.ErrClosed], also those of open blob writers and readers; running
// calls continue. A second Close returns nil.
func (s *Store) Close() error {
	s.closed.Store(true)
	s.stop()
	s.sweeper.Wait()
	s.connections.closeIdle()
	return nil
}

// sweepForever sweeps in every interval. The first time is random, so that
// processes that start together do not sweep together.
func (s *Store) sweepForever(ctx context.Context) {
	wait := rand.N(s.config.SweepInterval)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if _, err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.config.Logger.WarnContext(ctx, "s3: removing what is not needed any more failed, it is tried again",
				"store", s.config.String(), "error", err)
		}
		wait = s.config.SweepInterval
	}
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

func (s *Store) open() error {
	if s.closed.Load() {
		return storage.ErrClosed
	}
	return nil
}

// cleanup runs a clean-up even if the context has ended.
func (s *Store) cleanup(ctx context.Context, run func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer cancel()
	return run(ctx)
}
