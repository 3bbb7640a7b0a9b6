package flcollect

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/storage"
)

// insist repeats an operation on the storage until it succeeds, the context
// ends, or no repetition can help. Meanwhile Ready tells of the failure, and the
// status of the job; the id is empty for what concerns all jobs.
func (s *Server) insist(ctx context.Context, id string, operation func() error) error {
	var pause backoff
	failed := false
	defer func() {
		if failed {
			s.struggle(id, nil)
		}
	}()
	for {
		err := operation()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, storage.ErrConflict), errors.Is(err, storage.ErrInvalidData), errors.Is(err, storage.ErrInvalidKey), lost(err):
			return err
		}
		failed = true
		s.struggle(id, err)
		if err := pause.wait(ctx); err != nil {
			return err
		}
	}
}

// struggle notes why the storage does not take what a job has reached, nil once it
// does.
func (s *Server) struggle(id string, err error) {
	s.mu.Lock()
	j := s.jobs[id]
	before := s.unwritten[id]
	if err == nil {
		delete(s.unwritten, id)
	} else {
		s.unwritten[id] = err
	}
	s.mu.Unlock()
	if err != nil && before == nil {
		s.log.Warn("the storage fails, and is tried again", "job", id, "error", err)
	}
	if j != nil {
		j.trouble(ofStorage, err)
	}
}

// update replaces a document. One that was replaced by a try whose answer was
// lost is recognised.
func (s *Server) update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	revision, err := s.options.Documents.Update(ctx, key, prev, data)
	if !errors.Is(err, storage.ErrConflict) {
		return revision, err
	}
	return s.recognise(ctx, key, data, err)
}

// create creates a document, as update does.
func (s *Server) create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	revision, err := s.options.Documents.Create(ctx, key, data)
	if !errors.Is(err, storage.ErrExists) {
		return revision, err
	}
	return s.recognise(ctx, key, data, err)
}

// recognise returns the revision of a document that has the data already, and
// the error if it has not.
func (s *Server) recognise(ctx context.Context, key string, data []byte, refusal error) (storage.Revision, error) {
	doc, err := s.options.Documents.Get(ctx, key)
	if err != nil {
		return 0, fmt.Errorf("look for what was written: %w", err)
	}
	if !bytes.Equal(doc.Data, data) {
		return 0, refusal
	}
	return doc.Revision, nil
}

// put creates or replaces a document that only this process writes.
func (s *Server) put(ctx context.Context, key string, data []byte) error {
	_, err := s.options.Documents.Create(ctx, key, data)
	if !errors.Is(err, storage.ErrExists) {
		return err
	}
	doc, err := s.options.Documents.Get(ctx, key)
	if err != nil {
		return err
	}
	_, err = s.options.Documents.Update(ctx, key, doc.Revision, data)
	return err
}
