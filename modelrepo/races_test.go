package modelrepo_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/iotenablers/enablers/modelrepo/modelrepotest"
	"github.com/iotenablers/enablers/storage"
)

// dawdling lets others go first before and after each operation.
type dawdling struct{ storage.Documents }

func dawdle() {
	for range rand.N(20) {
		runtime.Gosched()
	}
}

func (d dawdling) Get(ctx context.Context, key string) (storage.Document, error) {
	dawdle()
	defer dawdle()
	return d.Documents.Get(ctx, key)
}

func (d dawdling) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	dawdle()
	defer dawdle()
	return d.Documents.Create(ctx, key, data)
}

func (d dawdling) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	dawdle()
	defer dawdle()
	return d.Documents.Update(ctx, key, prev, data)
}

func (d dawdling) Delete(ctx context.Context, key string, prev storage.Revision) error {
	dawdle()
	defer dawdle()
	return d.Documents.Delete(ctx, key, prev)
}

func (d dawdling) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	dawdle()
	defer dawdle()
	return d.Documents.List(ctx, prefix, after, limit)
}

func TestRacesEndWellOverMemory(t *testing.T) { modelrepotest.Races(t, openMemory, 40) }

func TestRacesEndWellOverSlowDocuments(t *testing.T) {
	modelrepotest.Races(t, func(t *testing.T) (storage.Documents, storage.Blobs) {
		documents, blobs := openMemory(t)
		return dawdling{documents}, blobs
	}, 40)
}

func TestRacesEndWellOverDisk(t *testing.T) { modelrepotest.Races(t, openDisk, 4) }
