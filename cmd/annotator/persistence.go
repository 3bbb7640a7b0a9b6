package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/cmd/internal/channelstore"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
	"github.com/iotenablers/enablers/storage/mongo"
)

// persistence stores channels and annotations: in MongoDB, in a folder, or not at all.
type persistence struct {
	documents storage.Documents // nil in standalone mode
	store     *mongo.Store      // nil without a database
	folder    *disk.Store       // nil without a folder
	secret    string            // encrypts user names and passwords; empty means no encryption
	dir       string            // the data folder; empty if there is none
	close     func() error
	away      atomic.Bool // whether the database was missed at the start
}

// openPersistence opens the storage of the settings. It does not wait for a database. It
// generates a secret for a folder only: other programs may have to read a database.
func openPersistence(ctx context.Context, s *settings, secretSetting string, log *slog.Logger) (*persistence, error) {
	switch {
	case s.standalone:
		if s.database.used() {
			log.Info("standalone mode: nothing is stored, in no database either", "ignored", strings.Join(s.database.given, ", "))
		}
		return &persistence{close: func() error { return nil }}, nil
	case s.database.used():
		config := s.database.config()
		config.Logger = log
		store, err := mongo.New(config)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(s.database.given, ", "), err)
		}
		if s.secret == "" {
			log.Warn("no encryption secret: user names and passwords of channels are stored in clear in the database", "set", secretSetting)
		}
		return &persistence{documents: store.Documents(), store: store, secret: s.secret, close: store.Close}, nil
	}
	folder, err := channelstore.Open(ctx, channelstore.Config{Dir: s.data, Secret: s.secret, Setting: secretSetting, Logger: log})
	if err != nil {
		return nil, fmt.Errorf("-data: %w", err)
	}
	return &persistence{documents: folder.Documents(), folder: folder.Store, secret: folder.Secret, dir: s.data, close: folder.Close}, nil
}

// address returns the host and port of the database, for the REST interface.
// The hosts of a replica set are one text, without a port.
func (p *persistence) address() (host string, port int) {
	if p.store == nil {
		return "", 0
	}
	hosts := p.store.Hosts()
	host, number, err := net.SplitHostPort(hosts)
	if err == nil {
		port, err = strconv.Atoi(number)
	}
	if err != nil {
		return hosts, 0
	}
	return host, port
}

// await waits until the database answers. While it does not, the log says so at
// every attempt.
func (p *persistence) await(ctx context.Context, log *slog.Logger) error {
	const pause = time.Second // after the time that an attempt takes
	if p.store == nil {
		return nil
	}
	for {
		err := p.store.Ping(ctx)
		if err == nil {
			if p.away.Load() {
				log.Info("the database answers")
			}
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		log.Error("the database cannot be used; trying again, not ready until then", "error", err)
		p.away.Store(true)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// part returns the manager as a part of the process. It runs as soon as the database
// answers. The REST interface begins when the manager is ready or the database did not
// answer, so that /healthz and /readyz answer in any case.
func (p *persistence) part(m *manager.Manager, log *slog.Logger) server.Part {
	return server.Part{
		Name: "annotate",
		Run: func(ctx context.Context) error {
			err := p.await(ctx, log)
			if errors.Is(err, context.Canceled) {
				return nil
			}
			if err != nil {
				return err
			}
			return m.Run(ctx)
		},
		Ready: func() error {
			if p.away.Load() {
				return nil
			}
			return m.Err()
		},
	}
}
