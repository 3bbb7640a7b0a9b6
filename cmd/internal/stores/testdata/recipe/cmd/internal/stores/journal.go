package stores

import (
	"context"
	"strings"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/journal"
)

// journalDriver opens journals.
func journalDriver() driver {
	return driver{schemes: []string{"journal"}, form: "journal:FILE", open: openJournal}
}

func openJournal(_ context.Context, s *Stores, where string) (storage.Documents, storage.Blobs, error) {
	store, err := journal.Open(strings.TrimPrefix(where, "journal:"))
	if err != nil {
		return nil, nil, err
	}
	s.closers = append(s.closers, store.Close)
	return store.Documents(), store.Blobs(), nil
}
