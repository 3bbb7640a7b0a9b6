package disk

import (
	"bytes"
	"context"

	"go.etcd.io/bbolt"

	"github.com/iotenablers/enablers/storage"
)

// Documents is the [storage.Documents] of a [Store]. Revisions are a counter
// over the whole store that only grows. It is safe for concurrent use.
type Documents struct {
	store *Store
}

// Get implements [storage.Documents].
func (d *Documents) Get(ctx context.Context, key string) (storage.Document, error) {
	const verb = "get document"
	if err := admit(ctx, key); err != nil {
		return storage.Document{}, failed(verb, key, err)
	}
	doc := storage.Document{Key: key}
	err := d.store.view(func(tx *bbolt.Tx) error {
		revision, data, err := findDocument(tx, key)
		doc.Revision, doc.Data = revision, bytes.Clone(data)
		return err
	})
	if err != nil {
		return storage.Document{}, failed(verb, key, err)
	}
	return doc, nil
}

// Create implements [storage.Documents].
func (d *Documents) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	return d.write(ctx, "create document", key, data, func(tx *bbolt.Tx) error {
		if tx.Bucket([]byte(documentsBucket)).Get([]byte(key)) != nil {
			return storage.ErrExists
		}
		return nil
	})
}

// Update implements [storage.Documents].
func (d *Documents) Update(ctx context.Context, key string, prev storage.Revision,
	data []byte) (storage.Revision, error) {
	return d.write(ctx, "update document", key, data, func(tx *bbolt.Tx) error {
		return checkRevision(tx, key, prev)
	})
}

// Delete implements [storage.Documents].
func (d *Documents) Delete(ctx context.Context, key string, prev storage.Revision) error {
	const verb = "delete document"
	if err := admit(ctx, key); err != nil {
		return failed(verb, key, err)
	}
	err := d.store.commits.do(ctx, func(tx *bbolt.Tx) error {
		if err := checkRevision(tx, key, prev); err != nil {
			return err
		}
		return tx.Bucket([]byte(documentsBucket)).Delete([]byte(key))
	})
	if err != nil {
		return failed(verb, key, err)
	}
	return nil
}

// List implements [storage.Documents].
func (d *Documents) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	const verb = "list documents"
	if err := admitListing(ctx, prefix, after); err != nil {
		return nil, failed(verb, prefix, err)
	}
	if limit <= 0 {
		limit = storage.DefaultPage
	}
	var page []storage.Document
	err := d.store.view(func(tx *bbolt.Tx) error {
		for key, record := range records(tx.Bucket([]byte(documentsBucket)), prefix, after) {
			if len(page) == limit {
				break
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			revision, data, err := decodeDocument(record)
			if err != nil {
				return failed("read", string(key), err)
			}
			page = append(page, storage.Document{Key: string(key), Revision: revision, Data: bytes.Clone(data)})
		}
		return nil
	})
	if err != nil {
		return nil, failed(verb, prefix, err)
	}
	return page, nil
}

// write stores data under the key at a new revision, if the check allows it.
func (d *Documents) write(ctx context.Context, verb, key string, data []byte,
	check func(tx *bbolt.Tx) error) (storage.Revision, error) {
	if err := admit(ctx, key); err != nil {
		return 0, failed(verb, key, err)
	}
	if err := storage.ValidData(data); err != nil {
		return 0, failed(verb, key, err)
	}
	var revision storage.Revision
	err := d.store.commits.do(ctx, func(tx *bbolt.Tx) error {
		if err := check(tx); err != nil {
			return err
		}
		bucket := tx.Bucket([]byte(documentsBucket))
		next, err := bucket.NextSequence()
		if err != nil {
			return err
		}
		revision = storage.Revision(next)
		return bucket.Put([]byte(key), encodeDocument(revision, data))
	})
	if err != nil {
		return 0, failed(verb, key, err)
	}
	return revision, nil
}

// findDocument returns a document's revision and data, which is valid during
// the transaction only.
func findDocument(tx *bbolt.Tx, key string) (storage.Revision, []byte, error) {
	record := tx.Bucket([]byte(documentsBucket)).Get([]byte(key))
	if record == nil {
		return 0, nil, storage.ErrNotFound
	}
	return decodeDocument(record)
}

// checkRevision reports why the document is not at the revision, or nil.
func checkRevision(tx *bbolt.Tx, key string, prev storage.Revision) error {
	revision, _, err := findDocument(tx, key)
	if err != nil {
		return err
	}
	if revision != prev {
		return storage.ErrConflict
	}
	return nil
}
