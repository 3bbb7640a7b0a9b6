package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

// Forms of -store and -blobs, for help texts and errors.
const (
	storeForms = "disk:DIR, memory: or mongodb://HOST[/DATABASE]"
	blobForms  = storeForms + ", or s3://HOST/BUCKET[/PREFIX]"
)

// stores are the stores of the repository and the servers that they need.
type stores struct {
	documents storage.Documents
	blobs     storage.Blobs
	closers   []func() error
	servers   servers
	dir       string                 // the folder of documents; empty if they are elsewhere
	folders   map[string]*disk.Store // those of them that are folders

	patience time.Duration // for a server that does not answer
	log      *slog.Logger
}

// Close closes the stores in the opposite order of their opening.
func (s *stores) Close() error {
	var errs []error
	for len(s.closers) > 0 {
		last := len(s.closers) - 1
		errs = append(errs, s.closers[last]())
		s.closers = s.closers[:last]
	}
	return errors.Join(errs...)
}

// openStores opens what -store and -blobs name. It does not wait for servers.
func openStores(ctx context.Context, s settings, log *slog.Logger) (*stores, error) {
	all := &stores{folders: map[string]*disk.Store{}, patience: s.patience, log: log}
	where, name := cmp.Or(s.store, "disk:"+s.data), "store"
	if s.store == "" {
		name = "data"
	}
	documents, blobs, err := all.open(ctx, where)
	if err == nil && documents == nil {
		err = errors.Join(errors.New("s3: keeps content alone: it is for -blobs, beside a -store for the rest"), all.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("-%s: %w", name, err)
	}
	all.documents, all.blobs = documents, blobs
	if dir, onDisk := strings.CutPrefix(where, "disk:"); onDisk {
		all.dir = dir
	}
	if s.blobs != "" && s.blobs != where {
		_, all.blobs, err = all.open(ctx, s.blobs)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("-blobs: %w", err), all.Close())
		}
	}
	return all, nil
}

// backups returns the parts that serve backups of the folders.
func (s *stores) backups() []server.Part {
	var parts []server.Part
	for _, dir := range slices.Sorted(maps.Keys(s.folders)) {
		parts = append(parts, s.source(dir).Part())
	}
	return parts
}

// backup answers with a backup of the folder of documents, if they are in one.
func (s *stores) backup() http.Handler { return s.source(s.dir).Handler() }

func (s *stores) source(dir string) *backup.Source {
	return backup.Of(dir, datafolder.ModelRepo, s.folders[dir], s.log)
}

// open opens one store by its scheme. Its documents are nil if it keeps blobs
// alone. No error shows a URL, for it may hold credentials.
func (s *stores) open(ctx context.Context, where string) (storage.Documents, storage.Blobs, error) {
	scheme, rest, found := strings.Cut(where, ":")
	if !found {
		return nil, nil, fmt.Errorf("%q has no scheme; expected %s", where, blobForms)
	}
	switch scheme {
	case "memory":
		if rest != "" {
			return nil, nil, errors.New("memory: nothing may follow the scheme")
		}
		return storage.NewMemoryDocuments(), storage.NewMemoryBlobs(), nil
	case "disk":
		if rest == "" {
			return nil, nil, errors.New("disk: needs a folder, as in disk:./data")
		}
		store, err := datafolder.Open(ctx, rest, datafolder.ModelRepo)
		if err != nil {
			return nil, nil, err
		}
		s.closers = append(s.closers, store.Close)
		s.folders[rest] = store
		return store.Documents(), store.Blobs(), nil
	case "mongodb", "mongodb+srv":
		return s.openMongo(where)
	case "s3":
		return s.openS3(where)
	}
	return nil, nil, fmt.Errorf("the scheme %q is not known; expected %s", scheme, blobForms)
}
