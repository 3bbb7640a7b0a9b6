package modelrepo_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/iotenablers/enablers/modelrepo/modelrepotest"
	"github.com/iotenablers/enablers/storage"
)

// slowDocuments yields to other goroutines before and after each operation.
type slowDocuments struct{ storage.Documents }

func delay() {
	for range rand.N(20) {
		runtime.Gosched()
	}
}

func (d slowDocuments) Get(ctx context.Context, key string) (storage.Document, error) {
	delay()
	defer delay()
	return d.Documents.Get(ctx, key)
}

func (d slowDocuments) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	delay()
	defer delay()
	return d.Documents.Create(ctx, key, data)
}

func (d slowDocuments) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	delay()
	defer delay()
	return d.Documents.Update(ctx, key, prev, data)
}

func (d slowDocuments) Delete(ctx context.Context, key string, prev storage.Revision) error {
	delay()
	defer delay()
	return d.Documents.Delete(ctx, key, prev)
}

func (d slowDocuments) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	delay()
	defer delay()
	return d.Documents.List(ctx, prefix, after, limit)
}

func TestStore_endsRacesWellOverMemory(t *testing.T) { modelrepotest.Races(t, openMemory, 40) }

func TestStore_endsRacesWellOverSlowDocuments(t *testing.T) {
	modelrepotest.Races(t, func(t *testing.T) (storage.Documents, storage.Blobs) {
		documents, blobs := openMemory(t)
		return slowDocuments{documents}, blobs
	}, 40)
}

func TestStore_endsRacesWellOverDisk(t *testing.T) { modelrepotest.Races(t, openDisk, 4) }
