package contextstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/publiccontext"
	"github.com/iotenablers/enablers/storage"
)

// prefix is that of the documents and blobs of public contexts.
const prefix = "context/"

// deleteTimeout bounds the deletion of a blob that no document names any more.
const deleteTimeout = time.Minute

// Document is the document of a context.
type Document struct {
	publiccontext.Info
	Blob   string       `json:"blob"`
	Parsed ckks.Context `json:"parsed"`
}

// Fits returns nil if the context has the parameters of settings, as far as they are
// not left open. The error matches [publiccontext.ErrMismatch].
func (d Document) Fits(settings ckks.Settings) error { return fits(&d.Parsed, settings) }

// Store keeps public contexts. It is safe for concurrent use.
type Store struct {
	storage persist.Store
	log     *slog.Logger
}

// New returns a store.
func New(storage persist.Store, log *slog.Logger) *Store { return &Store{storage: storage, log: log} }

// Get returns the document of a job's context, or [publiccontext.ErrNotFound].
func (s *Store) Get(ctx context.Context, id string) (Document, error) {
	if jobconfig.CheckID(id) != nil {
		return Document{}, publiccontext.ErrNotFound
	}
	doc, err := s.storage.Documents.Get(ctx, prefix+id)
	if errors.Is(err, storage.ErrNotFound) {
		return Document{}, publiccontext.ErrNotFound
	}
	if err != nil {
		return Document{}, err
	}
	return decode(doc)
}

// decode decodes the document of a context. Without one it returns a context without a blob.
func decode(doc storage.Document) (stored Document, err error) {
	if doc.Revision != 0 {
		err = json.Unmarshal(doc.Data, &stored)
	}
	return stored, err
}

// Open returns the serialised context of a job and its description, or [publiccontext.ErrNotFound].
// The caller closes the reader.
func (s *Store) Open(ctx context.Context, id string) (io.ReadSeekCloser, publiccontext.Info, error) {
	for last := ""; ; {
		stored, err := s.Get(ctx, id)
		if err != nil {
			return nil, publiccontext.Info{}, err
		}
		content, err := s.storage.Blobs.Open(ctx, stored.Blob)
		switch {
		case err == nil:
			return content, stored.Info, nil
		case !errors.Is(err, storage.ErrNotFound) || stored.Blob == last:
			return nil, publiccontext.Info{}, err
		}
		last = stored.Blob // it was replaced in the meantime
	}
}

// Put stores a context in place of the one that the condition allows, which stays until
// the new one is whole. The error of a condition that does not hold is [publiccontext.ErrCondition].
func (s *Store) Put(ctx context.Context, id string, content *Content, condition publiccontext.Condition) (publiccontext.Info, error) {
	stored, err := s.Get(ctx, id)
	if err != nil && !errors.Is(err, publiccontext.ErrNotFound) {
		return publiccontext.Info{}, err
	}
	if err := check(condition, stored); err != nil {
		return publiccontext.Info{}, err // before anything is written in vain
	}
	key := prefix + uuid.NewString()
	blob, err := s.write(ctx, key, content.raw)
	if err != nil {
		return publiccontext.Info{}, err
	}
	next := Document{publiccontext.Info{SHA256: blob.SHA256, Size: blob.Size, Stored: now()}, key, *content.parsed}
	data, err := json.Marshal(next)
	if err != nil {
		return publiccontext.Info{}, err
	}
	var last Document
	_, err = storage.Change(ctx, s.storage.Documents, prefix+id, func(found storage.Document) ([]byte, error) {
		if bytes.Equal(found.Data, data) {
			return nil, nil // an earlier attempt, whose answer was lost, has written it
		}
		var err error
		if last, err = decode(found); err != nil {
			return nil, err
		}
		return data, check(condition, last)
	})
	if errors.Is(err, publiccontext.ErrCondition) {
		s.drop(ctx, key)
	}
	if err != nil {
		return publiccontext.Info{}, err // a document may name the blob: Sweep decides after the next start
	}
	if last.Blob != "" {
		s.drop(ctx, last.Blob)
	}
	s.log.Info("public context stored", "job", id, "sha256", next.SHA256, "bytes", next.Size)
	return next.Info, nil
}

// Delete deletes the context of a job if the condition allows it. The error is
// [publiccontext.ErrNotFound] or [publiccontext.ErrCondition] where it does not apply.
func (s *Store) Delete(ctx context.Context, id string, condition publiccontext.Condition) error {
	if jobconfig.CheckID(id) != nil {
		return cmp.Or(check(condition, Document{}), publiccontext.ErrNotFound)
	}
	var last Document
	err := storage.Remove(ctx, s.storage.Documents, prefix+id, func(found storage.Document) (remove bool, err error) {
		if last, err = decode(found); err != nil {
			return false, err
		}
		return true, check(condition, last)
	})
	if errors.Is(err, storage.ErrNotFound) {
		return cmp.Or(check(condition, Document{}), publiccontext.ErrNotFound)
	}
	if err != nil {
		return err
	}
	s.drop(ctx, last.Blob)
	s.log.Info("public context deleted", "job", id, "sha256", last.SHA256)
	return nil
}

// check returns publiccontext.ErrCondition if the condition does not hold for what is stored.
func check(condition publiccontext.Condition, stored Document) error {
	if !condition.Holds(stored.SHA256) {
		return publiccontext.ErrCondition
	}
	return nil
}

func (s *Store) write(ctx context.Context, key string, raw []byte) (storage.BlobInfo, error) {
	w, err := s.storage.Blobs.Create(ctx, key)
	if err != nil {
		return storage.BlobInfo{}, err
	}
	defer w.Abort()
	if _, err := w.Write(raw); err != nil {
		return storage.BlobInfo{}, err
	}
	return w.Commit(ctx)
}

// drop deletes a blob that no document names, also when the request has ended. Sweep
// deletes it after the next start if this fails.
func (s *Store) drop(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteTimeout)
	defer cancel()
	if err := s.storage.DeleteBlob(ctx, key); err != nil {
		s.log.Warn("an old public context cannot be deleted yet", "error", err)
	}
}

// Sweep deletes the blobs that no document names: a crash left them. Those that keep
// returns true for stay; nil keeps none.
func (s *Store) Sweep(ctx context.Context, keep func(storage.BlobInfo) bool) error {
	named := map[string]bool{}
	for doc, err := range storage.All(ctx, s.storage.Documents, prefix) {
		if err != nil {
			return err
		}
		var stored Document
		if err := json.Unmarshal(doc.Data, &stored); err != nil {
			s.log.Error("a stored public context cannot be read and is left alone", "error", err)
			return nil
		}
		named[stored.Blob] = true
	}
	return s.storage.DeleteBlobs(ctx, prefix, func(blob storage.BlobInfo) bool {
		return named[blob.Key] || keep != nil && keep(blob)
	})
}

// now is the time as it is stored.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
