package managertest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
)

// ErrDisk is the error of FaultyDocuments.
var ErrDisk = errors.New("disk on fire")

// FaultyDocuments refuse to write while they are Broken.
type FaultyDocuments struct {
	storage.Documents
	Broken atomic.Bool
}

// Create implements storage.Documents.
func (d *FaultyDocuments) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	if d.Broken.Load() {
		return 0, ErrDisk
	}
	return d.Documents.Create(ctx, key, data)
}

// Update implements storage.Documents.
func (d *FaultyDocuments) Update(
	ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error,
) {
	if d.Broken.Load() {
		return 0, ErrDisk
	}
	return d.Documents.Update(ctx, key, prev, data)
}

// Delete implements storage.Documents.
func (d *FaultyDocuments) Delete(ctx context.Context, key string, prev storage.Revision) error {
	if d.Broken.Load() {
		return ErrDisk
	}
	return d.Documents.Delete(ctx, key, prev)
}

// Stored returns everything that a storage holds.
func Stored(t *testing.T, documents storage.Documents) string {
	t.Helper()
	var text strings.Builder
	for document, err := range storage.All(t.Context(), documents, "") {
		require.NoError(t, err)
		text.WriteString(document.Key)
		text.Write(document.Data)
	}
	return text.String()
}
