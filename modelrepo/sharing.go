package modelrepo

import (
	"context"
	"errors"
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/cas"
	"github.com/iotenablers/enablers/modelrepo/internal/integrity"
	"github.com/iotenablers/enablers/storage"
)

// share makes the document of the bytes' digest name the blob that has them, and
// returns the key of that blob: the ticket's own, or another one with the same bytes.
// Afterwards either the document is at a revision that no collection in progress has
// read, or the collection reads the ticket.
func (u *upload) share(ctx context.Context, info storage.BlobInfo) (blob string, err error) {
	docs, key := u.contents.docs, contentPrefix+info.SHA256
	entered := u.ticket.SHA256 == info.SHA256 // the ticket of an import has it from the beginning
	for attempt := 0; ; attempt++ {
		doc, err := docs.Get(ctx, key)
		if errors.Is(err, storage.ErrNotFound) {
			_, err = docs.Create(ctx, key, digest{Blob: u.ticket.Blob, Size: info.Size}.encode())
			if err == nil {
				return u.ticket.Blob, nil
			}
			if !errors.Is(err, storage.ErrExists) {
				return "", err
			}
			doc, err = docs.Get(ctx, key)
		}
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return "", err
		}
		if err == nil {
			if !entered {
				// The digest is entered in the ticket before its document is written,
				// because a collection finds the content by one of them.
				if err := u.enterDigest(ctx, info.SHA256); err != nil {
					return "", err
				}
				entered = true
			}
			blob, err := u.touch(ctx, doc, info)
			if err == nil || !cas.Moved(err) {
				return blob, err
			}
		}
		if err := cas.Pause(ctx, attempt); err != nil {
			return "", err
		}
	}
}

func (u *upload) enterDigest(ctx context.Context, sha256 string) error {
	return u.withTicket(ctx, func(n *node, i int) error { n.Uploads[i].SHA256 = sha256; return nil })
}

// touch writes the document of a digest again and returns the blob that it names. That
// is the upload's own if the other one was condemned. If the other one is damaged, it gets
// the upload's bytes.
func (u *upload) touch(ctx context.Context, doc storage.Document, info storage.BlobInfo) (blob string, err error) {
	found, err := decodeDigest(doc)
	if err != nil {
		return "", err
	}
	if found.Blob != u.ticket.Blob {
		condemned, err := u.contents.collector.isCondemned(ctx, found.Blob)
		if err != nil {
			return "", err
		}
		if condemned {
			found.Blob = u.ticket.Blob
		} else if err := u.contents.checker.Ensure(ctx,
			integrity.Content{Blob: found.Blob, Size: info.Size, SHA256: info.SHA256}, u.ticket.Blob); err != nil {
			return "", err
		}
	}
	found.Unreferenced = time.Time{}
	_, err = u.contents.docs.Update(ctx, doc.Key, doc.Revision, found.encode())
	return found.Blob, err
}
