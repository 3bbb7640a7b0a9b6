package mongo

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/iotenablers/enablers/storage"
)

const (
	// uploadTime is how long an upload may take before it is abandoned.
	uploadTime = 24 * time.Hour
	// grace is how long the bytes of a replaced, deleted or abandoned blob stay.
	// It is far longer than any call, and than clocks differ.
	grace = time.Hour
)

// blobBody is the record of a key: the blob that it names, and every other file
// that was begun under it and is not removed yet. A file is added before its
// first byte is written, and removed after its last byte is deleted, so that
// every file has an entry.
type blobBody struct {
	File     bson.ObjectID `bson:"file,omitempty"` // zero when the key names no blob
	Size     int64         `bson:"size"`
	MD5      string        `bson:"md5"`
	SHA256   string        `bson:"sha256"`
	Modified time.Time     `bson:"modified"`

	Others []otherFile `bson:"others,omitempty"`
	Due    *time.Time  `bson:"due,omitempty"` // the earliest Until of Others
}

// otherFile is a file that the key does not name: a running upload, or a file
// to be removed.
type otherFile struct {
	ID     bson.ObjectID `bson:"id"`
	Upload bool          `bson:"upload"`
	Until  time.Time     `bson:"until"` // of the upload, or until it stays
}

// info describes the blob that the key names.
func (b *blobBody) info(key string) storage.BlobInfo {
	return storage.BlobInfo{Key: key, Size: b.Size, MD5: b.MD5, SHA256: b.SHA256, Modified: b.Modified.UTC()}
}

// begin adds an upload.
func (b *blobBody) begin(id bson.ObjectID, until time.Time) {
	b.Others = append(b.Others, otherFile{ID: id, Upload: true, Until: until})
}

// publish makes the key name an upload, whose description is in the blob. It
// reports whether the upload still had an entry.
func (b *blobBody) publish(blob blobBody, until time.Time) bool {
	at := slices.IndexFunc(b.Others, func(o otherFile) bool { return o.ID == blob.File && o.Upload })
	if at < 0 {
		return false
	}
	others := slices.Delete(b.Others, at, at+1)
	if !b.File.IsZero() {
		others = append(others, otherFile{ID: b.File, Until: until})
	}
	*b = blob
	b.Others = others
	return true
}

// release makes the key name no blob.
func (b *blobBody) release(until time.Time) {
	*b = blobBody{Others: append(b.Others, otherFile{ID: b.File, Until: until})}
}

// giveUp ends an upload. Its file stays for a while, because a write to it may
// still be in progress.
func (b *blobBody) giveUp(id bson.ObjectID, until time.Time) {
	for i := range b.Others {
		if b.Others[i].ID == id && b.Others[i].Upload {
			b.Others[i].Upload, b.Others[i].Until = false, until
		}
	}
}

// drop removes files from the record.
func (b *blobBody) drop(ids ...bson.ObjectID) {
	b.Others = slices.DeleteFunc(b.Others, func(o otherFile) bool { return slices.Contains(ids, o.ID) })
}

// changeBlob reads the record of a key, which may be missing, changes it, and
// stores it if it has not changed meanwhile; otherwise it starts again. An
// empty record is removed.
func (s *Store) changeBlob(ctx context.Context, key string, change func(*blobBody) error) error {
	return storage.Retry(ctx, func() (again bool, err error) {
		found, err := s.blobs.get(ctx, key)
		isNew := errors.Is(err, storage.ErrNotFound)
		if err != nil && !isNew {
			return false, err
		}
		body := found.Body
		body.Others = slices.Clone(body.Others)
		if err := change(&body); err != nil {
			return false, err
		}
		body.Due = nil
		for i := range body.Others {
			if until := &body.Others[i].Until; body.Due == nil || until.Before(*body.Due) {
				body.Due = until
			}
		}
		empty := body.File.IsZero() && len(body.Others) == 0
		switch {
		case isNew && empty:
			return false, nil
		case isNew:
			_, err = s.blobs.create(ctx, key, body)
		case empty:
			err = s.blobs.remove(ctx, key, found.Revision)
		default:
			_, err = s.blobs.replace(ctx, key, found.Revision, body)
		}
		return storage.Overtaken(err), err
	})
}
