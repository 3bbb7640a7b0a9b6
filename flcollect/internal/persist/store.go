package persist

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/storage"
)

// ErrDamaged is matched by the error of stored data that is not what was written.
var ErrDamaged = errors.New("flcollect: damaged checkpoint")

// Lost reports whether an error means that stored data will never be there again.
func Lost(err error) bool {
	return errors.Is(err, ErrDamaged) || errors.Is(err, storage.ErrNotFound)
}

// Store is the storage of a server, or of one of its jobs.
type Store struct {
	Documents storage.Documents
	Blobs     storage.Blobs
	// Trouble observes [Store.Insist]: it is called with the error of each try that
	// fails and is repeated, and with nil once the operation has ended after that.
	Trouble func(err error)
	// Holds returns nil while the job is that of this server, and otherwise why not. Nil
	// means that no other server has access to the storage.
	Holds func(ctx context.Context) error
}

// Insist repeats an operation on the storage until it succeeds, the context ends, or
// no repetition can help.
func (s Store) Insist(ctx context.Context, operation func() error) error {
	pause := Pauses()
	failed := false
	defer func() {
		if failed {
			s.Trouble(nil)
		}
	}()
	for {
		err := operation()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, storage.ErrConflict), errors.Is(err, storage.ErrInvalidData),
			errors.Is(err, storage.ErrInvalidKey), Lost(err):
			return err
		}
		failed = true
		s.Trouble(err)
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}

// Update replaces a document. It succeeds as well where an earlier try, whose answer was
// lost, has replaced it.
func (s Store) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	revision, err := s.Documents.Update(ctx, key, prev, data)
	if !errors.Is(err, storage.ErrConflict) {
		return revision, err
	}
	return s.Recognise(ctx, key, data, err)
}

// Create creates a document. It succeeds as well where an earlier try, whose answer was
// lost, has created it.
func (s Store) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	revision, err := s.Documents.Create(ctx, key, data)
	if !errors.Is(err, storage.ErrExists) {
		return revision, err
	}
	return s.Recognise(ctx, key, data, err)
}

// Recognise returns the revision of a document that has the data already, and the error
// if it has other data.
func (s Store) Recognise(ctx context.Context, key string, data []byte, refusal error) (storage.Revision, error) {
	doc, err := s.Documents.Get(ctx, key)
	if errors.Is(err, storage.ErrNotFound) && errors.Is(refusal, storage.ErrFull) {
		return 0, refusal
	}
	if err != nil {
		return 0, fmt.Errorf("look for what was written: %w", err)
	}
	if !bytes.Equal(doc.Data, data) {
		return 0, refusal
	}
	return doc.Revision, nil
}

// Put creates or replaces a document of the job, which only its server writes. The document
// is read before Holds is asked, and replaced only as it was read: a server that lost the job
// in the meantime replaces nothing that the next one has written.
func (s Store) Put(ctx context.Context, key string, data []byte) error {
	_, err := storage.Change(ctx, s.Documents, key, func(found storage.Document) ([]byte, error) {
		if found.Revision != 0 && s.Holds != nil {
			if err := s.Holds(ctx); err != nil {
				return nil, err
			}
		}
		return data, nil
	})
	return err
}

// DeleteBlob deletes a blob, which may be gone already.
func (s Store) DeleteBlob(ctx context.Context, key string) error {
	if err := s.Blobs.Delete(ctx, key); err != nil && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	return nil
}

// DeleteBlobs deletes the blobs under a prefix, but not those that are to be kept; nil
// keeps none.
func (s Store) DeleteBlobs(ctx context.Context, prefix string, keep func(storage.BlobInfo) bool) error {
	for blob, err := range s.Blobs.List(ctx, prefix) {
		if err == nil && (keep == nil || !keep(blob)) {
			err = s.DeleteBlob(ctx, blob.Key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// DeleteDocuments deletes the documents under a prefix.
func (s Store) DeleteDocuments(ctx context.Context, prefix string) error {
	for doc, err := range storage.All(ctx, s.Documents, prefix) {
		if err == nil {
			err = s.Documents.Delete(ctx, doc.Key, doc.Revision)
		}
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
	}
	return nil
}

// StoppedOr returns the cause for which a context has ended, or the error if it has not.
func StoppedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
