package drivers

import (
	"context"
	"strings"

	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/journal"
)

// journalDriver opens journals.
func journalDriver() stores.Driver {
	return stores.Driver{Schemes: []string{"journal"}, Form: "journal:FILE", Open: openJournal}
}

func openJournal(_ context.Context, s *stores.Stores, where string) (storage.Documents, storage.Blobs, error) {
	store, err := journal.Open(strings.TrimPrefix(where, "journal:"))
	if err != nil {
		return nil, nil, err
	}
	s.Closing(store.Close)
	return store.Documents(), store.Blobs(), nil
}
