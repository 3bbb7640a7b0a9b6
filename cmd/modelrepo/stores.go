package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

// stores are what the repository persists through, and how to close it.
type stores struct {
	documents storage.Documents
	blobs     storage.Blobs
	closers   []func() error
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

// openStores opens what -store and -blobs name.
func openStores(s settings) (*stores, error) {
	all := &stores{}
	where := cmp.Or(s.store, "disk:"+s.data)
	documents, blobs, err := all.open(where)
	if err != nil {
		flag := "store"
		if s.store == "" {
			flag = "data"
		}
		return nil, fmt.Errorf("-%s: %w", flag, err)
	}
	all.documents, all.blobs = documents, blobs
	if s.blobs != "" && s.blobs != where {
		_, all.blobs, err = all.open(s.blobs)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("-blobs: %w", err), all.Close())
		}
	}
	return all, nil
}

// open opens one store by its scheme. A store that keeps only one kind returns
// nil for the other.
func (s *stores) open(where string) (storage.Documents, storage.Blobs, error) {
	scheme, rest, found := strings.Cut(where, ":")
	if !found {
		return nil, nil, fmt.Errorf("%q has no scheme; expected memory: or disk:DIR", where)
	}
	switch scheme {
	case "memory":
		if rest != "" {
			return nil, nil, fmt.Errorf("%q: nothing may follow the scheme", where)
		}
		return storage.NewMemoryDocuments(), storage.NewMemoryBlobs(), nil
	case "disk":
		if rest == "" {
			return nil, nil, errors.New("disk: needs a folder, as in disk:./data")
		}
		store, err := disk.Open(rest, nil)
		if err != nil {
			return nil, nil, err
		}
		s.closers = append(s.closers, store.Close)
		return store.Documents(), store.Blobs(), nil
	}
	return nil, nil, fmt.Errorf("%s has the unknown scheme %q; expected memory: or disk:DIR", withoutSecrets(where), scheme)
}

// withoutSecrets is a URL as it may be shown.
func withoutSecrets(where string) string {
	parsed, err := url.Parse(where)
	if err != nil {
		return "the store"
	}
	return fmt.Sprintf("%q", parsed.Redacted())
}
