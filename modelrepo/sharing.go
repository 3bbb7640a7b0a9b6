package modelrepo

import (
	"context"
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/integrity"
	"github.com/iotenablers/enablers/storage"
)

// share makes the document of the bytes' digest name the blob that has them, and
// returns the key of that blob: the ticket's own, or another one with the same bytes.
// Afterwards either the document is at a revision that no collection in progress has
// read, or the collection reads the ticket.
func (u *upload) share(ctx context.Context, info storage.BlobInfo) (blob string, err error) {
	entered := u.ticket.SHA256 == info.SHA256 // the ticket of an import has it from the beginning
	key := contentPrefix + info.SHA256
	err = storage.Retry(ctx, func() (again bool, err error) {
		_, err = storage.Change(ctx, u.contents.docs, key, func(doc storage.Document) ([]byte, error) {
			if doc.Revision == 0 {
				blob = u.ticket.Blob
				return digest{Blob: blob, Size: info.Size}.encode(), nil
			}
			if !entered {
				// The digest is entered in the ticket before its document is written,
				// because a collection finds the content by one of them.
				if err := u.enterDigest(ctx, info.SHA256); err != nil {
					return nil, err
				}
				entered = true
			}
			found, err := u.touch(ctx, doc, info)
			if err != nil {
				again = storage.Overtaken(err) // a blob was moved or removed since the document was read
				return nil, err
			}
			blob = found.Blob
			return found.encode(), nil
		})
		return again, err
	})
	return blob, err
}

func (u *upload) enterDigest(ctx context.Context, sha256 string) error {
	return u.withTicket(ctx, func(n *node, i int) error { n.Uploads[i].SHA256 = sha256; return nil })
}

// touch returns what is to be stored of a digest in place of the document. It names the upload's own blob
// if the other one was condemned. If the other one is damaged, it gets the upload's bytes.
func (u *upload) touch(ctx context.Context, doc storage.Document, info storage.BlobInfo) (digest, error) {
	found, err := decodeDigest(doc)
	if err != nil {
		return digest{}, err
	}
	if found.Blob != u.ticket.Blob {
		condemned, err := u.contents.collector.isCondemned(ctx, found.Blob)
		if err != nil {
			return digest{}, err
		}
		if condemned {
			found.Blob = u.ticket.Blob
		} else if err := u.contents.checker.Ensure(ctx,
			integrity.Content{Blob: found.Blob, Size: info.Size, SHA256: info.SHA256}, u.ticket.Blob); err != nil {
			return digest{}, err
		}
	}
	found.Unreferenced = time.Time{}
	return found, nil
}
