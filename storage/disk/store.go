package disk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/iotenablers/enablers/storage"
)

// ErrLocked is returned by [Open] when another store has the folder open.
var ErrLocked = errors.New("storage/disk: the folder is in use by another store")

const (
	databaseName = "store.db"
	blobsName    = "blobs"
	formatKey    = "format"
	formatNow    = "1"
)

// The buckets of the database. Bucket names are a stored format.
const (
	metaBucket      = "meta"
	documentsBucket = "documents"
	blobsBucket     = "blobs"
)

// Options changes how a folder is opened. The zero value is the default.
type Options struct {
	// LockTimeout is how long Open waits for another store to close. Zero
	// means one second; a negative value does not wait.
	LockTimeout time.Duration
	// Owner is the name of the program that the folder belongs to, such as
	// "annotator". Open writes it into the folder. From then on Open with another
	// owner returns [ErrOwner] before it opens anything. With an empty owner
	// nothing is written or checked.
	Owner string
	// Format is the number of the form in which Owner stores its records: 1 or greater.
	// Zero means 1. Open writes it beside the owner. From then on Open with a smaller
	// number returns [ErrOwner] before it opens anything.
	Format int
	// Adopt is called, with Owner, for a store without an owner: a new one, or one of a
	// version that marked none. Its error is that of Open. Nil adopts any store.
	Adopt func(store *Store) error
	// Migrate changes the records of an earlier format, from, into those of format
	// from+1. Open calls it, with Owner, until the records have Format; a folder without
	// an owner is of format 0. Each step begins after format.json says so. The step that
	// a crash or an error has interrupted is called again by the next Open, so it has to
	// accept records that it has changed already. It is not called for a store without
	// records. Nil means that all formats up to Format are read as they are.
	Migrate func(ctx context.Context, store *Store, from int) error
}

// Store is an open folder. It is created with [Open] and is safe for concurrent
// use.
type Store struct {
	database *bbolt.DB
	commits  *commitQueue
	contents *contentFolder
	space    *space
	closed   atomic.Bool
	pins     pins

	snapshotMu sync.Mutex
	snapshot   *Snapshot // nil unless one is open
}

// Open opens the folder, and creates it and its parents if they are missing. It
// locks the folder, or returns [ErrLocked], and removes files that a crash left
// behind. Nil options are the zero value. The context bounds Open only: its end
// stops the wait for the lock, and a migration that regards it. The caller closes the
// store.
func Open(ctx context.Context, dir string, options *Options) (*Store, error) {
	if options == nil {
		options = new(Options)
	}
	store, err := open(ctx, dir, options)
	if err != nil {
		return nil, fmt.Errorf("open disk store %q: %w", dir, err)
	}
	return store, nil
}

func open(ctx context.Context, dir string, options *Options) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	if options.Owner != "" {
		if _, err := readOwner(dir, ownerRecord{Owner: options.Owner, Format: max(options.Format, 1)}); err != nil {
			return nil, err
		}
	}
	database, err := openDatabase(ctx, dir, cmp.Or(options.LockTimeout, time.Second))
	if err != nil {
		return nil, err
	}
	space := &space{dir: dir}
	store := &Store{
		database: database,
		commits:  newCommitQueue(database, space),
		space:    space,
		contents: &contentFolder{path: filepath.Join(dir, blobsName)},
	}
	if err := store.prepare(dir); err != nil {
		return nil, errors.Join(err, database.Close())
	}
	if options.Owner != "" {
		if err := store.own(ctx, dir, options); err != nil {
			return nil, errors.Join(err, database.Close())
		}
	}
	return store, nil
}

