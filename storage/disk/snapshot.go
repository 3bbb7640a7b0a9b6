package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"

	"go.etcd.io/bbolt"

	"github.com/iotenablers/enablers/storage"
)

// ErrSnapshot is returned by [Store.Snapshot] while another snapshot is open.
var ErrSnapshot = errors.New("storage/disk: another snapshot of the folder is open; try again when it is closed")

// snapshotReserve is how many bytes of the disk a snapshot leaves to the store.
const snapshotReserve = 16 << 20

// Snapshot is the state of a [Store] at one moment, as files: those of a folder that
// [Open] opens. It has every write that was acknowledged before [Store.Snapshot] was
// called. Its methods are safe for concurrent use.
//
// The store can be read and written meanwhile. Until the snapshot is closed, the folder
// has a copy of store.db, and the files of the snapshot's blobs that are replaced or
// deleted. A crash leaves both to the next [Open], which removes them.
type Snapshot struct {
	store *Store
	name  string // of the copy of the database
	size  int64
	copy  *bbolt.DB
}

// SnapshotFile is one file of a [Snapshot].
type SnapshotFile struct {
	// Name is relative to the folder, with slashes.
	Name string
	// Size is the length in bytes.
	Size int64
	// SHA256 is the digest of the bytes as the store recorded it, 64 lower-case hex
	// digits. It is empty for a file that is not that of a blob.
	SHA256 string

	path string
}

// Snapshot creates a snapshot; the caller closes it. There is one at a time: while one is
// open, Snapshot returns [ErrSnapshot].
//
// It copies store.db, and so takes as long as that takes, and as much space on the disk.
// On Linux it returns an error when less than 16 MiB would be left. A transaction is
// open meanwhile and not afterwards: writers that have to enlarge store.db wait for the
// end of the copying, but never for the reader of the snapshot. A cancelled context ends
// the copying.
func (s *Store) Snapshot(ctx context.Context) (*Snapshot, error) {
	snapshot, err := s.makeSnapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("create snapshot: %w", err)
	}
	return snapshot, nil
}

func (s *Store) makeSnapshot(ctx context.Context) (_ *Snapshot, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.closed.Load() {
		return nil, storage.ErrClosed
	}
	// Before the transaction begins: a file that is removed from then on may be one that
	// the transaction refers to.
	if !s.pins.begin() {
		return nil, ErrSnapshot
	}
	n := &Snapshot{store: s}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.discard())
		}
	}()
	if err := n.copyDatabase(ctx); err != nil {
		return nil, err
	}
	n.copy, err = bbolt.Open(n.name, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("open the copy of %s: %w", databaseName, err)
	}
	s.pins.made(n.refers)
	s.snapshotMu.Lock()
	defer s.snapshotMu.Unlock()
	if s.closed.Load() {
		return nil, storage.ErrClosed
	}
	s.snapshot = n
	return n, nil
}

// copyDatabase copies the database within one transaction. If the process is killed,
// the next Open removes the copy by its name.
func (n *Snapshot) copyDatabase(ctx context.Context) error {
	return n.store.view(func(tx *bbolt.Tx) (err error) {
		dir := n.store.dir()
		if free, ok := freeSpace(dir); ok && free < tx.Size()+snapshotReserve {
			return fmt.Errorf("a copy of %s needs %d bytes in %q, and %d would have to stay free, but %d are: "+
				"free space there, or back the folder up while no server runs on it", databaseName, tx.Size(), dir, snapshotReserve, free)
		}
		file, err := os.CreateTemp(dir, unfinishedPrefix+"*") // of mode 0600
		if err != nil {
			return err
		}
		n.name = file.Name()
		defer func() { err = errors.Join(err, file.Close()) }()
		n.size, err = tx.WriteTo(&interruptible{ctx, n.store, file})
		return err
	})
}

// interruptible writes until the context ends or the store is closed.
type interruptible struct {
	ctx   context.Context
	store *Store
	to    io.Writer
}

func (w *interruptible) Write(p []byte) (int, error) {
	if w.store.closed.Load() {
		return 0, storage.ErrClosed
	}
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.to.Write(p)
}

// refers reports whether the snapshot has the blob under the key in that file.
func (n *Snapshot) refers(key string, id contentID) bool {
	found := false
	err := view(n.copy, func(tx *bbolt.Tx) error {
		record, err := decodeBlobRecord(tx.Bucket([]byte(blobsBucket)).Get([]byte(key)))
		found = err == nil && record.content == id
		return nil
	})
	return err == nil && found
}

