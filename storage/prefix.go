package storage

import (
	"context"
	"iter"
	"strings"
)

// Prefixed returns the part of a store whose keys start with prefix, as a store
// of its own: the prefix is added to every key that is passed in and removed
// from every key that is returned. Errors name the whole key. Give each
// component a prefix that is not the beginning of another one, preferably one
// that ends in "/".
//
// The prefix counts towards [MaxKeyLength], so keys are shorter by its length.
// An empty prefix returns the store itself; with one that [ValidKey] refuses
// every method fails with [ErrInvalidKey]. The result is as safe for
// concurrent use as docs.
func Prefixed(docs Documents, prefix string) Documents {
	if prefix == "" {
		return docs
	}
	return &prefixedDocuments{docs: docs, prefix: prefix}
}

// PrefixedBlobs is [Prefixed] for blobs.
func PrefixedBlobs(blobs Blobs, prefix string) Blobs {
	if prefix == "" {
		return blobs
	}
	return &prefixedBlobs{blobs: blobs, prefix: prefix}
}

type prefixedDocuments struct {
	docs   Documents
	prefix string
}

func (p *prefixedDocuments) Get(ctx context.Context, key string) (Document, error) {
	whole, err := under(p.prefix, key)
	if err != nil {
		return Document{}, failed("get document", whole, err)
	}
	doc, err := p.docs.Get(ctx, whole)
	if err != nil {
		return Document{}, err
	}
	doc.Key = key
	return doc, nil
}

func (p *prefixedDocuments) Create(ctx context.Context, key string, data []byte) (Revision, error) {
	whole, err := under(p.prefix, key)
	if err != nil {
		return 0, failed("create document", whole, err)
	}
	return p.docs.Create(ctx, whole, data)
}

func (p *prefixedDocuments) Update(ctx context.Context, key string, prev Revision, data []byte) (Revision, error) {
	whole, err := under(p.prefix, key)
	if err != nil {
		return 0, failed("update document", whole, err)
	}
	return p.docs.Update(ctx, whole, prev, data)
}

func (p *prefixedDocuments) Delete(ctx context.Context, key string, prev Revision) error {
	whole, err := under(p.prefix, key)
	if err != nil {
		return failed("delete document", whole, err)
	}
	return p.docs.Delete(ctx, whole, prev)
}

func (p *prefixedDocuments) List(ctx context.Context, prefix, after string, limit int) ([]Document, error) {
	if err := checkListing(prefix, after); err != nil {
		return nil, failed("list documents", p.prefix+prefix, err)
	}
	if after != "" {
		after = p.prefix + after
	}
	page, err := p.docs.List(ctx, p.prefix+prefix, after, limit)
	for i := range page {
		page[i].Key = strings.TrimPrefix(page[i].Key, p.prefix)
	}
	return page, err
}

type prefixedBlobs struct {
	blobs  Blobs
	prefix string
}

func (p *prefixedBlobs) Create(ctx context.Context, key string) (BlobWriter, error) {
	whole, err := under(p.prefix, key)
	if err != nil {
		return nil, failed("create blob", whole, err)
	}
	writer, err := p.blobs.Create(ctx, whole)
	if err != nil {
		return nil, err
	}
	return &prefixedBlobWriter{BlobWriter: writer, key: key}, nil
}

func (p *prefixedBlobs) Open(ctx context.Context, key string) (BlobReader, error) {
	whole, err := under(p.prefix, key)
	if err != nil {
		return nil, failed("open blob", whole, err)
	}
	reader, err := p.blobs.Open(ctx, whole)
	if err != nil {
		return nil, err
	}
	return &prefixedBlobReader{BlobReader: reader, key: key}, nil
}

func (p *prefixedBlobs) Stat(ctx context.Context, key string) (BlobInfo, error) {
	whole, err := under(p.prefix, key)
	if err != nil {
		return BlobInfo{}, failed("stat blob", whole, err)
	}
	info, err := p.blobs.Stat(ctx, whole)
	if err != nil {
		return BlobInfo{}, err
	}
	info.Key = key
	return info, nil
}

func (p *prefixedBlobs) Delete(ctx context.Context, key string) error {
	whole, err := under(p.prefix, key)
	if err != nil {
		return failed("delete blob", whole, err)
	}
	return p.blobs.Delete(ctx, whole)
}

func (p *prefixedBlobs) List(ctx context.Context, prefix string) iter.Seq2[BlobInfo, error] {
	return func(yield func(BlobInfo, error) bool) {
		if err := checkListing(prefix); err != nil {
			yield(BlobInfo{}, failed("list blobs", p.prefix+prefix, err))
			return
		}
		for info, err := range p.blobs.List(ctx, p.prefix+prefix) {
			info.Key = strings.TrimPrefix(info.Key, p.prefix)
			if !yield(info, err) {
				return
			}
		}
	}
}

type prefixedBlobWriter struct {
	BlobWriter
	key string
}

func (w *prefixedBlobWriter) Commit(ctx context.Context) (BlobInfo, error) {
	info, err := w.BlobWriter.Commit(ctx)
	if err != nil {
		return BlobInfo{}, err
	}
	info.Key = w.key
	return info, nil
}

type prefixedBlobReader struct {
	BlobReader
	key string
}

func (r *prefixedBlobReader) Info() BlobInfo {
	info := r.BlobReader.Info()
	info.Key = r.key
	return info
}

// under returns the whole key. An invalid key is refused here, because the
// whole key could be valid: that of the empty key is.
func under(prefix, key string) (string, error) {
	return prefix + key, ValidKey(key)
}
