package rest_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/storage"
)

// fullDocuments is a store that may have no space.
type fullDocuments struct {
	storage.Documents
	full atomic.Bool
}

func (d *fullDocuments) Space(context.Context) error {
	if d.full.Load() {
		return storage.ErrFull
	}
	return nil
}

func (d *fullDocuments) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	if err := d.Space(ctx); err != nil {
		return 0, err
	}
	return d.Documents.Create(ctx, key, data)
}

func (d *fullDocuments) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	if err := d.Space(ctx); err != nil {
		return 0, err
	}
	return d.Documents.Update(ctx, key, prev, data)
}

func TestNewHandler_answers507WhileTheStorageIsFull(t *testing.T) {
	docs := &fullDocuments{Documents: storage.NewMemoryDocuments()}
	i := nodetest.Start(t, nodetest.NewConfig(node.Server, nodetest.NewPlane("eth0"), docs))
	docs.full.Store(true)
	status, answer := i.Ask("POST", "/tunnel/client/add", nodetest.Object{})
	require.Equal(t, http.StatusInsufficientStorage, status)
	require.Contains(t, answer, "the storage is full")
	status, answer = i.Ask("GET", "/readyz", nil)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, answer, "no space")
	docs.full.Store(false)
	i.Do(http.StatusCreated, "POST", "/tunnel/client/add", nodetest.Object{})
	status, _ = i.Ask("GET", "/readyz", nil)
	require.Equal(t, http.StatusOK, status)
}
