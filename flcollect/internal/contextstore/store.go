package contextstore

import (
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
	stored, _, err := s.get(ctx, id)
	return stored, err
}

func (s *Store) get(ctx context.Context, id string) (Document, storage.Revision, error) {
	if jobconfig.CheckID(id) != nil {
		return Document{}, 0, publiccontext.ErrNotFound
	}
	doc, err := s.storage.Documents.Get(ctx, prefix+id)
	if errors.Is(err, storage.ErrNotFound) {
		return Document{}, 0, publiccontext.ErrNotFound
	}
	var stored Document
	if err == nil {
		err = json.Unmarshal(doc.Data, &stored)
	}
	return stored, doc.Revision, err
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
	if _, _, err := s.matching(ctx, id, condition); err != nil {
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
	for {
		last, revision, err := s.matching(ctx, id, condition)
		if err == nil {
			if last.Blob == "" {
				_, err = s.storage.Create(ctx, prefix+id, data)
			} else {
				_, err = s.storage.Update(ctx, prefix+id, revision, data)
			}
		}
		switch {
		case err == nil:
			if last.Blob != "" {
				s.drop(ctx, last.Blob)
			}
			s.log.Info("public context stored", "job", id, "sha256", next.SHA256, "bytes", next.Size)
			return next.Info, nil
		case errors.Is(err, storage.ErrConflict), errors.Is(err, storage.ErrExists), errors.Is(err, storage.ErrNotFound):
			continue // another request has changed it
		case errors.Is(err, publiccontext.ErrCondition):
			s.drop(ctx, key)
		}
		return publiccontext.Info{}, err // a document may name the blob: Sweep decides after the next start
	}
}

// Delete deletes the context of a job if the condition allows it. The error is
// [publiccontext.ErrNotFound] or [publiccontext.ErrCondition] where it does not apply.
func (s *Store) Delete(ctx context.Context, id string, condition publiccontext.Condition) error {
	for {
		last, revision, err := s.matching(ctx, id, condition)
		if err == nil && last.Blob == "" {
			err = publiccontext.ErrNotFound
		}
		if err == nil {
			err = s.storage.Documents.Delete(ctx, prefix+id, revision)
		}
		switch {
		case err == nil:
			s.drop(ctx, last.Blob)
			s.log.Info("public context deleted", "job", id, "sha256", last.SHA256)
			return nil
		case errors.Is(err, storage.ErrConflict), errors.Is(err, storage.ErrNotFound):
			continue // another request has changed it
		}
		return err
	}
}

// matching returns the stored document, without a blob if there is none, or
// [publiccontext.ErrCondition].
func (s *Store) matching(ctx context.Context, id string, condition publiccontext.Condition) (Document, storage.Revision, error) {
	stored, revision, err := s.get(ctx, id)
	if errors.Is(err, publiccontext.ErrNotFound) {
		err = nil
	}
	if err == nil && !condition.Holds(stored.SHA256) {
		err = publiccontext.ErrCondition
	}
	return stored, revision, err
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
