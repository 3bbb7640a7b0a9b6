package mongo

import (
	"context"
	"iter"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/iotenablers/enablers/storage"
)

// listPage is how many records a listing of blobs reads in one call.
const listPage = 256

// Blobs is the [storage.Blobs] of a [Store]. It is safe for concurrent use.
type Blobs struct {
	store *Store
}

// Create implements [storage.Blobs]. It does not contact the server; the first
// large Write, or Commit, does.
func (b *Blobs) Create(ctx context.Context, key string) (storage.BlobWriter, error) {
	if err := b.store.admit(ctx, key); err != nil {
		return nil, failed("create blob", key, err)
	}
	return newBlobWriter(ctx, b.store, key), nil
}

// Open implements [storage.Blobs].
func (b *Blobs) Open(ctx context.Context, key string) (storage.BlobReader, error) {
	body, err := b.find(ctx, key)
	if err != nil {
		return nil, failed("open blob", key, err)
	}
	return &blobReader{ctx: ctx, store: b.store, file: body.File, info: body.info(key)}, nil
}

// Stat implements [storage.Blobs].
func (b *Blobs) Stat(ctx context.Context, key string) (storage.BlobInfo, error) {
	body, err := b.find(ctx, key)
	if err != nil {
		return storage.BlobInfo{}, failed("stat blob", key, err)
	}
	return body.info(key), nil
}

// find returns the record of a key that names a blob.
func (b *Blobs) find(ctx context.Context, key string) (blobBody, error) {
	if err := b.store.admit(ctx, key); err != nil {
		return blobBody{}, err
	}
	limited, cancel := b.store.limit(ctx)
	defer cancel()
	found, err := b.store.blobs.get(limited, key)
	if err == nil && found.Body.File.IsZero() {
		err = storage.ErrNotFound
	}
	return found.Body, b.store.explain(ctx, err)
}

// Delete implements [storage.Blobs].
func (b *Blobs) Delete(ctx context.Context, key string) error {
	const verb = "delete blob"
	if err := b.store.admit(ctx, key); err != nil {
		return failed(verb, key, err)
	}
	limited, cancel := b.store.limit(ctx)
	defer cancel()
	err := b.store.changeBlob(limited, key, func(body *blobBody) error {
		if body.File.IsZero() {
			return storage.ErrNotFound
		}
		body.release(b.store.now().Add(grace))
		return nil
	})
	if err != nil {
		return failed(verb, key, b.store.explain(ctx, err))
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
			for _, found := range page {
				if !yield(found.Body.info(found.Key), nil) {
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

// page returns the next blobs of a listing, at most listPage.
func (b *Blobs) page(ctx context.Context, prefix, after string) ([]record[blobBody], error) {
	if err := b.store.admitListing(ctx, prefix); err != nil {
		return nil, err
	}
	limited, cancel := b.store.limit(ctx)
	defer cancel()
	named := bson.E{Key: "file", Value: bson.D{{Key: "$exists", Value: true}}}
	page, err := b.store.blobs.page(limited, prefix, after, listPage, named)
	return page, b.store.explain(ctx, err)
}
