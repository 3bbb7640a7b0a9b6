package mongo

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/iotenablers/enablers/storage"
)

// errGivenUp is the error of a writer that took longer than uploadTime.
var errGivenUp = fmt.Errorf("the upload was given up after %v", uploadTime)

// mostChunks is how many chunks a file can have: GridFS counts in 32 bits.
const mostChunks = 1<<31 - 1

// blobWriter writes the bytes of one blob to a file of GridFS and hashes them.
// The file is invisible until Commit has changed the record.
type blobWriter struct {
	ctx      context.Context // of Create: it is valid as long as the writer
	store    *Store
	key      string
	file     bson.ObjectID
	until    time.Time // when the upload is abandoned
	entered  bool      // in the record; true also if the outcome is unknown
	finished bool
	buffer   []byte
	chunks   int32 // already written
	md5      hash.Hash
	sha256   hash.Hash
	size     int64
	err      error // of the first Write that failed
}

func newBlobWriter(ctx context.Context, store *Store, key string) *blobWriter {
	return &blobWriter{
		ctx:    ctx,
		store:  store,
		key:    key,
		file:   bson.NewObjectID(),
		until:  store.now().Add(uploadTime),
		md5:    md5.New(),
		sha256: sha256.New(),
	}
}

// Write implements [io.Writer].
func (w *blobWriter) Write(p []byte) (int, error) {
	const verb = "write blob"
	if w.finished {
		return 0, failed(verb, w.key, storage.ErrClosed)
	}
	if w.err == nil {
		w.err = w.usable(w.ctx)
	}
	written := 0
	for w.err == nil && written < len(p) {
		n := min(len(p)-written, chunksAtOnce*chunkSize-len(w.buffer))
		part := p[written : written+n]
		w.buffer = append(w.buffer, part...)
		w.md5.Write(part) // hashes never fail
		w.sha256.Write(part)
		w.size += int64(n)
		written += n
		if len(w.buffer) == chunksAtOnce*chunkSize {
			w.err = w.flush(w.ctx)
		}
	}
	if w.err != nil {
		return written, failed(verb, w.key, w.err)
	}
	return written, nil
}

// usable returns an error if the context has ended or the writer has failed.
func (w *blobWriter) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !w.store.now().Before(w.until) {
		return errGivenUp
	}
	return w.store.open()
}

// flush stores what is in the buffer. Before the first bytes the upload is
// entered in the record of the key.
func (w *blobWriter) flush(ctx context.Context) error {
	if err := w.usable(ctx); err != nil {
		return err
	}
	limited, cancel := w.store.limit(ctx)
	defer cancel()
	if err := w.enter(limited); err != nil {
		return w.store.explain(ctx, err)
	}
	if len(w.buffer) == 0 {
		return nil
	}
	if w.chunks > mostChunks-chunksAtOnce {
		return errors.New("it is too large")
	}
	if err := w.store.contents.add(limited, w.file, w.chunks, w.buffer); err != nil {
		return w.store.explain(ctx, err)
	}
	w.chunks += int32((len(w.buffer) + chunkSize - 1) / chunkSize)
	w.buffer = w.buffer[:0]
	return nil
}

func (w *blobWriter) enter(ctx context.Context) error {
	if w.entered {
		return nil
	}
	if err := w.store.contents.prepare(ctx); err != nil {
		return err
	}
	w.entered = true
	return w.store.changeBlob(ctx, w.key, func(body *blobBody) error {
		body.drop(w.file) // from an attempt whose answer was lost
		body.begin(w.file, w.until)
		return nil
	})
}

// Commit implements [storage.BlobWriter].
func (w *blobWriter) Commit(ctx context.Context) (storage.BlobInfo, error) {
	const verb = "commit blob"
	if w.finished {
		return storage.BlobInfo{}, failed(verb, w.key, storage.ErrClosed)
	}
	w.finished = true
	err := w.err
	for _, governing := range []context.Context{w.ctx, ctx} {
		if err == nil {
			err = w.usable(governing)
		}
	}
	if err == nil {
		err = w.flush(ctx)
	}
	var blob blobBody
	if err == nil {
		blob, err = w.publish(ctx)
	}
	w.buffer = nil
	if err != nil {
		w.giveUp()
		return storage.BlobInfo{}, failed(verb, w.key, err)
	}
	return blob.info(w.key), nil
}

// publish describes the file and makes the key name it.
func (w *blobWriter) publish(ctx context.Context) (blobBody, error) {
	limited, cancel := w.store.limit(ctx)
	defer cancel()
	blob := blobBody{
		File:     w.file,
		Size:     w.size,
		MD5:      hex.EncodeToString(w.md5.Sum(nil)),
		SHA256:   hex.EncodeToString(w.sha256.Sum(nil)),
		Modified: w.store.now().UTC().Truncate(time.Millisecond), // as BSON keeps it
	}
	err := w.store.contents.complete(limited, file{
		ID: w.file, Length: w.size, ChunkSize: chunkSize, Uploaded: blob.Modified, Name: w.key,
		Metadata: fileMetadata{MD5: blob.MD5, SHA256: blob.SHA256},
	})
	if err != nil {
		return blobBody{}, w.store.explain(ctx, err)
	}
	err = w.store.changeBlob(limited, w.key, func(body *blobBody) error {
		if !body.publish(blob, w.store.now().Add(grace)) {
			return errGivenUp
		}
		return nil
	})
	return blob, w.store.explain(ctx, err)
}

// Abort implements [storage.BlobWriter].
func (w *blobWriter) Abort() error {
	if w.finished {
		return nil
	}
	w.finished = true
	w.buffer = nil
	w.giveUp()
	return nil
}

// giveUp leaves the file to the clean-up. It does not remove the file, because
// a write to it may still be in progress. After a Commit whose answer was lost
// the key may name the file, and then it stays.
func (w *blobWriter) giveUp() {
	if !w.entered || w.store.closed.Load() {
		return
	}
	ctx, cancel := w.store.limit(context.WithoutCancel(w.ctx))
	defer cancel()
	err := w.store.changeBlob(ctx, w.key, func(body *blobBody) error {
		body.giveUp(w.file, w.store.now().Add(grace))
		return nil
	})
	if err != nil {
		w.store.log.Warn("upload stays until it is given up", "key", w.key, "until", w.until, "error", err)
	}
}
