package stores

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo"
	"github.com/iotenablers/enablers/storage/s3"
)

// openDatabase opens a database.
func (s *Stores) openDatabase(config mongo.Config) (storage.Documents, storage.Blobs, error) {
	config.Logger = s.log
	store, err := mongo.New(config)
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	s.closers = append(s.closers, store.Close)
	s.servers.databases = append(s.servers.databases, store)
	s.servers.pings = append(s.servers.pings, store.Ping)
	return store.Documents(), store.Blobs(), nil
}

// DatabaseOf returns the name of the database that a connection string has for its path, and
// otherwise the default. There may be several hosts, which package url does not parse.
func DatabaseOf(uri, otherwise string) (string, error) {
	_, rest, _ := strings.Cut(uri, "://")
	rest, _, _ = strings.Cut(rest, "?")
	_, path, _ := strings.Cut(rest, "/")
	name, err := url.PathUnescape(path)
	if err != nil || strings.ContainsAny(name, "/\\. \"$*<>:|?@\x00") {
		// What looks like it may be the end of a password with a slash.
		return "", errors.New("mongodb: the name of the database, behind the hosts, is not valid (not shown, for " +
			"it may be part of a password that is not percent-encoded)")
	}
	return cmp.Or(name, otherwise), nil
}

// openS3 opens a bucket, or a part of one. If the URL asks for it, the bucket is created
// once the server answers.
func (s *Stores) openS3(where string) (storage.Documents, storage.Blobs, error) {
	config, err := s3.ParseURL(where)
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	config.Logger = s.log
	store, err := s3.New(config)
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	ping := store.Ping
	if config.CreateBucket {
		ping = func(ctx context.Context) error { return createBucket(ctx, config) }
	}
	s.closers = append(s.closers, store.Close)
	s.servers.pings = append(s.servers.pings, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, s.timeout)
		defer cancel()
		return ping(ctx)
	})
	return nil, store.Blobs(), nil
}

// createBucket creates the bucket unless it exists.
func createBucket(ctx context.Context, config s3.Config) error {
	config.SweepInterval = -1
	store, err := s3.Open(ctx, config)
	if err != nil {
		return err
	}
	return store.Close()
}

// servers are the servers that stores need.
type servers struct {
	databases []*mongo.Store // that of documents first
	pings     []func(context.Context) error
	last      atomic.Pointer[error] // of the last attempt
}

// try asks every server whether it answers, and marks the databases as those of the block.
func (s *Stores) try(ctx context.Context) (err error) {
	defer func() { s.servers.last.Store(&err) }()
	var errs []error
	for _, ping := range s.servers.pings {
		errs = append(errs, ping(ctx))
	}
	if err = errors.Join(errs...); err != nil {
		return err
	}
	for _, database := range s.servers.databases {
		if err = datafolder.Mark(ctx, database.Documents(), s.config.Owner); err != nil {
			return fmt.Errorf("open the database at %s: %w", database.Hosts(), err)
		}
	}
	return nil
}

// await waits until every server has answered, after an attempt that has failed. It logs each
// further one that fails. A database that belongs to another block is an error at once.
func (s *Stores) await(ctx context.Context) error {
	const pause = time.Second // after the time that an attempt takes
	for {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		err := s.try(ctx)
		switch {
		case err == nil:
			s.log.Info("the " + s.noun() + " answers")
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, datafolder.ErrMarked):
			return err
		}
		s.logFailure(err)
	}
}

func (s *Stores) logFailure(err error) {
	s.log.Error("the "+s.noun()+" cannot be used; trying again, not ready until then", "error", err)
}

// noun is what the log calls the servers.
func (s *Stores) noun() string {
	if s.config.Database != nil {
		return "database"
	}
	return "store"
}
