package disk

import (
	"bufio"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"hash"
	"os"
	"time"

	"go.etcd.io/bbolt"

	"github.com/iotenablers/enablers/storage"
)

const (
	// writeBuffer is how many bytes of small writes a writer collects.
	writeBuffer = 64 << 10
	// ioChunk is how many bytes are read or written between two checks of the
	// context.
	ioChunk = 1 << 20
	// hashApart is the size of a chunk from which on its two digests are computed
	// in parallel.
	hashApart = 64 << 10
)

// blobWriter writes the bytes of one blob to its file and hashes them. The file
// is invisible until Commit has stored the record.
type blobWriter struct {
	ctx    context.Context // of Create: it is valid as long as the writer
	store  *Store
	key    string
	id     contentID
	file   *os.File // nil once the writer is finished
	buffer *bufio.Writer
	behind writeBack
	md5    hash.Hash // nil for a blob without
	sha256 hash.Hash
	size   int64
	err    error // of the first Write that failed
}

func newBlobWriter(ctx context.Context, store *Store, key string, file *os.File, id contentID) *blobWriter {
	w := &blobWriter{
		ctx:    ctx,
		store:  store,
		key:    key,
		id:     id,
		file:   file,
		buffer: bufio.NewWriterSize(file, writeBuffer),
		behind: writeBack{file: file, begin: beginWriteBack},
		sha256: sha256.New(),
	}
	if !storage.IsOnlySHA256(ctx) {
		w.md5 = md5.New()
	}
	return w
}

// Write implements [io.Writer].
func (w *blobWriter) Write(p []byte) (int, error) {
	const verb = "write blob"
	if w.file == nil {
		return 0, failed(verb, w.key, storage.ErrClosed)
	}
	written := 0
	for w.err == nil && written < len(p) {
		n, err := w.writeChunk(p[written:min(len(p), written+ioChunk)])
		written += n
		w.err = w.store.space.explain(err)
	}
	if w.err != nil {
		return written, failed(verb, w.key, w.err)
	}
	return written, nil
}

func (w *blobWriter) writeChunk(p []byte) (int, error) {
	if err := w.usable(w.ctx); err != nil {
		return 0, err
	}
	hashed := w.hash(p)
	n, err := w.buffer.Write(p)
	w.size += int64(n)
	w.behind.grown(w.size - int64(w.buffer.Buffered()))
	hashed()
	return n, err
}

// hash adds the bytes to both digests. The function that it returns waits for
// the digests, which are computed in parallel for a large chunk. When the bytes
// cannot be written, the digests are not used.
func (w *blobWriter) hash(p []byte) (wait func()) {
	if w.md5 == nil {
		return func() { w.sha256.Write(p) } // hashes never fail
	}
	if len(p) < hashApart {
		w.md5.Write(p)
		w.sha256.Write(p)
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.md5.Write(p)
	}()
	return func() {
		w.sha256.Write(p)
		<-done
	}
}

// usable returns an error if the context has ended or the writer has failed.
func (w *blobWriter) usable(ctx context.Context) error {
	if w.store.closed.Load() {
		return storage.ErrClosed
	}
	return ctx.Err()
}

// Commit implements [storage.BlobWriter].
func (w *blobWriter) Commit(ctx context.Context) (storage.BlobInfo, error) {
	const verb = "commit blob"
	if w.file == nil {
		return storage.BlobInfo{}, failed(verb, w.key, storage.ErrClosed)
	}
	if err := w.finish(ctx); err != nil {
		w.store.contents.remove(w.id)
		return storage.BlobInfo{}, failed(verb, w.key, w.store.space.explain(err))
	}
	record := w.record()
	if err := w.publish(ctx, record); err != nil {
		return storage.BlobInfo{}, failed(verb, w.key, err)
	}
	return record.info(w.key), nil
}

// finish makes the file and its name durable and closes the file, even after an
// error.
func (w *blobWriter) finish(ctx context.Context) (err error) {
	file := w.file
	w.file = nil
	defer func() { err = errors.Join(err, file.Close()) }()
	if w.err != nil {
		return w.err
	}
	for _, governing := range []context.Context{w.ctx, ctx} {
		if err := w.usable(governing); err != nil {
			return err
		}
	}
	if err := w.buffer.Flush(); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return w.store.contents.sync(w.id)
}

// publish stores the record under the key and removes the file of the blob that
// it replaces.
func (w *blobWriter) publish(ctx context.Context, record blobRecord) error {
	var old contentID
	begun := false
	err := w.store.commits.do(ctx, func(tx *bbolt.Tx) error {
		begun = true
		bucket := tx.Bucket([]byte(blobsBucket))
		if stored := bucket.Get([]byte(w.key)); stored != nil {
			// A damaged record names no file; it is replaced, too.
			replaced, _ := decodeBlobRecord(stored)
			old = replaced.content
		}
		return bucket.Put([]byte(w.key), record.encode())
	})
	switch {
	case err == nil && old != contentID{}:
		w.store.discard(w.key, old)
	case err != nil && !begun:
		w.store.contents.remove(w.id)
	}
	// When the transaction failed the record may be on the disk or not, so neither
	// file is removed: the next Open finds out.
	return err
}

func (w *blobWriter) record() blobRecord {
	record := blobRecord{content: w.id, size: w.size, modified: time.Now().UnixNano()}
	if w.md5 != nil {
		w.md5.Sum(record.md5[:0])
	}
	w.sha256.Sum(record.sha256[:0])
	return record
}

// Abort implements [storage.BlobWriter].
func (w *blobWriter) Abort() error {
	if w.file == nil {
		return nil
	}
	file := w.file
	w.file = nil
	err := file.Close()
	w.store.contents.remove(w.id)
	if err != nil {
		return failed("abort blob", w.key, err)
	}
	return nil
}
