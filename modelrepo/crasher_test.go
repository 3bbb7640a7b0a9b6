package modelrepo_test

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"sync/atomic"

	"github.com/iotenablers/enablers/storage"
)

var errCrashed = errors.New("the process has crashed")

// crasher counts the operations on stores and crashes at one of them: after that every
// operation fails without effect. The last operation takes effect if applyLast is set.
type crasher struct {
	crashAt   int64 // at which operation; 0 never
	applyLast bool
	before    func(operation int64) // nil does nothing
	cause     error                 // what it then returns; nil means errCrashed
	count     atomic.Int64
}

// step runs an operation unless the process has crashed.
func (m *crasher) step(operation func() error) error {
	n := m.count.Add(1)
	if m.before != nil {
		m.before(n)
	}
	switch {
	case m.crashAt == 0 || n < m.crashAt:
		return operation()
	case n == m.crashAt && m.applyLast:
		_ = operation()
	}
	return cmp.Or(m.cause, errCrashed)
}

type crashingDocuments struct {
	*crasher
	storage.Documents
}

func (d crashingDocuments) Get(ctx context.Context, key string) (doc storage.Document, err error) {
	err = d.step(func() error { doc, err = d.Documents.Get(ctx, key); return err })
	return doc, err
}

func (d crashingDocuments) Create(ctx context.Context, key string, data []byte) (revision storage.Revision, err error) {
	err = d.step(func() error { revision, err = d.Documents.Create(ctx, key, data); return err })
	return revision, err
}

func (d crashingDocuments) Update(
	ctx context.Context, key string, prev storage.Revision, data []byte,
) (revision storage.Revision, err error) {
	err = d.step(func() error { revision, err = d.Documents.Update(ctx, key, prev, data); return err })
	return revision, err
}

func (d crashingDocuments) Delete(ctx context.Context, key string, prev storage.Revision) error {
	return d.step(func() error { return d.Documents.Delete(ctx, key, prev) })
}

func (d crashingDocuments) List(ctx context.Context, prefix, after string, limit int) (page []storage.Document, err error) {
	err = d.step(func() error { page, err = d.Documents.List(ctx, prefix, after, limit); return err })
	return page, err
}

type crashingBlobs struct {
	*crasher
	storage.Blobs
}

func (b crashingBlobs) Create(ctx context.Context, key string) (storage.BlobWriter, error) {
	var writer storage.BlobWriter
	err := b.step(func() (err error) { writer, err = b.Blobs.Create(ctx, key); return err })
	return crashingWriter{b.crasher, writer}, err
}

func (b crashingBlobs) Open(ctx context.Context, key string) (reader storage.BlobReader, err error) {
	err = b.step(func() error { reader, err = b.Blobs.Open(ctx, key); return err })
	return reader, err
}

func (b crashingBlobs) Stat(ctx context.Context, key string) (info storage.BlobInfo, err error) {
	err = b.step(func() error { info, err = b.Blobs.Stat(ctx, key); return err })
	return info, err
}

func (b crashingBlobs) Delete(ctx context.Context, key string) error {
	return b.step(func() error { return b.Blobs.Delete(ctx, key) })
}

func (b crashingBlobs) List(ctx context.Context, prefix string) iter.Seq2[storage.BlobInfo, error] {
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

type crashingWriter struct {
	*crasher
	storage.BlobWriter
}

func (w crashingWriter) Write(p []byte) (n int, err error) {
	err = w.step(func() error { n, err = w.BlobWriter.Write(p); return err })
	return n, err
}

func (w crashingWriter) Commit(ctx context.Context) (info storage.BlobInfo, err error) {
	err = w.step(func() error { info, err = w.BlobWriter.Commit(ctx); return err })
	return info, err
}
