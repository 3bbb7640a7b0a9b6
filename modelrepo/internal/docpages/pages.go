package docpages

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"

	"github.com/iotenablers/enablers/modelrepo/internal/cleanup"
	"github.com/iotenablers/enablers/storage"
)

// PagePrefix is the first part of the keys of pages. Behind it are the owner of the
// pages and a digest of the page's path. It is a stored format.
const PagePrefix = "page/"

// Style is the style sheet of all pages.
//
//go:embed page.css
var Style []byte

// Pages is where rendered pages are stored. The owner of a set of pages is a text
// that names the version and the set.
type Pages struct{ Blobs storage.Blobs }

func pageKey(owner, name string) string {
	sum := sha256.Sum256([]byte(name))
	return PagePrefix + owner + "/" + hex.EncodeToString(sum[:16])
}

// Write makes a set of pages durable.
func (p Pages) Write(ctx context.Context, owner string, pages map[string][]byte) error {
	for name, data := range pages {
		if err := p.write(ctx, pageKey(owner, name), data); err != nil {
			return err
		}
	}
	return nil
}

func (p Pages) write(ctx context.Context, key string, data []byte) error {
	writer, err := p.Blobs.Create(ctx, key)
	if err != nil {
		return err
	}
	defer func() { _ = writer.Abort() }() // does nothing after Commit
	if _, err := writer.Write(data); err != nil {
		return err
	}
	_, err = writer.Commit(ctx)
	return err
}

// Open opens a page. The error matches [storage.ErrNotFound] if there is none. The page is
// compared with its digest while it is read.
func (p Pages) Open(ctx context.Context, owner, name string) (storage.BlobReader, error) {
	page, err := p.Blobs.Open(ctx, pageKey(owner, name))
	if err != nil {
		return nil, err
	}
	return storage.Checked(page, "", nil), nil
}

// Remove deletes a set of pages, as far as it can: the repair of the repository
// deletes the rest.
func (p Pages) Remove(ctx context.Context, owner string) {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	for info, err := range p.Blobs.List(ctx, PagePrefix+owner+"/") {
		if err != nil || p.Blobs.Delete(ctx, info.Key) != nil {
			return
		}
	}
}
