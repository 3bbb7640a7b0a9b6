package s3

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/storage"
)

// fetches is how many records are read at one time.
const fetches = 16

// Blobs is the [storage.Blobs] of a [Store]. It is safe for concurrent use.
type Blobs struct {
	store *Store
}

// Create implements [storage.Blobs].
func (b *Blobs) Create(ctx context.Context, key string) (storage.BlobWriter, error) {
	if err := b.store.admit(ctx, key); err != nil {
		return nil, failed("create blob", key, err)
	}
	return newBlobWriter(ctx, b.store, key), nil
}

// Open implements [storage.Blobs].
func (b *Blobs) Open(ctx context.Context, key string) (storage.BlobReader, error) {
	found, err := b.store.find(ctx, key)
	if err != nil {
		return nil, failed("open blob", key, b.store.explain(err, ctx))
	}
	return &blobReader{ctx: ctx, store: b.store, name: bytesPart + found.Bytes, info: found.info()}, nil
}

// Stat implements [storage.Blobs].
func (b *Blobs) Stat(ctx context.Context, key string) (storage.BlobInfo, error) {
	found, err := b.store.find(ctx, key)
	if err != nil {
		return storage.BlobInfo{}, failed("stat blob", key, b.store.explain(err, ctx))
	}
	return found.info(), nil
}

// Delete implements [storage.Blobs].
func (b *Blobs) Delete(ctx context.Context, key string) error {
	if err := b.delete(ctx, key); err != nil {
		return failed("delete blob", key, b.store.explain(err, ctx))
	}
	return nil
}

func (b *Blobs) delete(ctx context.Context, key string) error {
	if err := b.store.admit(ctx, key); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
	found, err := b.store.find(limited, key)
	switch {
	case errors.Is(err, errDamaged): // its identifier is unknown
	case err != nil:
		return err
	default:
		if err := b.store.announce(limited, newID(), note{Key: key, Bytes: []string{found.Bytes}}); err != nil {
			return err
		}
	}
	return b.store.bucket.remove(limited, recordName(key))
}

// List implements [storage.Blobs]. It reads each record, several at a time.
func (b *Blobs) List(ctx context.Context, prefix string) iter.Seq2[storage.BlobInfo, error] {
	return func(yield func(storage.BlobInfo, error) bool) {
		fail := func(err error) { yield(storage.BlobInfo{}, failed("list blobs", prefix, b.store.explain(err, ctx))) }
		if prefix != "" {
			if err := storage.ValidKey(prefix); err != nil {
				fail(err)
				return
			}
		}
		if err := errors.Join(ctx.Err(), b.store.open()); err != nil {
			fail(err)
			return
		}
		batch := make([]string, 0, fetches)
		flush := func() bool {
			infos, err := b.fetch(ctx, batch)
			batch = batch[:0]
			if err != nil {
				fail(err)
				return false
			}
			for _, info := range infos {
				if !yield(info, nil) {
					return false
				}
			}
			return true
		}
		for key, err := range b.keys(ctx, prefix) {
			if err != nil {
				fail(err)
				return
			}
			if batch = append(batch, key); len(batch) == fetches && !flush() {
				return
			}
		}
		flush()
	}
}

// keys yields the keys that start with prefix.
func (b *Blobs) keys(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		common, after := recordRange(prefix)
		for object, err := range b.store.bucket.list(ctx, common, after) {
			if err == nil {
				err = b.store.open()
			}
			if err != nil {
				yield("", err)
				return
			}
			key, ok := recordKey(object.Key)
			if !ok {
				continue // not ours
			}
			if !strings.HasPrefix(key, prefix) || !yield(key, nil) {
				return // in order, so no further one has the prefix
			}
		}
	}
}

// fetch returns the infos of the keys in their order, without blobs that were
// deleted meanwhile.
func (b *Blobs) fetch(ctx context.Context, keys []string) ([]storage.BlobInfo, error) {
	found, errs := make([]record, len(keys)), make([]error, len(keys))
	var all sync.WaitGroup
	for i, key := range keys {
		all.Go(func() { found[i], errs[i] = b.store.find(ctx, key) })
	}
	all.Wait()
	infos := make([]storage.BlobInfo, 0, len(keys))
	for i, err := range errs {
		switch {
		case errors.Is(err, storage.ErrNotFound):
		case err != nil:
			return nil, failed("read", keys[i], err)
		default:
			infos = append(infos, found[i].info())
		}
	}
	return infos, nil
}

// find returns the record of a key, or storage.ErrNotFound.
func (s *Store) find(ctx context.Context, key string) (record, error) {
	if err := s.admit(ctx, key); err != nil {
		return record{}, err
	}
	data, err := s.bucket.small(ctx, recordName(key))
	if err != nil {
		return record{}, err
	}
	return decodeRecord(key, data)
}
