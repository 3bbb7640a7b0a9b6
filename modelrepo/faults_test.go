package modelrepo_test

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"sync/atomic"

	"github.com/iotenablers/enablers/storage"
)

var errDead = errors.New("the process is dead")

// mortal counts the operations on stores and dies at one of them: from then on
// nothing happens any more. Whether the last operation still happened is up to
// lastWish.
type mortal struct {
	dies     int64 // at which operation; 0 never
	lastWish bool
	before   func(operation int64) // nil does nothing
	cause    error                 // what it then returns; nil means errDead
	count    atomic.Int64
}

// step runs an operation, or does not.
func (m *mortal) step(operation func() error) error {
	n := m.count.Add(1)
	if m.before != nil {
		m.before(n)
	}
	switch {
	case m.dies == 0 || n < m.dies:
		return operation()
	case n == m.dies && m.lastWish:
		_ = operation()
	}
	return cmp.Or(m.cause, errDead)
}

type mortalDocuments struct {
	*mortal
	storage.Documents
}

func (d mortalDocuments) Get(ctx context.Context, key string) (doc storage.Document, err error) {
	err = d.step(func() error { doc, err = d.Documents.Get(ctx, key); return err })
	return doc, err
}

func (d mortalDocuments) Create(ctx context.Context, key string, data []byte) (revision storage.Revision, err error) {
	err = d.step(func() error { revision, err = d.Documents.Create(ctx, key, data); return err })
	return revision, err
}

func (d mortalDocuments) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (revision storage.Revision, err error) {
	err = d.step(func() error { revision, err = d.Documents.Update(ctx, key, prev, data); return err })
	return revision, err
}

func (d mortalDocuments) Delete(ctx context.Context, key string, prev storage.Revision) error {
	return d.step(func() error { return d.Documents.Delete(ctx, key, prev) })
}

func (d mortalDocuments) List(ctx context.Context, prefix, after string, limit int) (page []storage.Document, err error) {
	err = d.step(func() error { page, err = d.Documents.List(ctx, prefix, after, limit); return err })
	return page, err
}

type mortalBlobs struct {
	*mortal
	storage.Blobs
}

func (b mortalBlobs) Create(ctx context.Context, key string) (storage.BlobWriter, error) {
	var writer storage.BlobWriter
	err := b.step(func() (err error) { writer, err = b.Blobs.Create(ctx, key); return err })
	return mortalWriter{b.mortal, writer}, err
}

func (b mortalBlobs) Open(ctx context.Context, key string) (reader storage.BlobReader, err error) {
	err = b.step(func() error { reader, err = b.Blobs.Open(ctx, key); return err })
	return reader, err
}

func (b mortalBlobs) Stat(ctx context.Context, key string) (info storage.BlobInfo, err error) {
	err = b.step(func() error { info, err = b.Blobs.Stat(ctx, key); return err })
	return info, err
}

func (b mortalBlobs) Delete(ctx context.Context, key string) error {
	return b.step(func() error { return b.Blobs.Delete(ctx, key) })
}

func (b mortalBlobs) List(ctx context.Context, prefix string) iter.Seq2[storage.BlobInfo, error] {
	return func(yield func(storage.BlobInfo, error) bool) {
		for info, err := range b.Blobs.List(ctx, prefix) {
			if stepErr := b.step(func() error { return err }); stepErr != nil {
				yield(storage.BlobInfo{}, stepErr)
				return
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

type mortalWriter struct {
	*mortal
	storage.BlobWriter
}

func (w mortalWriter) Write(p []byte) (n int, err error) {
	err = w.step(func() error { n, err = w.BlobWriter.Write(p); return err })
	return n, err
}

func (w mortalWriter) Commit(ctx context.Context) (info storage.BlobInfo, err error) {
	err = w.step(func() error { info, err = w.BlobWriter.Commit(ctx); return err })
	return info, err
}
