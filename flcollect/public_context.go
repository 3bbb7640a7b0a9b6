package flcollect

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/iotenablers/enablers/flcollect/internal/contextstore"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/publiccontext"
	"github.com/iotenablers/enablers/storage"
)

// PublicContext returns the serialised context that is stored for a job, and its
// description; or [publiccontext.ErrNotFound]. The caller closes the reader.
func (s *Server) PublicContext(ctx context.Context, id string) (io.ReadSeekCloser, publiccontext.Info, error) {
	content, info, err := s.contexts.Open(ctx, id)
	if err != nil {
		return nil, publiccontext.Info{}, fmt.Errorf("read the public context of job %q: %w", id, err)
	}
	return content, info, nil
}

// SetPublicContext stores the public context of a job in place of the one that the
// condition allows, which stays until the new one is whole. The content is a serialised
// public context of TenSEAL, as it is or in base64, as in key files. One with a secret
// key is refused with ckks.ErrSecretKey, and neither stored nor logged; one that no
// client could load matches [jobconfig.ErrInvalid]. While the job is being trained with
// encryption, the context must have its parameters, or the error matches [publiccontext.ErrMismatch].
func (s *Server) SetPublicContext(ctx context.Context, id string, content io.Reader, condition publiccontext.Condition,
) (publiccontext.Info, error) {
	stored, err := s.setContext(ctx, id, content, condition)
	if err != nil {
		return publiccontext.Info{}, fmt.Errorf("store the public context of job %q: %w", id, err)
	}
	return stored, nil
}

func (s *Server) setContext(ctx context.Context, id string, content io.Reader, condition publiccontext.Condition,
) (publiccontext.Info, error) {
	if err := jobconfig.CheckID(id); err != nil {
		return publiccontext.Info{}, err
	}
	if err := s.await(ctx); err != nil {
		return publiccontext.Info{}, err
	}
	received, err := contextstore.Read(content, s.config.MaxContext)
	if err != nil {
		return publiccontext.Info{}, err
	}
	r, err := s.current(ctx, id) // another server may conduct it
	if err == nil && !r.State.Ended() && r.Config.Homomorphic != nil {
		err = received.Fits(*r.Effective().Homomorphic)
	}
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return publiccontext.Info{}, err
	}
	return s.contexts.Put(ctx, id, received, condition)
}

// DeletePublicContext deletes the public context of a job, if the condition allows
// it; or returns [publiccontext.ErrNotFound].
func (s *Server) DeletePublicContext(ctx context.Context, id string, condition publiccontext.Condition) error {
	err := s.await(ctx)
	if err == nil {
		err = s.contexts.Delete(ctx, id, condition)
	}
	if err != nil {
		return fmt.Errorf("delete the public context of job %q: %w", id, err)
	}
	return nil
}

// contextMisfit says how the context that is stored for a job differs from what the job
// is to be trained with; empty if it does not. Its clients may have another.
func contextMisfit(ctx context.Context, contexts *contextstore.Store, id string, config jobconfig.Config) (string, error) {
	if config.Homomorphic == nil {
		return "", nil
	}
	stored, err := contexts.Get(ctx, id)
	if errors.Is(err, publiccontext.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	err = stored.Fits(*config.Homomorphic)
	if errors.Is(err, publiccontext.ErrMismatch) {
		return excerpt.Reason(err), nil
	}
	return "", err
}
