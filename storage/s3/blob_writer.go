package s3

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"

	"github.com/iotenablers/enablers/storage"
)

const (
	// ioChunk is how many bytes are hashed between two checks of the context.
	ioChunk = 1 << 20
	// firstBuffer is the first size of a writer's buffer. It grows up to the size
	// of a part.
	firstBuffer = 4 << 10
)

// blobWriter hashes the bytes of one blob and collects them in parts. Commit
// stores a blob of one part in one request. The parts of a larger blob are
// uploaded while it is written, to an object with a unique name. It is
// invisible until Commit has stored the record.
type blobWriter struct {
	ctx      context.Context // of Create: it is valid as long as the writer
	store    *Store
	key      string
	id       string // of the object with the bytes
	part     []byte // what is not uploaded yet
	upload   *upload
	md5      hash.Hash
	sha256   hash.Hash
	size     int64
	err      error // of the first Write that failed
	finished bool
}

func newBlobWriter(ctx context.Context, store *Store, key string) *blobWriter {
	return &blobWriter{ctx: ctx, store: store, key: key, id: newID(), md5: md5.New(), sha256: sha256.New()}
}

// Write implements [io.Writer].
func (w *blobWriter) Write(p []byte) (int, error) {
	const verb = "write blob"
	if w.finished {
		return 0, failed(verb, w.key, storage.ErrClosed)
	}
	written := 0
	for w.err == nil && written < len(p) {
		n, err := w.writeChunk(p[written:min(len(p), written+ioChunk)])
		written += n
		w.err = err
	}
	if w.err != nil {
		return written, failed(verb, w.key, w.store.explain(w.err, w.ctx))
	}
	return written, nil
}

// writeChunk fills the part, which is uploaded only when more bytes arrive: a
// blob that fits into one part needs no multipart upload.
func (w *blobWriter) writeChunk(p []byte) (int, error) {
	if err := w.usable(w.ctx); err != nil {
		return 0, err
	}
	if len(w.part) == w.store.config.PartSize {
		if err := w.uploadPart(); err != nil {
			return 0, err
		}
	}
	w.grow(len(p))
	n := copy(w.part[len(w.part):cap(w.part)], p)
	w.part = w.part[:len(w.part)+n]
	w.md5.Write(p[:n]) // hashes never fail
	w.sha256.Write(p[:n])
	w.size += int64(n)
	return n, nil
}

// grow makes room for some of n more bytes in a part that is not full.
func (w *blobWriter) grow(n int) {
	if cap(w.part)-len(w.part) >= n || cap(w.part) == w.store.config.PartSize {
		return
	}
	room := min(max(2*cap(w.part), len(w.part)+n, firstBuffer), w.store.config.PartSize)
	w.part = append(make([]byte, 0, room), w.part...)
}

// uploadPart passes the full part to an upload and takes an empty one.
func (w *blobWriter) uploadPart() error {
	if w.size >= maxParts*int64(w.store.config.PartSize) {
		return fmt.Errorf("it has more than %d parts of %d bytes: set a greater Config.PartSize", maxParts,
			w.store.config.PartSize)
	}
	if w.upload == nil {
		upload, err := beginUpload(w.ctx, w.store, w.key, w.id)
		if err != nil {
			return err
		}
		w.upload = upload
	}
	if err := w.upload.add(w.part); err != nil {
		return err
	}
	w.part = nil // also when there is no next one
	var err error
	w.part, err = w.upload.buffer()
	return err
}

// usable returns an error if the context has ended or the writer has failed.
func (w *blobWriter) usable(ctx context.Context) error {
	if err := w.store.open(); err != nil {
		return err
	}
	return ctx.Err()
}

// Commit implements [storage.BlobWriter].
func (w *blobWriter) Commit(ctx context.Context) (storage.BlobInfo, error) {
	const verb = "commit blob"
	if w.finished {
		return storage.BlobInfo{}, failed(verb, w.key, storage.ErrClosed)
	}
	w.finished = true
	committed, err := w.commit(ctx)
	w.part = nil
	if err != nil {
		return storage.BlobInfo{}, failed(verb, w.key, w.store.explain(err, ctx, w.ctx))
	}
	return committed.info(), nil
}

// commit uploads the rest and stores the record.
func (w *blobWriter) commit(ctx context.Context) (record, error) {
	both, cancel := context.WithCancel(ctx) // ends with that of Create, too
	defer cancel()
	defer context.AfterFunc(w.ctx, cancel)()
	if err := w.uploadRest(both); err != nil {
		w.discard(ctx)
		return record{}, err
	}
	limited, cancelLimit := context.WithTimeout(both, changeLimit)
	defer cancelLimit()
	r := record{
		Key: w.key, Bytes: w.id, Size: w.size,
		MD5: hex.EncodeToString(w.md5.Sum(nil)), SHA256: hex.EncodeToString(w.sha256.Sum(nil)),
	}
	if err := w.storeBytes(limited); err != nil {
		w.discard(ctx)
		return record{}, err
	}
	r.Modified = w.store.now()
	data, err := r.encode()
	if err != nil {
		return record{}, err
	}
	// When this fails the record may exist or not. The sweep finds out by the note
	// of the change.
	if err := w.store.bucket.putSmall(limited, recordName(w.key), data); err != nil {
		return record{}, err
	}
	if w.upload != nil {
		w.upload.forget(limited)
	}
	return r, nil
}

// uploadRest waits until all parts are uploaded, if they are not to go in one
// request.
func (w *blobWriter) uploadRest(ctx context.Context) error {
	if w.err != nil {
		return w.err
	}
	if err := w.usable(w.ctx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.upload == nil {
		return nil
	}
	if err := w.upload.add(w.part); err != nil { // never empty
		return err
	}
	return w.upload.wait(ctx)
}

// storeBytes writes the note of the change and creates the object with the
// bytes.
func (w *blobWriter) storeBytes(ctx context.Context) error {
	n := note{Key: w.key, Bytes: []string{w.id}}
	old, err := w.store.find(ctx, w.key)
	switch {
	case err == nil:
		n.Bytes = append(n.Bytes, old.Bytes)
	case errors.Is(err, storage.ErrNotFound):
	case errors.Is(err, errDamaged): // its identifier is unknown
	default:
		return err
	}
	if err := w.store.announce(ctx, w.id, n); err != nil {
		return err
	}
	if w.upload != nil {
		return w.upload.complete(ctx, w.size)
	}
	return w.store.bucket.put(ctx, bytesPart+w.id, w.part, w.sha256.Sum(nil), "application/octet-stream")
}

// discard ends the upload of a commit that failed before it wrote the record.
// The sweep removes the rest by its note.
func (w *blobWriter) discard(ctx context.Context) {
	if w.upload != nil {
		_ = w.upload.discard(ctx)
	}
}

// Abort implements [storage.BlobWriter].
func (w *blobWriter) Abort() error {
	if w.finished {
		return nil
	}
	w.finished = true
	w.part = nil
	if w.upload == nil {
		return nil
	}
	if err := w.upload.discard(w.ctx); err != nil {
		return failed("abort blob", w.key, w.store.explain(err))
	}
	return nil
}