// prepare creates missing parts of a locked folder and removes leftovers of a
// crash.
func (s *Store) prepare(dir string) error {
	isNew, err := s.format()
	if err != nil {
		return fmt.Errorf("%s: %w", databaseName, err)
	}
	if isNew { // a version before this one was interrupted
		if empty, err := s.contents.isEmpty(); err != nil {
			return err
		} else if !empty {
			return errNoRecords
		}
		if err := createBuckets(s.database); err != nil {
			return fmt.Errorf("%s: %w", databaseName, err)
		}
	}
	// Also when nothing is new: the process that created the folders may have
	// stopped before it had synced them.
	if err := makeFolder(s.contents.path); err != nil {
		return err
	}
	for _, folder := range []string{s.contents.path, dir} {
		if err := syncFolder(folder); err != nil {
			return err
		}
	}
	// The parent may belong to another user and not be readable.
	_ = syncFolder(filepath.Dir(dir))
	if err := removeUnfinished(dir); err != nil {
		return err
	}
	return s.sweep()
}

// format reports whether the database is new. It returns an error for an
// unknown format.
func (s *Store) format() (isNew bool, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		meta := tx.Bucket([]byte(metaBucket))
		if meta == nil {
			isNew = true
			return nil
		}
		if found := meta.Get([]byte(formatKey)); string(found) != formatNow {
			return fmt.Errorf("has format %q, this version reads %q", found, formatNow)
		}
		return nil
	})
	return isNew, err
}

// createBuckets writes the buckets and the format in one transaction.
func createBuckets(database *bbolt.DB) error {
	return database.Update(func(tx *bbolt.Tx) error {
		for _, name := range []string{metaBucket, documentsBucket, blobsBucket} {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		return tx.Bucket([]byte(metaBucket)).Put([]byte(formatKey), []byte(formatNow))
	})
}

// sweep removes the blob files that no record points to.
func (s *Store) sweep() error {
	referenced := make(map[contentID]struct{})
	damaged := false
	err := s.view(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(blobsBucket)).ForEach(func(_, value []byte) error {
			record, err := decodeBlobRecord(value)
			damaged = damaged || err != nil
			referenced[record.content] = struct{}{}
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("%s: %w", databaseName, err)
	}
	if damaged {
		// The file of the damaged record is unknown, so all files are kept. Opening
		// that blob returns the error.
		return nil
	}
	return s.contents.sweep(referenced)
}

// Documents returns the documents of the store. They are closed with it.
func (s *Store) Documents() *Documents { return &Documents{store: s} }

// Blobs returns the blobs of the store. They are closed with it.
func (s *Store) Blobs() *Blobs { return &Blobs{store: s} }

// discard removes the file of a blob that was replaced or deleted, unless a
// snapshot refers to it.
func (s *Store) discard(key string, id contentID) {
	if !s.pins.keep(key, id) {
		s.contents.remove(id)
	}
}

// Close waits for the calls that are running, closes an open snapshot and unlocks
// the folder. Later calls return [storage.ErrClosed], also those of open blob
// writers; open blob readers continue. A second Close returns nil.
func (s *Store) Close() error {
	s.closed.Store(true)
	if err := errors.Join(s.closeSnapshot(), s.database.Close()); err != nil {
		return fmt.Errorf("close disk store: %w", err)
	}
	return nil
}

// view runs a read transaction. The function must copy the data that it keeps.
func (s *Store) view(read func(tx *bbolt.Tx) error) error {
	return view(s.database, read)
}

func view(database *bbolt.DB, read func(tx *bbolt.Tx) error) error {
	return translate(guarded(func() error { return database.View(read) }))
}

// translate translates an error of the database to one of package storage.
func translate(err error) error {
	if errors.Is(err, bbolterrors.ErrDatabaseNotOpen) {
		return storage.ErrClosed
	}
	return err
}

// admit returns an error if a call must not begin: an ended context or an
// invalid key.
func admit(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return storage.ValidKey(key)
}

// admitListing is admit for listings, whose prefix and start may be empty.
func admitListing(ctx context.Context, texts ...string) error {
	for _, text := range texts {
		if text != "" {
			if err := storage.ValidKey(text); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// failed puts the verb and the key before the cause. The precision keeps every
// valid key whole and bounds the length of an invalid one in logs.
func failed(verb, key string, cause error) error {
	return fmt.Errorf("%s %.*q: %w", verb, storage.MaxKeyLength, key, cause)
}
