package stores

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/storage"
)

// Driver opens the stores of one kind. Package drivers has those that take a client library.
type Driver struct {
	// Schemes are those of the URLs that name such a store.
	Schemes []string
	// Form is that of these URLs, for help texts and errors.
	Form string
	// BlobsOnly is set for stores without documents, which are for -blobs alone.
	BlobsOnly bool
	// Open opens what a URL names. It gives s what has to be closed and waited for.
	Open func(ctx context.Context, s *Stores, where string) (storage.Documents, storage.Blobs, error)
	// Database opens a database that flags of its own describe. Nil means that the kind has none.
	Database func(s *Stores, d Database) (storage.Documents, storage.Blobs, error)
}

// local returns the drivers that every server has, in the order of the help texts.
func local() []Driver {
	return []Driver{
		{Schemes: []string{"disk"}, Form: "disk:DIR", Open: openFolder},
		{Schemes: []string{"memory"}, Form: "memory:", Open: openMemory},
	}
}

// storeForms returns the forms of -store, for help texts.
func storeForms(drivers []Driver) string {
	return forms(slices.DeleteFunc(slices.Clone(drivers), func(d Driver) bool { return d.BlobsOnly }))
}

// forms returns the forms of URLs, for help texts and errors.
func forms(drivers []Driver) string {
	all := make([]string, len(drivers))
	for i, d := range drivers {
		all[i] = d.Form
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// open opens one store by its scheme. Its documents are nil if it keeps blobs alone. No error
// shows a URL, because it may contain credentials. A URL that is not valid is an error of usage.
func (s *Stores) open(ctx context.Context, where string) (storage.Documents, storage.Blobs, error) {
	scheme, _, found := strings.Cut(where, ":")
	if !found {
		return nil, nil, cli.Usage(fmt.Errorf("%q has no scheme; expected %s", where, forms(s.drivers)))
	}
	for _, d := range s.drivers {
		if slices.Contains(d.Schemes, scheme) {
			return d.Open(ctx, s, where)
		}
	}
	return nil, nil, cli.Usage(fmt.Errorf("the scheme %q is not known; expected %s", scheme, forms(s.drivers)))
}

func openMemory(_ context.Context, _ *Stores, where string) (storage.Documents, storage.Blobs, error) {
	if where != "memory:" {
		return nil, nil, cli.Usage(errors.New("memory: nothing may follow the scheme"))
	}
	return storage.NewMemoryDocuments(), storage.NewMemoryBlobs(), nil
}

func openFolder(ctx context.Context, s *Stores, where string) (storage.Documents, storage.Blobs, error) {
	dir := strings.TrimPrefix(where, "disk:")
	if dir == "" {
		return nil, nil, cli.Usage(errors.New("disk: needs a folder, as in disk:./data"))
	}
	store, err := datafolder.Open(ctx, dir, s.config.Owner)
	if err != nil {
		return nil, nil, err
	}
	s.closers = append(s.closers, store.Close)
	s.folders[dir] = store
	return store.Documents(), store.Blobs(), nil
}
