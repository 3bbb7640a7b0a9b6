package flcollect

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/internal/jobconfig"
	"github.com/iotenablers/enablers/flcollect/internal/publiccontext"
	"github.com/iotenablers/enablers/storage"
)

// Errors of public contexts.
var (
	// ErrNoContext is returned where no public context is stored for a job.
	ErrNoContext = publiccontext.ErrNotFound
	// ErrCondition is returned where the stored context is not one that a
	// [Condition] allows to be replaced or deleted.
	ErrCondition = publiccontext.ErrCondition
	// ErrMismatch is matched by the error of a context that does not fit the job
	// that is being trained. It names the parameters of both.
	ErrMismatch = publiccontext.ErrMismatch
	// ErrTooLarge is returned for a context beyond [Config].MaxContext.
	ErrTooLarge = publiccontext.ErrTooLarge
)

// PublicContext describes the public TenSEAL context that is stored for a job by its
// digest, size and time. Clients load it; the server itself needs none, because encrypted
// updates describe themselves.
type PublicContext = publiccontext.Info

// Condition limits a change to a stored context with certain digests: Match holds if one
// of them is stored, NoneMatch if none of them is, and "*" stands for any context. The
// zero value allows every change.
type Condition = publiccontext.Condition

// PublicContext returns the serialised context that is stored for a job, and its
// description; or [ErrNoContext]. The caller closes the reader.
func (s *Server) PublicContext(ctx context.Context, id string) (io.ReadSeekCloser, PublicContext, error) {
	content, info, err := s.contexts.Open(ctx, id)
	if err != nil {
		return nil, PublicContext{}, fmt.Errorf("read the public context of job %q: %w", id, err)
	}
	return content, info, nil
}

// SetPublicContext stores the public context of a job in place of the one that the
// condition allows, which stays until the new one is whole. The content is a serialised
// public context of TenSEAL, as it is or in base64, as in key files. One with a secret
// key is refused with ckks.ErrSecretKey, and neither stored nor logged; one that no
// client could load matches [ErrInvalid]. While the job is being trained with
// encryption, the context must have its parameters, or the error matches [ErrMismatch].
func (s *Server) SetPublicContext(ctx context.Context, id string, content io.Reader, condition Condition) (PublicContext, error) {
	stored, err := s.setContext(ctx, id, content, condition)
	if err != nil {
		return PublicContext{}, fmt.Errorf("store the public context of job %q: %w", id, err)
	}
	return stored, nil
}

func (s *Server) setContext(ctx context.Context, id string, content io.Reader, condition Condition) (PublicContext, error) {
	if err := jobconfig.CheckID(id); err != nil {
		return PublicContext{}, err
	}
	if err := s.await(ctx); err != nil {
		return PublicContext{}, err
	}
	received, err := publiccontext.Read(content, s.config.MaxContext)
	if err != nil {
		return PublicContext{}, err
	}
	r, err := s.current(ctx, id) // another server may conduct it
	if err == nil && !r.State.Ended() && r.Config.Homomorphic != nil {
		err = received.Fits(*r.effective().Homomorphic)
	}
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return PublicContext{}, err
	}
	return s.contexts.Put(ctx, id, received, condition)
}

// DeletePublicContext deletes the public context of a job, if the condition allows
// it; or returns [ErrNoContext].
func (s *Server) DeletePublicContext(ctx context.Context, id string, condition Condition) error {
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
func contextMisfit(ctx context.Context, contexts *publiccontext.Store, id string, config JobConfig) (string, error) {
	if config.Homomorphic == nil {
		return "", nil
	}
	stored, err := contexts.Get(ctx, id)
	if errors.Is(err, ErrNoContext) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	err = stored.Fits(*config.Homomorphic)
	if errors.Is(err, ErrMismatch) {
		return excerpt.Reason(err), nil
	}
	return "", err
}
