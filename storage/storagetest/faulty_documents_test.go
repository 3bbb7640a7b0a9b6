package storagetest

import (
	"context"
	"sync"

	"github.com/iotenablers/enablers/storage"
)

// faultyDocuments is a store in memory with one method replaced.
type faultyDocuments struct {
	storage.Documents
	get    func(ctx context.Context, key string) (storage.Document, error)
	create func(ctx context.Context, key string, data []byte) (storage.Revision, error)
	update func(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error)
	delete func(ctx context.Context, key string, prev storage.Revision) error
	list   func(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error)
}

func (f *faultyDocuments) Get(ctx context.Context, key string) (storage.Document, error) {
	if f.get != nil {
		return f.get(ctx, key)
	}
	return f.Documents.Get(ctx, key)
}

func (f *faultyDocuments) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	if f.create != nil {
		return f.create(ctx, key, data)
	}
	return f.Documents.Create(ctx, key, data)
}

func (f *faultyDocuments) Update(ctx context.Context, key string, prev storage.Revision,
	data []byte) (storage.Revision, error) {
	if f.update != nil {
		return f.update(ctx, key, prev, data)
	}
	return f.Documents.Update(ctx, key, prev, data)
}

func (f *faultyDocuments) Delete(ctx context.Context, key string, prev storage.Revision) error {
	if f.delete != nil {
		return f.delete(ctx, key, prev)
	}
	return f.Documents.Delete(ctx, key, prev)
}

func (f *faultyDocuments) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	if f.list != nil {
		return f.list(ctx, prefix, after, limit)
	}
	return f.Documents.List(ctx, prefix, after, limit)
}

// restartingDocuments counts the revisions of each key from one, and begins
// again when the key is created again.
type restartingDocuments struct {
	good storage.Documents

	mu    sync.Mutex
	count map[string]storage.Revision
	real  map[string]storage.Revision
}

func newRestartingDocuments() storage.Documents {
	return &restartingDocuments{
		good:  storage.NewMemoryDocuments(),
		count: make(map[string]storage.Revision),
		real:  make(map[string]storage.Revision),
	}
}

func (r *restartingDocuments) Get(ctx context.Context, key string) (storage.Document, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	doc, err := r.good.Get(ctx, key)
	doc.Revision = r.count[key]
	return doc, err
}

func (r *restartingDocuments) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	revision, err := r.good.Create(ctx, key, data)
	if err != nil {
		return 0, err
	}
	r.real[key], r.count[key] = revision, 1
	return 1, nil
}

func (r *restartingDocuments) Update(ctx context.Context, key string, prev storage.Revision,
	data []byte) (storage.Revision, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	revision, err := r.good.Update(ctx, key, r.actual(key, prev), data)
	if err != nil {
		return 0, err
	}
	r.real[key] = revision
	r.count[key]++
	return r.count[key], nil
}

func (r *restartingDocuments) Delete(ctx context.Context, key string, prev storage.Revision) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.good.Delete(ctx, key, r.actual(key, prev))
}

func (r *restartingDocuments) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	page, err := r.good.List(ctx, prefix, after, limit)
	for i := range page {
		page[i].Revision = r.count[page[i].Key]
	}
	return page, err
}

// actual returns the good store's revision for one of ours, or zero.
func (r *restartingDocuments) actual(key string, revision storage.Revision) storage.Revision {
	if r.count[key] != revision {
		return 0
	}
	return r.real[key]
}
