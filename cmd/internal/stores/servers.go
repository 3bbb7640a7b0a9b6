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
	"github.com/iotenablers/enablers/storage"
)

// DatabaseName returns the name of the database that a connection string has for its path, and
// otherwise the default. There may be several hosts, which package url does not parse.
func DatabaseName(uri, otherwise string) (string, error) {
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

// database is a database on a server.
type database struct {
	documents storage.Documents
	hosts     string
}

// servers are the servers that stores need.
type servers struct {
	databases []database // that of documents first
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
		if err = datafolder.Mark(ctx, database.documents, s.config.Owner); err != nil {
			return fmt.Errorf("open the database at %s: %w", database.hosts, err)
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
