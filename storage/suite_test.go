package storage_test

import (
	"testing"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/storagetest"
)

func TestMemoryDocuments_conforms(t *testing.T) {
	storagetest.Documents(t, func(*testing.T) storage.Documents { return storage.NewMemoryDocuments() })
}

func TestMemoryBlobs_conforms(t *testing.T) {
	storagetest.Blobs(t, func(*testing.T) storage.Blobs { return storage.NewMemoryBlobs() })
}

// The neighbours' keys surround the prefix, so that a wrapper that looks over
// its fence fails.
const prefix = "shared/\U0010ffff/"

var neighbours = []string{
	"shared/\U0010ffff", "shared/\U0010ffff.", "shared/\U0010ffff0", "shared", "a", "\U0010ffff",
	"shared/\U0010ffff\U0010ffff",
}

func TestPrefixed_conforms(t *testing.T) {
	storagetest.Documents(t, func(t *testing.T) storage.Documents {
		shared := storage.NewMemoryDocuments()
		for _, key := range neighbours {
			if _, err := shared.Create(t.Context(), key, []byte(`"neighbour"`)); err != nil {
				t.Fatal(err)
			}
		}
		return storage.Prefixed(shared, prefix)
	})
}

func TestPrefixedBlobs_conforms(t *testing.T) {
	storagetest.Blobs(t, func(t *testing.T) storage.Blobs {
		shared := storage.NewMemoryBlobs()
		for _, key := range neighbours {
			writer, err := shared.Create(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := writer.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return storage.PrefixedBlobs(shared, prefix)
	})
}
