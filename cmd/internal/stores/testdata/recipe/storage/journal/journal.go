// Package journal keeps documents and blobs in memory, and all writes in one file that is read again at the
// start. It is the smallest complete driver, an example for others: the file only ever grows.
package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sync"

	"github.com/iotenablers/enablers/storage"
)

// Store is the documents and blobs of one file. One process at a time may open a file.
type Store struct {
	documents *storage.MemoryDocuments
	blobs     *storage.MemoryBlobs

	mu   sync.Mutex // orders the writes
	file *os.File   // nil once the store is closed
}

// entry is a line of the file: a write that has happened.
type entry struct {
	Op   string `json:"op"`
	Key  string `json:"key"`
	Data []byte `json:"data,omitempty"`
}

// Open reads the file, which need not exist. The caller closes the store.
func Open(name string) (*Store, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	s := &Store{documents: storage.NewMemoryDocuments(), blobs: storage.NewMemoryBlobs(), file: file}
	var whole int64 // how much of the file is whole entries: a crash can leave a part of the last one
	for in := json.NewDecoder(file); ; whole = in.InputOffset() {
		var e entry
		if in.Decode(&e) != nil {
			break
		}
		if err := s.apply(e); err != nil {
			return nil, errors.Join(fmt.Errorf("read journal %q: %w", name, err), file.Close())
		}
	}
	_, err = file.Seek(whole, io.SeekStart)
	if err = errors.Join(file.Truncate(whole), err); err != nil {
		return nil, errors.Join(fmt.Errorf("open journal: %w", err), file.Close())
	}
	return s, nil
}

// apply makes a write happen again. Its revision is the same as before, because all earlier ones have happened
// again in their order.
func (s *Store) apply(e entry) error {
	ctx := context.Background()
	switch e.Op {
	case "create":
		_, err := s.documents.Create(ctx, e.Key, e.Data)
		return err
	case "commit":
		w, err := s.blobs.Create(ctx, e.Key)
		if err != nil {
			return err
		}
		defer func() { _ = w.Abort() }() // does nothing after Commit
		if _, err := w.Write(e.Data); err != nil {
			return err
		}
		_, err = w.Commit(ctx)
		return err
	case "remove":
		return s.blobs.Delete(ctx, e.Key)
	}
	found, err := s.documents.Get(ctx, e.Key)
	if err != nil {
		return err
	}
	if e.Op == "delete" {
		return s.documents.Delete(ctx, e.Key, found.Revision)
	}
	_, err = s.documents.Update(ctx, e.Key, found.Revision, e.Data)
	return err
}

// Close closes the file.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	return file.Close()
}

// write lets a write happen in memory and, if it succeeds, in the file. A file that cannot be written closes the
// store: what is in memory is ahead of it.
func (s *Store) write(e entry, inMemory func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(); err != nil {
		return fmt.Errorf("%s %q: %w", e.Op, e.Key, err)
	}
	if err := inMemory(); err != nil {
		return err
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = s.file.Write(append(line, '\n'))
	}
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		_ = s.file.Close() // the first error is returned
		s.file = nil
		return fmt.Errorf("%s %q: %w", e.Op, e.Key, err)
	}
	return nil
}

func (s *Store) check() error {
	if s.file == nil {
		return storage.ErrClosed
	}
	return nil
}

func (s *Store) isOpen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.check()
}

// Documents returns the documents of the store.
func (s *Store) Documents() storage.Documents { return documents{s} }

type documents struct{ store *Store }

func (d documents) Get(ctx context.Context, key string) (storage.Document, error) {
	if err := d.store.isOpen(); err != nil {
		return storage.Document{}, fmt.Errorf("get document %q: %w", key, err)
	}
	return d.store.documents.Get(ctx, key)
}

func (d documents) Create(ctx context.Context, key string, data []byte) (revision storage.Revision, err error) {
	err = d.store.write(entry{Op: "create", Key: key, Data: data}, func() error {
		revision, err = d.store.documents.Create(ctx, key, data)
		return err
	})
	return revision, err
}

func (d documents) Update(
	ctx context.Context, key string, prev storage.Revision, data []byte,
) (revision storage.Revision, err error) {
	err = d.store.write(entry{Op: "update", Key: key, Data: data}, func() error {
		revision, err = d.store.documents.Update(ctx, key, prev, data)
		return err
	})
	return revision, err
}

func (d documents) Delete(ctx context.Context, key string, prev storage.Revision) error {
	return d.store.write(entry{Op: "delete", Key: key}, func() error { return d.store.documents.Delete(ctx, key, prev) })
}

func (d documents) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	if err := d.store.isOpen(); err != nil {
		return nil, fmt.Errorf("list documents %q: %w", prefix, err)
	}
	return d.store.documents.List(ctx, prefix, after, limit)
}

// Blobs returns the blobs of the store.
func (s *Store) Blobs() storage.Blobs { return blobs{s} }

type blobs struct{ store *Store }

func (b blobs) Create(ctx context.Context, key string) (storage.BlobWriter, error) {
	if err := b.store.isOpen(); err != nil {
		return nil, fmt.Errorf("create blob %q: %w", key, err)
	}
	w, err := b.store.blobs.Create(ctx, key)
	if err != nil {
		return nil, err
	}
	return &writer{BlobWriter: w, store: b.store, key: key}, nil
}

func (b blobs) Open(ctx context.Context, key string) (storage.BlobReader, error) {
	if err := b.store.isOpen(); err != nil {
		return nil, fmt.Errorf("open blob %q: %w", key, err)
	}
	return b.store.blobs.Open(ctx, key)
}

func (b blobs) Stat(ctx context.Context, key string) (storage.BlobInfo, error) {
	if err := b.store.isOpen(); err != nil {
		return storage.BlobInfo{}, fmt.Errorf("stat blob %q: %w", key, err)
	}
	return b.store.blobs.Stat(ctx, key)
}

func (b blobs) Delete(ctx context.Context, key string) error {
	return b.store.write(entry{Op: "remove", Key: key}, func() error { return b.store.blobs.Delete(ctx, key) })
}

func (b blobs) List(ctx context.Context, prefix string) iter.Seq2[storage.BlobInfo, error] {
	if err := b.store.isOpen(); err != nil {
		return func(yield func(storage.BlobInfo, error) bool) {
			yield(storage.BlobInfo{}, fmt.Errorf("list blobs %q: %w", prefix, err))
		}
	}
	return b.store.blobs.List(ctx, prefix)
}

// writer keeps the bytes of a blob for the file.
type writer struct {
	storage.BlobWriter
	store *Store
	key   string
	data  []byte
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.BlobWriter.Write(p)
	w.data = append(w.data, p[:n]...)
	return n, err
}

func (w *writer) Commit(ctx context.Context) (info storage.BlobInfo, err error) {
	err = w.store.write(entry{Op: "commit", Key: w.key, Data: w.data}, func() error {
		info, err = w.BlobWriter.Commit(ctx)
		return err
	})
	return info, err
}
