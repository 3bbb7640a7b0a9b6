package storage

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Errors that every driver returns, wrapped with the operation and the key.
// Match them with [errors.Is].
var (
	// ErrNotFound is returned when no document or blob has that key.
	ErrNotFound = errors.New("storage: not found")
	// ErrExists is returned by a create when the key is taken.
	ErrExists = errors.New("storage: already exists")
	// ErrConflict is returned when the document is no longer at the revision
	// that the caller named. Read it again and decide anew.
	ErrConflict = errors.New("storage: revision conflict")
	// ErrInvalidKey is returned for a key that [ValidKey] refuses.
	ErrInvalidKey = errors.New("storage: invalid key")
	// ErrClosed is returned by every method after Close.
	ErrClosed = errors.New("storage: closed")
)

// Revision identifies one state of a document. It is opaque: a driver never
// gives the same revision to two states of one key, also not when the key
// was deleted and created again. The zero Revision is never given.
type Revision uint64

// Document is one JSON document as it was stored.
type Document struct {
	// Key is the document's key.
	Key string
	// Revision is the state that Data is.
	Revision Revision
	// Data is the JSON text. It belongs to the caller.
	Data []byte
}

// Documents keeps JSON documents under string keys. Each operation is atomic
// and durable when it returns nil; there are no transactions over several
// documents. All methods are safe for concurrent use. A driver copies what it
// is given and what it gives: slices are never shared with the caller.
//
// A cancelled context makes a method return the context's error; whether a
// write then happened is unknown, as with any lost connection.
type Documents interface {
	// Get returns the document, or ErrNotFound.
	Get(ctx context.Context, key string) (Document, error)
	// Create stores a document under a key that is free, and returns
	// ErrExists when it is not.
	Create(ctx context.Context, key string, data []byte) (Revision, error)
	// Update replaces the document if it is still at revision prev. It returns
	// ErrConflict if it is at another, ErrNotFound if there is none.
	Update(ctx context.Context, key string, prev Revision, data []byte) (Revision, error)
	// Delete removes the document if it is still at revision prev. It returns
	// ErrConflict if it is at another, ErrNotFound if there is none.
	Delete(ctx context.Context, key string, prev Revision) error
	// List returns up to limit documents whose keys start with prefix and are
	// greater than after, in ascending byte order of their keys. A limit of 0
	// means 1,000; an empty after starts at the first. A page shorter than the
	// limit is the last. Documents written meanwhile may or may not be seen;
	// one that is there throughout is seen exactly once over all pages.
	List(ctx context.Context, prefix, after string, limit int) ([]Document, error)
}

// BlobInfo describes a committed blob.
type BlobInfo struct {
	// Key is the blob's key.
	Key string
	// Size is the length in bytes.
	Size int64
	// MD5 and SHA256 are the lower-case hex digests of the bytes.
	MD5, SHA256 string
	// Modified is when the blob was committed.
	Modified time.Time
}

// BlobWriter takes the bytes of one new blob. Nothing is visible under the
// key until Commit returns nil. One goroutine at a time.
type BlobWriter interface {
	io.Writer
	// Commit makes the blob durable and visible, replacing an earlier blob of
	// the key in one step: a reader sees the whole old or the whole new one.
	// The writer is finished afterwards, whatever Commit returns.
	Commit(ctx context.Context) (BlobInfo, error)
	// Abort discards what was written. It does nothing after Commit or a
	// first Abort, so it may be deferred.
	Abort() error
}

// BlobReader reads one committed blob. It keeps reading the blob it was
// opened on, even when the key is replaced or deleted meanwhile.
type BlobReader interface {
	io.ReadSeekCloser
	// Info describes the blob that is being read.
	Info() BlobInfo
}

// Blobs keeps byte streams of any size under string keys. All methods are
// safe for concurrent use.
type Blobs interface {
	// Create starts a new blob. It reserves nothing: of two writers on one
	// key the one that commits last stays.
	Create(ctx context.Context, key string) (BlobWriter, error)
	// Open opens a committed blob for reading, or returns ErrNotFound.
	Open(ctx context.Context, key string) (BlobReader, error)
	// Stat describes a committed blob, or returns ErrNotFound.
	Stat(ctx context.Context, key string) (BlobInfo, error)
	// Delete removes a blob, or returns ErrNotFound. Open readers go on.
	Delete(ctx context.Context, key string) error
	// List yields the committed blobs whose keys start with prefix, in
	// ascending byte order of their keys. The first error ends it.
	List(ctx context.Context, prefix string) iter.Seq2[BlobInfo, error]
}