// Files yields the files: store.db, then one for each blob, and format.json if the
// folder has an owner. The sequence ends with the first error. One is that the file of a
// blob is missing or has another length than it was stored with, and names the blob.
func (n *Snapshot) Files(ctx context.Context) iter.Seq2[SnapshotFile, error] {
	return func(yield func(SnapshotFile, error) bool) {
		if n.store.closed.Load() {
			yield(SnapshotFile{}, fmt.Errorf("read snapshot: %w", storage.ErrClosed))
			return
		}
		if !yield(SnapshotFile{Name: databaseName, Size: n.size, path: n.name}, nil) {
			return
		}
		for file, err := range n.blobs(ctx) {
			if err != nil {
				yield(SnapshotFile{}, fmt.Errorf("read snapshot: %w", err))
				return
			}
			if !yield(file, nil) {
				return
			}
		}
		mark := filepath.Join(n.store.dir(), ownerName)
		info, err := os.Stat(mark)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			yield(SnapshotFile{}, fmt.Errorf("read snapshot: %w", err))
		default:
			yield(SnapshotFile{Name: ownerName, Size: info.Size(), path: mark}, nil)
		}
	}
}

// blobs yields the files of blobs. No transaction is open while the caller's loop runs.
func (n *Snapshot) blobs(ctx context.Context) iter.Seq2[SnapshotFile, error] {
	return func(yield func(SnapshotFile, error) bool) {
		after := ""
		for {
			page, last, err := n.page(ctx, after)
			for _, file := range page {
				if !yield(file, nil) {
					return
				}
			}
			if err != nil {
				yield(SnapshotFile{}, err)
				return
			}
			if len(page) < listPage {
				return
			}
			after = last
		}
	}
}

// page returns the next files of blobs, at most listPage, and the last one's key.
func (n *Snapshot) page(ctx context.Context, after string) (page []SnapshotFile, last string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	err = view(n.copy, func(tx *bbolt.Tx) error {
		for key, stored := range records(tx.Bucket([]byte(blobsBucket)), "", after) {
			if len(page) == listPage {
				break
			}
			record, err := decodeBlobRecord(stored)
			if err != nil {
				return failed("read blob", string(key), err)
			}
			file := n.snapshotFile(record)
			if err := file.check(); err != nil {
				return failed("read blob", string(key), err)
			}
			page, last = append(page, file), string(key)
		}
		return nil
	})
	return page, last, err
}

func (n *Snapshot) snapshotFile(record blobRecord) SnapshotFile {
	id := record.content.String()
	return SnapshotFile{
		Name: path.Join(blobsName, id[:2], id), Size: record.size, SHA256: record.info("").SHA256,
		path: n.store.contents.file(record.content),
	}
}

// check returns an error if the file is missing or has another length.
func (f SnapshotFile) check() error {
	info, err := os.Stat(f.path)
	if err == nil && info.Size() != f.Size {
		err = fmt.Errorf("%w: the file has %d bytes, not %d", errDamaged, info.Size(), f.Size)
	}
	return err
}

// Open opens the file for reading. The caller closes it, and may close the snapshot
// before.
func (f SnapshotFile) Open() (io.ReadCloser, error) { return os.Open(f.path) }

// Close removes the copy of the database, and the files of blobs that were replaced or
// deleted while the snapshot was open. A second Close returns nil. [Store.Close] closes
// the snapshot, too; its files cannot be opened afterwards.
func (n *Snapshot) Close() error {
	s := n.store
	s.snapshotMu.Lock()
	open := s.snapshot == n
	if open {
		s.snapshot = nil
	}
	s.snapshotMu.Unlock()
	if !open {
		return nil
	}
	if err := n.discard(); err != nil {
		return fmt.Errorf("close snapshot: %w", err)
	}
	return nil
}

// discard closes and removes what there is of the snapshot, and ends the pins.
func (n *Snapshot) discard() (err error) {
	if n.copy != nil {
		err = n.copy.Close()
	}
	if n.name != "" {
		err = errors.Join(err, os.Remove(n.name))
	}
	for _, id := range n.store.pins.end() {
		n.store.contents.remove(id)
	}
	return err
}

// closeSnapshot closes the open snapshot of a store that is closed.
func (s *Store) closeSnapshot() error {
	s.snapshotMu.Lock()
	n := s.snapshot
	s.snapshotMu.Unlock()
	if n == nil {
		return nil
	}
	return n.Close()
}

// dir returns the folder.
func (s *Store) dir() string { return filepath.Dir(s.contents.path) }
