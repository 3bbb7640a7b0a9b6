package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"

	"go.etcd.io/bbolt"

	"github.com/iotenablers/enablers/storage"
)

// listPage is how many records a listing of blobs reads in one transaction.
const listPage = 256

// Blobs is the [storage.Blobs] of a [Store]. It is safe for concurrent use.
type Blobs struct {
	store *Store
}

// Create implements [storage.Blobs].
func (b *Blobs) Create(ctx context.Context, key string) (storage.BlobWriter, error) {
	const verb = "create blob"
	if err := admit(ctx, key); err != nil {
		return nil, failed(verb, key, err)
	}
	if b.store.closed.Load() {
		return nil, failed(verb, key, storage.ErrClosed)
	}
	file, id, err := b.store.contents.create()
	if err != nil {
		return nil, failed(verb, key, b.store.space.explain(err))
	}
	return newBlobWriter(ctx, b.store, key, file, id), nil
}

// Open implements [storage.Blobs].
func (b *Blobs) Open(ctx context.Context, key string) (storage.BlobReader, error) {
	const verb = "open blob"
	var missing contentID
	for {
		record, err := b.find(ctx, key)
		if err != nil {
			return nil, failed(verb, key, err)
		}
		file, err := b.store.contents.open(record.content)
		if errors.Is(err, fs.ErrNotExist) && record.content != missing {
			// Replaced or deleted between the two steps. If the record is the same the
			// next time, the file is missing.
			missing = record.content
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: its file is missing: restore it from a backup: %w", errBytes, err)
		}
		if err != nil {
			return nil, failed(verb, key, err)
		}
		if err := checkSize(file, record.size); err != nil {
			return nil, failed(verb, key, errors.Join(err, file.Close()))
		}
		return &blobReader{ctx: ctx, file: file, info: record.info(key)}, nil
	}
}

// Stat implements [storage.Blobs].
func (b *Blobs) Stat(ctx context.Context, key string) (storage.BlobInfo, error) {
	record, err := b.find(ctx, key)
	if err != nil {
		return storage.BlobInfo{}, failed("stat blob", key, err)
	}
	return record.info(key), nil
}

// Delete implements [storage.Blobs].
func (b *Blobs) Delete(ctx context.Context, key string) error {
	const verb = "delete blob"
	if err := admit(ctx, key); err != nil {
		return failed(verb, key, err)
	}
	var old blobRecord
	var oldErr error
	err := b.store.commits.do(ctx, func(tx *bbolt.Tx) error {
		bucket := tx.Bucket([]byte(blobsBucket))
		stored := bucket.Get([]byte(key))
		if stored == nil {
			return storage.ErrNotFound
		}
		old, oldErr = decodeBlobRecord(stored)
		return bucket.Delete([]byte(key))
	})
	if err != nil {
		return failed(verb, key, err)
	}
	if oldErr == nil {
		b.store.discard(key, old.content)
	}
	return nil
}

// List implements [storage.Blobs].
func (b *Blobs) List(ctx context.Context, prefix string) iter.Seq2[storage.BlobInfo, error] {
	return func(yield func(storage.BlobInfo, error) bool) {
		after := ""
		for {
			page, err := b.page(ctx, prefix, after)
			if err != nil {
				yield(storage.BlobInfo{}, failed("list blobs", prefix, err))
				return
			}
			for _, info := range page {
				if !yield(info, nil) {
					return
				}
			}
			if len(page) < listPage {
				return
			}
			after = page[len(page)-1].Key
		}
	}
}

// page returns the next blobs of a listing, at most listPage, so that no
// transaction is open while the caller's loop runs.
func (b *Blobs) page(ctx context.Context, prefix, after string) ([]storage.BlobInfo, error) {
	if err := admitListing(ctx, prefix); err != nil {
		return nil, err
	}
	page := make([]storage.BlobInfo, 0, listPage)
	err := b.store.view(func(tx *bbolt.Tx) error {
		for key, stored := range records(tx.Bucket([]byte(blobsBucket)), prefix, after) {
			if len(page) == listPage {
				break
			}
			record, err := decodeBlobRecord(stored)
			if err != nil {
				return failed("read", string(key), err)
			}
			page = append(page, record.info(string(key)))
		}
		return nil
	})
	return page, err
}

// find returns the record of a blob.
func (b *Blobs) find(ctx context.Context, key string) (record blobRecord, err error) {
	if err := admit(ctx, key); err != nil {
		return blobRecord{}, err
	}
	err = b.store.view(func(tx *bbolt.Tx) error {
		stored := tx.Bucket([]byte(blobsBucket)).Get([]byte(key))
		if stored == nil {
			return storage.ErrNotFound
		}
		record, err = decodeBlobRecord(stored)
		return err
	})
	return record, err
}

// checkSize returns an error if the file does not have the recorded length.
func checkSize(file *os.File, size int64) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != size {
		return fmt.Errorf("%w: the file %s has %d bytes, not %d: restore it from a backup", errBytes, file.Name(), info.Size(), size)
	}
	return nil
}
