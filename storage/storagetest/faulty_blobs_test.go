package storagetest

import (
	"context"
	"iter"

	"github.com/iotenablers/enablers/storage"
)

// faultyBlobs is a store in memory with one method replaced, or what Create
// and Open return wrapped.
type faultyBlobs struct {
	storage.Blobs
	create func(ctx context.Context, key string) (storage.BlobWriter, error)
	writer func(w *faultyWriter)
	open   func(ctx context.Context, key string) (storage.BlobReader, error)
	reader func(r *faultyReader)
	stat   func(ctx context.Context, key string) (storage.BlobInfo, error)
	delete func(ctx context.Context, key string) error
	list   func(ctx context.Context, prefix string) iter.Seq2[storage.BlobInfo, error]
}

func (f *faultyBlobs) Create(ctx context.Context, key string) (storage.BlobWriter, error) {
	create := f.Blobs.Create
	if f.create != nil {
		create = f.create
	}
	writer, err := create(ctx, key)
	if err != nil || f.writer == nil {
		return writer, err
	}
	faulty := &faultyWriter{BlobWriter: writer, key: key, store: f.Blobs}
	f.writer(faulty)
	return faulty, nil
}

func (f *faultyBlobs) Open(ctx context.Context, key string) (storage.BlobReader, error) {
	open := f.Blobs.Open
	if f.open != nil {
		open = f.open
	}
	reader, err := open(ctx, key)
	if err != nil || f.reader == nil {
		return reader, err
	}
	faulty := &faultyReader{BlobReader: reader, key: key, store: f.Blobs}
	f.reader(faulty)
	return faulty, nil
}

func (f *faultyBlobs) Stat(ctx context.Context, key string) (storage.BlobInfo, error) {
	if f.stat != nil {
		return f.stat(ctx, key)
	}
	return f.Blobs.Stat(ctx, key)
}

func (f *faultyBlobs) Delete(ctx context.Context, key string) error {
	if f.delete != nil {
		return f.delete(ctx, key)
	}
	return f.Blobs.Delete(ctx, key)
}

func (f *faultyBlobs) List(ctx context.Context, prefix string) iter.Seq2[storage.BlobInfo, error] {
	if f.list != nil {
		return f.list(ctx, prefix)
	}
	return f.Blobs.List(ctx, prefix)
}

// faultyWriter is a writer with one method replaced.
type faultyWriter struct {
	storage.BlobWriter
	key    string
	store  storage.Blobs
	write  func(p []byte) (int, error)
	commit func(ctx context.Context) (storage.BlobInfo, error)
	abort  func() error
}

func (w *faultyWriter) Write(p []byte) (int, error) {
	if w.write != nil {
		return w.write(p)
	}
	return w.BlobWriter.Write(p)
}

func (w *faultyWriter) Commit(ctx context.Context) (storage.BlobInfo, error) {
	if w.commit != nil {
		return w.commit(ctx)
	}
	return w.BlobWriter.Commit(ctx)
}

func (w *faultyWriter) Abort() error {
	if w.abort != nil {
		return w.abort()
	}
	return w.BlobWriter.Abort()
}

// faultyReader is a reader with one method replaced.
type faultyReader struct {
	storage.BlobReader
	key   string
	store storage.Blobs
	read  func(p []byte) (int, error)
	seek  func(offset int64, whence int) (int64, error)
	close func() error
	info  *storage.BlobInfo
}

func (r *faultyReader) Read(p []byte) (int, error) {
	if r.read != nil {
		return r.read(p)
	}
	return r.BlobReader.Read(p)
}

func (r *faultyReader) Seek(offset int64, whence int) (int64, error) {
	if r.seek != nil {
		return r.seek(offset, whence)
	}
	return r.BlobReader.Seek(offset, whence)
}

func (r *faultyReader) Close() error {
	if r.close != nil {
		return r.close()
	}
	return r.BlobReader.Close()
}

func (r *faultyReader) Info() storage.BlobInfo {
	if r.info != nil {
		return *r.info
	}
	return r.BlobReader.Info()
}
