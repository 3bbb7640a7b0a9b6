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

// driver opens the stores of one kind. To add a kind, add its driver to drivers.
type driver struct {
	schemes []string // of the URLs that name such a store
	form    string   // of these URLs, for help texts and errors
	// blobsOnly is set for stores without documents, which are for -blobs alone.
	blobsOnly bool
	open      func(ctx context.Context, s *Stores, where string) (storage.Documents, storage.Blobs, error)
}

// The forms of stores that a program may be built without.
const (
	mongodbForm = "mongodb://HOST[/DATABASE]"
	s3Form      = "s3://HOST/BUCKET[/PREFIX]"
)

// drivers returns all drivers, in the order of the help texts.
func drivers() []driver {
	return []driver{
		{schemes: []string{"disk"}, form: "disk:DIR", open: openFolder},
		{schemes: []string{"memory"}, form: "memory:", open: openMemory},
		mongodbDriver(),
		s3Driver(),
	}
}

// storeForms are the forms of -store, and blobForms those of -blobs, for help texts and errors.
func storeForms() string {
	return join(slices.DeleteFunc(drivers(), func(d driver) bool { return d.blobsOnly }))
}

func blobForms() string { return join(drivers()) }

func join(kinds []driver) string {
	forms := make([]string, len(kinds))
	for i, d := range kinds {
		forms[i] = d.form
	}
	last := len(forms) - 1
	return strings.Join(forms[:last], ", ") + " or " + forms[last]
}

// open opens one store by its scheme. Its documents are nil if it keeps blobs alone. No error
// shows a URL, because it may contain credentials. A URL that is not valid is an error of usage.
func (s *Stores) open(ctx context.Context, where string) (storage.Documents, storage.Blobs, error) {
	scheme, _, found := strings.Cut(where, ":")
	if !found {
		return nil, nil, cli.Usage(fmt.Errorf("%q has no scheme; expected %s", where, blobForms()))
	}
	for _, d := range drivers() {
		if slices.Contains(d.schemes, scheme) {
			return d.open(ctx, s, where)
		}
	}
	return nil, nil, cli.Usage(fmt.Errorf("the scheme %q is not known; expected %s", scheme, blobForms()))
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
