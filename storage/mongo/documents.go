package mongo

import (
	"context"

	"github.com/iotenablers/enablers/storage"
)

// documentBody is the JSON text of a document, as a string: bytes are kept, and
// people can read them in the database.
type documentBody struct {
	Data string `bson:"data"`
}

// Documents is the [storage.Documents] of a [Store]. It is safe for concurrent
// use.
type Documents struct {
	store *Store
}

// Get implements [storage.Documents].
func (d *Documents) Get(ctx context.Context, key string) (storage.Document, error) {
	const verb = "get document"
	if err := d.store.admit(ctx, key); err != nil {
		return storage.Document{}, failed(verb, key, err)
	}
	limited, cancel := d.store.limit(ctx)
	defer cancel()
	found, err := d.store.documents.get(limited, key)
	if err != nil {
		return storage.Document{}, failed(verb, key, d.store.explain(ctx, err))
	}
	return document(found), nil
}

// Create implements [storage.Documents].
func (d *Documents) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	return d.write(ctx, "create document", key, data, func(ctx context.Context, body documentBody) (int64, error) {
		return d.store.documents.create(ctx, key, body)
	})
}

// Update implements [storage.Documents].
func (d *Documents) Update(ctx context.Context, key string, prev storage.Revision,
	data []byte) (storage.Revision, error) {
	return d.write(ctx, "update document", key, data, func(ctx context.Context, body documentBody) (int64, error) {
		return d.store.documents.replace(ctx, key, int64(prev), body)
	})
}

// write checks what is to be written and calls store with it.
func (d *Documents) write(ctx context.Context, verb, key string, data []byte,
	store func(context.Context, documentBody) (int64, error)) (storage.Revision, error) {
	if err := d.store.admit(ctx, key); err != nil {
		return 0, failed(verb, key, err)
	}
	if err := storage.ValidData(data); err != nil {
		return 0, failed(verb, key, err)
	}
	limited, cancel := d.store.limit(ctx)
	defer cancel()
	revision, err := store(limited, documentBody{Data: string(data)})
	if err != nil {
		return 0, failed(verb, key, d.store.explain(ctx, err))
	}
	return storage.Revision(revision), nil
}

// Delete implements [storage.Documents].
func (d *Documents) Delete(ctx context.Context, key string, prev storage.Revision) error {
	const verb = "delete document"
	if err := d.store.admit(ctx, key); err != nil {
		return failed(verb, key, err)
	}
	limited, cancel := d.store.limit(ctx)
	defer cancel()
	if err := d.store.documents.remove(limited, key, int64(prev)); err != nil {
		return failed(verb, key, d.store.explain(ctx, err))
	}
	return nil
}

// List implements [storage.Documents].
func (d *Documents) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	const verb = "list documents"
	if err := d.store.admitListing(ctx, prefix, after); err != nil {
		return nil, failed(verb, prefix, err)
	}
	if limit <= 0 {
		limit = storage.DefaultPage
	}
	limited, cancel := d.store.limit(ctx)
	defer cancel()
	found, err := d.store.documents.page(limited, prefix, after, limit)
	if err != nil {
		return nil, failed(verb, prefix, d.store.explain(ctx, err))
	}
	page := make([]storage.Document, len(found))
	for i := range found {
		page[i] = document(found[i])
	}
	return page, nil
}

func document(r record[documentBody]) storage.Document {
	return storage.Document{Key: r.Key, Revision: storage.Revision(r.Revision), Data: []byte(r.Body.Data)}
}
