package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/cmd/internal/channelstore"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage"
)

// persistence stores channels and annotations: where the settings say, or not at all.
type persistence struct {
	*stores.Stores        // nil in standalone mode
	secret         string // encrypts user names and passwords; empty means no encryption
}

// openPersistence opens the storage of the settings. It does not wait for a database. It
// generates a secret for a folder only: other programs may have to read a database.
func openPersistence(ctx context.Context, s *settings, secretSetting string, log *slog.Logger) (*persistence, error) {
	if s.standalone {
		if ignored := s.database.names(s.stores); ignored != "" {
			log.Info("standalone mode: nothing is stored, in no database either", "ignored", ignored)
		}
		return &persistence{}, nil
	}
	config := stores.Config{Owner: datafolder.Annotator, Logger: log}
	if s.stores.IsDatabase() || s.stores.Store() == "" && s.database.used() {
		database, err := s.database.config(s.stores)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.database.names(s.stores), err)
		}
		config.Database, config.DatabaseFlags = &database, s.database.names(s.stores)
	}
	kept, err := s.stores.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	p := &persistence{Stores: kept, secret: s.secret}
	switch {
	case kept.Folder() != nil:
		p.secret, err = channelstore.Unlock(ctx,
			channelstore.Config{Dir: kept.Dir, Secret: s.secret, Setting: secretSetting, Logger: log}, kept.Folder())
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", s.stores.Flag(), err), kept.Close())
		}
	case kept.Shared && s.secret == "":
		log.Warn("no encryption secret: user names and passwords of channels are stored in clear in the database", "set", secretSetting)
	}
	return p, nil
}

// documents returns the documents, nil in standalone mode.
func (p *persistence) documents() storage.Documents {
	if p.Stores == nil {
		return nil
	}
	return p.Stores.Documents
}

// isShared reports whether several annotators may have the same documents.
func (p *persistence) isShared() bool { return p.Stores != nil && p.Stores.Shared }

// close closes the storage.
func (p *persistence) close() error {
	if p.Stores == nil {
		return nil
	}
	return p.Stores.Close()
}

// guard completes the configuration of the door.
func (p *persistence) guard(config door.Config) door.Config {
	if p.Stores != nil {
		config.Dir, config.Sessions, config.Shared = p.Dir, p.Access(), p.Shared
	}
	return config
}

// backUp sets what answers at the door, and returns the parts that serve backups.
func (p *persistence) backUp(access *door.Door, log *slog.Logger) []server.Part {
	if p.Stores == nil {
		access.BackUp(backup.Of("", datafolder.Annotator, nil, log).Handler())
		return nil
	}
	access.BackUp(p.Source().Handler())
	return p.Backups()
}

// wait returns when the database answers, as [stores.Stores.Wait] does.
func (p *persistence) wait(ctx context.Context, w stores.Waiting) error {
	if p.Stores == nil {
		return nil
	}
	return p.Wait(ctx, w)
}

// address returns the host and port of the database, for the REST interface.
// The hosts of a replica set are one text, without a port.
func (p *persistence) address() (host string, port int) {
	if !p.isShared() {
		return "", 0
	}
	hosts := p.Hosts()
	host, number, err := net.SplitHostPort(hosts)
	if err == nil {
		port, err = strconv.Atoi(number)
	}
	if err != nil {
		return hosts, 0
	}
	return host, port
}
