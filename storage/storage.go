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
	// ErrInvalidData is returned for data that [ValidData] refuses.
	ErrInvalidData = errors.New("storage: invalid document data")
	// ErrClosed is returned by every method after Close of the driver, and by
	// a finished [BlobWriter] and a closed [BlobReader].
	ErrClosed = errors.New("storage: closed")
	// ErrUnavailable is returned by drivers over a network when the store cannot
	// be reached or does not answer in time. A write may have succeeded. The next
	// call tries again.
	ErrUnavailable = errors.New("storage: the store cannot be reached")
	// ErrFull is returned by a write that found no space: the disk is full, or a quota
	// is used up. As with ErrUnavailable it may have succeeded. What was acknowledged stays,
	// reads go on, and the next write tries again. See [Space].
	ErrFull = errors.New("storage: no space is left")
	// ErrDamaged is returned when the bytes of a blob are not those that were committed: some
	// or all of them are missing, or they do not have its digest. Drivers find missing bytes;
	// a [CheckedReader] compares the digest.
	ErrDamaged = errors.New("storage: the bytes of a blob are damaged")
)

// DefaultPage is how many documents a List with a limit of 0 returns at most.
const DefaultPage = 1000

// Revision identifies one state of a document. It is opaque, and compared only
// for equality: a driver never gives the same revision to two states of one
// key, even if the key was deleted and created again. The zero Revision is
// never used, and it never matches in an Update or Delete.
type Revision uint64

// Document is one JSON document as it was stored.
type Document struct {
	// Key is the document's key.
	Key string
	// Revision is the revision of Data.
	Revision Revision
	// Data is the JSON text, byte for byte as it was given. It belongs to the
	// caller.
	Data []byte
}

// Documents keeps JSON documents under string keys. Each operation is atomic
// and durable when it returns nil; there are no transactions over several
// documents. All methods are safe for concurrent use. A driver copies data in
// both directions: slices are never shared with the caller.
//
// A key that [ValidKey] refuses is ErrInvalidKey, data that [ValidData]
// refuses is ErrInvalidData, and nothing is written.
//
// A method that is called with an ended context does nothing and returns the
// context's error. When the context ends during a write, the write happened
// completely or not at all; the outcome may be unknown, as after a lost
// connection.
type Documents interface {
	// Get returns the document, or ErrNotFound.
	Get(ctx context.Context, key string) (Document, error)
	// Create stores a document under a new key, or returns ErrExists. Of several
	// concurrent calls exactly one succeeds.
	Create(ctx context.Context, key string, data []byte) (Revision, error)
	// Update replaces the document if it is still at revision prev. It returns
	// ErrConflict if it has another revision, ErrNotFound if there is none. Equal
	// data makes a new revision, too.
	Update(ctx context.Context, key string, prev Revision, data []byte) (Revision, error)
	// Delete removes the document if it is still at revision prev. It returns
	// ErrConflict if it has another revision, ErrNotFound if there is none.
	Delete(ctx context.Context, key string, prev Revision) error
	// List returns up to limit documents whose keys start with prefix and are
	// greater than after, in ascending byte order of their keys. A limit of 0
	// or less means [DefaultPage]; an empty after starts at the first. Both
	// strings are empty or pass [ValidKey]; no document need have them as key.
	// A page shorter than the limit is the last, so a full one may be followed
	// by an empty one. Documents written meanwhile may or may not be seen; one
	// that is there throughout is seen exactly once over all pages. [All]
	// follows the pages.
	List(ctx context.Context, prefix, after string, limit int) ([]Document, error)
}

// BlobInfo describes a committed blob.
type BlobInfo struct {
	// Key is the blob's key.
	Key string
	// Size is the length in bytes.
	Size int64
	// MD5 and SHA256 are the lower-case hex digests of the bytes. MD5 may be empty for
	// a blob that was created with a context of [OnlySHA256].
	MD5, SHA256 string
	// Modified is when the blob was committed, in UTC, exact to the second at
	// least. It is by the clock of the process that committed the blob, or of the
	// server in package s3, so the times of two blobs, or of a blob and a local
	// clock, can differ by as much as the clocks do.
	Modified time.Time
}

// BlobWriter writes the bytes of one new blob. Nothing is visible under the key
// until Commit returns nil. One goroutine at a time may use it. The caller must
// end it with Commit or Abort to release its resources.
//
// The context of [Blobs].Create applies to Write: once it has ended, Write and
// Commit return its error. After a Write that failed, Commit fails too.
type BlobWriter interface {
	io.Writer
	// Commit makes the blob durable and visible, replacing an earlier blob of
	// the key in one step: a reader sees the whole old or the whole new one.
	// A blob without a single Write is an empty one. The writer is finished
	// afterwards, whatever Commit returns: further calls of Write and Commit
	// return ErrClosed.
	Commit(ctx context.Context) (BlobInfo, error)
	// Abort discards what was written. It does nothing after Commit or a
	// first Abort, so it may be deferred.
	Abort() error
}

// BlobReader reads one committed blob. It keeps reading the blob it was opened
// on, even when the key is replaced or deleted meanwhile. A driver for several
// processes may remove such a blob after an hour or more; the reader then fails
// with ErrNotFound and never reads another blob's bytes. One goroutine at a
// time.
//
// The context of [Blobs].Open applies to Read: once it has ended, Read returns
// its error. Read and Seek after Close return ErrClosed; a second Close returns
// nil.
type BlobReader interface {
	io.ReadSeekCloser
	// Info describes the blob that is being read, also after Close.
	Info() BlobInfo
}

// Blobs keeps byte streams of any size under string keys. All methods are
// safe for concurrent use. Keys and contexts are treated as in [Documents].
type Blobs interface {
	// Create starts a new blob. It reserves nothing: of two writers on one key the
	// last commit wins.
	Create(ctx context.Context, key string) (BlobWriter, error)
	// Open opens a committed blob for reading, or returns ErrNotFound. The
	// caller closes the reader. Open or the first Read return ErrDamaged if there are
	// fewer bytes than were committed; they need not compare the digest.
	Open(ctx context.Context, key string) (BlobReader, error)
	// Stat describes a committed blob, or returns ErrNotFound.
	Stat(ctx context.Context, key string) (BlobInfo, error)
	// Delete removes a blob, or returns ErrNotFound. Open readers continue. Of
	// several concurrent calls more than one may return nil.
	Delete(ctx context.Context, key string) error
	// List yields the committed blobs whose keys start with prefix, which is
	// empty or passes [ValidKey], in ascending byte order of their keys. The
	// first error ends it. Blobs written meanwhile may or may not be seen; one
	// that is there throughout is seen exactly once. The loop's body may call
	// any method of the store.
	List(ctx context.Context, prefix string) iter.Seq2[BlobInfo, error]
}
