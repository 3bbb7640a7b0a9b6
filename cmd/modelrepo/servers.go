package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo"
	"github.com/iotenablers/enablers/storage/s3"
)

// openMongo opens a database by its connection string.
func (s *stores) openMongo(uri string) (storage.Documents, storage.Blobs, error) {
	database, err := databaseOf(uri)
	if err != nil {
		return nil, nil, err
	}
	store, err := mongo.New(mongo.Config{URI: uri, Database: database, SelectTimeout: s.patience, Logger: s.log})
	if err != nil {
		return nil, nil, err
	}
	s.closers = append(s.closers, store.Close)
	s.servers.pings = append(s.servers.pings, store.Ping)
	return store.Documents(), store.Blobs(), nil
}

// databaseOf returns the database that the path of a connection string names, or
// modelrepo if it names none. Package url does not accept several hosts.
func databaseOf(uri string) (string, error) {
	_, rest, _ := strings.Cut(uri, "://")
	rest, _, _ = strings.Cut(rest, "?")
	_, path, _ := strings.Cut(rest, "/")
	name, err := url.PathUnescape(path)
	if err != nil || strings.ContainsAny(name, "/\\. \"$*<>:|?@\x00") {
		// What looks like a path may be the end of a password with a slash.
		return "", errors.New("mongodb: the name of the database, behind the hosts, is not valid (not shown, for it " +
			"may be part of a password that is not percent-encoded)")
	}
	return cmp.Or(name, "modelrepo"), nil
}

// openS3 opens a bucket, or a part of one. The bucket is created when the server
// answers if that is wanted.
func (s *stores) openS3(where string) (storage.Documents, storage.Blobs, error) {
	config, err := s3.ParseURL(where)
	if err != nil {
		return nil, nil, err
	}
	config.Logger = s.log
	store, err := s3.New(config)
	if err != nil {
		return nil, nil, err
	}
	ping := store.Ping
	if config.CreateBucket {
		ping = func(ctx context.Context) error { return createBucket(ctx, config) }
	}
	s.closers = append(s.closers, store.Close)
	s.servers.pings = append(s.servers.pings, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, s.patience)
		defer cancel()
		return ping(ctx)
	})
	return nil, store.Blobs(), nil
}

// createBucket creates the bucket unless it is there.
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
	pings []func(context.Context) error
	away  atomic.Bool // whether one was missed at the start
	there atomic.Bool // whether all have answered
}

// await waits until every server has answered. It logs every attempt that fails.
func (s *servers) await(ctx context.Context, log *slog.Logger) error {
	const pause = time.Second // after the time that an attempt takes
	for {
		var errs []error
		for _, ping := range s.pings {
			errs = append(errs, ping(ctx))
		}
		err := errors.Join(errs...)
		if err == nil {
			if s.away.Load() {
				log.Info("the store answers")
			}
			s.there.Store(true)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		log.Error("the store cannot be used; trying again, not ready until then", "error", err)
		s.away.Store(true)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// part runs the repository's own work as soon as the servers answer. The REST interface
// starts then too, or when the first attempt has failed, so that /healthz and /readyz
// answer in any case.
func (s *servers) part(run func(context.Context) error, log *slog.Logger) server.Part {
	return server.Part{
		Name: "modelrepo",
		Run: func(ctx context.Context) error {
			err := s.await(ctx, log)
			if errors.Is(err, context.Canceled) {
				return nil
			}
			if err != nil {
				return err
			}
			return run(ctx)
		},
		Ready: func() error {
			if s.away.Load() || s.there.Load() {
				return nil
			}
			return fmt.Errorf("the store has not answered yet: %w", storage.ErrUnavailable)
		},
	}
}
