package flcollect

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/storage"
)

// Errors of public contexts.
var (
	// ErrNoContext is returned where no public context is stored for a job.
	ErrNoContext = errors.New("flcollect: there is no public context for the job")
	// ErrCondition is returned where the stored context is not one that a
	// [Condition] allows to be replaced or deleted.
	ErrCondition = errors.New("flcollect: the stored context is another one")
	// ErrMismatch is matched by the error of a context that does not fit the job
	// that is being trained. It names both.
	ErrMismatch = errors.New("flcollect: the context does not fit the job")
	// ErrTooLarge is returned for a context beyond [Options].MaxContext.
	ErrTooLarge = errors.New("flcollect: the context is too large")
)

// contextPrefix is that of the documents and blobs of public contexts.
const contextPrefix = "context/"

func contextKey(id string) string { return contextPrefix + id }

// PublicContext describes the public TenSEAL context that is stored for a job,
// which its clients load. Jobs do not need it: what clients send describes itself.
type PublicContext struct {
	// SHA256 is the digest of the serialised context in lower-case hex, and Size
	// its length in bytes.
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
	// Stored is when it was stored.
	Stored time.Time `json:"stored"`
}

// Condition is which stored context a change may meet. The zero value is any, and
// none. The texts are digests, or "*" for any context.
type Condition struct {
	// Match holds if one of them is stored, NoneMatch if none of them is. Empty
	// ones hold always.
	Match, NoneMatch []string
}

// holds reports whether a stored context may be met; its digest is empty if there
// is none.
func (c Condition) holds(digest string) bool {
	among := func(list []string) bool {
		return digest != "" && (slices.Contains(list, digest) || slices.Contains(list, "*"))
	}
	return (len(c.Match) == 0 || among(c.Match)) && !among(c.NoneMatch)
}

// storedContext is the document of a context.
type storedContext struct {
	PublicContext
	Blob   string       `json:"blob"`
	Parsed ckks.Context `json:"parsed"`
}

// PublicContext returns the serialised context that is stored for a job, and what
// describes it; or [ErrNoContext]. The caller closes the reader.
func (s *Server) PublicContext(ctx context.Context, id string) (io.ReadSeekCloser, PublicContext, error) {
	for last := ""; ; {
		stored, _, err := s.storedContext(ctx, id)
		if err != nil {
			return nil, PublicContext{}, fmt.Errorf("read the public context of job %q: %w", id, err)
		}
		content, err := s.options.Blobs.Open(ctx, stored.Blob)
		switch {
		case err == nil:
			return content, stored.PublicContext, nil
		case !errors.Is(err, storage.ErrNotFound) || stored.Blob == last:
			return nil, PublicContext{}, fmt.Errorf("read the public context of job %q: %w", id, err)
		}
		last = stored.Blob // it was replaced meanwhile
	}
}

// SetPublicContext stores the public context of a job in place of the one that the
// condition allows; any that was there stays until the new one is whole. The
// content is a serialised public context of TenSEAL, as it is or in base64, as in
// key files. One with a secret key is refused with [ckks.ErrSecretKey], and neither
// stored nor logged; one that no client could load matches [ErrInvalid].
// While the job is being trained with encryption, the context must have its
// parameters, or the error matches [ErrMismatch].
func (s *Server) SetPublicContext(ctx context.Context, id string, content io.Reader, condition Condition) (PublicContext, error) {
	stored, err := s.setContext(ctx, id, content, condition)
	if err != nil {
		return PublicContext{}, fmt.Errorf("store the public context of job %q: %w", id, err)
	}
	return stored, nil
}

func (s *Server) setContext(ctx context.Context, id string, content io.Reader, condition Condition) (PublicContext, error) {
	if err := checkID(id); err != nil {
		return PublicContext{}, err
	}
	if err := s.await(ctx); err != nil {
		return PublicContext{}, err
	}
	raw, parsed, err := s.readContext(id, content)
	if err != nil {
		return PublicContext{}, err
	}
	if _, _, err := s.meets(ctx, id, condition); err != nil {
		return PublicContext{}, err // before anything is written in vain
	}
	key := contextPrefix + uuid.NewString()
	info, err := s.writeContext(ctx, key, raw)
	if err != nil {
		return PublicContext{}, err
	}
	next := storedContext{PublicContext{SHA256: info.SHA256, Size: info.Size, Stored: now()}, key, *parsed}
	data, err := json.Marshal(next)
	if err != nil {
		return PublicContext{}, err
	}
	for {
		last, revision, err := s.meets(ctx, id, condition)
		if err == nil {
			if last.Blob == "" {
				_, err = s.create(ctx, contextKey(id), data)
			} else {
				_, err = s.update(ctx, contextKey(id), revision, data)
			}
		}
		switch {
		case err == nil:
			if last.Blob != "" {
				s.dropContext(last.Blob)
			}
			s.log.Info("public context stored", "job", id, "sha256", next.SHA256, "bytes", next.Size)
			return next.PublicContext, nil
		case errors.Is(err, storage.ErrConflict), errors.Is(err, storage.ErrExists), errors.Is(err, storage.ErrNotFound):
			continue // somebody else was faster
		case errors.Is(err, ErrCondition):
			s.dropContext(key)
		}
		return PublicContext{}, err // what may be named by now is collected after the next start, or not
	}
}

// readContext reads and checks a context, and returns it without base64.
func (s *Server) readContext(id string, content io.Reader) ([]byte, *ckks.Context, error) {
	most := int64(base64.StdEncoding.EncodedLen(int(s.options.MaxContext))) + 1024
	data, err := io.ReadAll(io.LimitReader(content, most+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read it: %w", err)
	}
	parsed, err := ckks.ParseContext(data)
	switch {
	case int64(len(data)) > most:
		return nil, nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, s.options.MaxContext)
	case errors.Is(err, ckks.ErrSecretKey):
		clear(data)
		return nil, nil, ckks.ErrSecretKey
	case err != nil:
		return nil, nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if data[0] != '\n' { // with which a serialised context begins, and no text
		if data, err = base64.StdEncoding.AppendDecode(nil, bytes.TrimSpace(data)); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	if int64(len(data)) > s.options.MaxContext {
		return nil, nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(data), s.options.MaxContext)
	}
	return data, parsed, s.fits(id, parsed)
}

// fits returns nil if a context has the parameters of the job, as far as it is
// being trained with encryption.
func (s *Server) fits(id string, parsed *ckks.Context) error {
	j := s.job(id)
	if j == nil {
		return nil
	}
	r := j.record()
	if r.State.Ended() || r.Config.Homomorphic == nil {
		return nil
	}
	return fitsSettings(parsed, *r.effective().Homomorphic)
}

// fitsSettings returns nil if a context has the parameters of settings, as far as
// they are not left open.
func fitsSettings(parsed *ckks.Context, settings ckks.Settings) error {
	if settings.Open() {
		theirs, err := parsed.Settings()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrMismatch, err)
		}
		settings = settings.Fill(theirs)
	}
	parameters, err := ckks.NewParameters(settings)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMismatch, err)
	}
	if err := parsed.Check(parameters); err != nil {
		return fmt.Errorf("%w: %w", ErrMismatch, err)
	}
	return nil
}

// misfit says how the context that is stored for a job differs from what the job
// is to be trained with; empty if it does not. Its clients may have another.
func (s *Server) misfit(ctx context.Context, id string, config Config) (string, error) {
	if config.Homomorphic == nil {
		return "", nil
	}
	stored, _, err := s.storedContext(ctx, id)
	if errors.Is(err, ErrNoContext) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	err = fitsSettings(&stored.Parsed, *config.Homomorphic)
	if errors.Is(err, ErrMismatch) {
		return short(err.Error(), maxReason), nil
	}
	return "", err
}

func (s *Server) writeContext(ctx context.Context, key string, raw []byte) (storage.BlobInfo, error) {
	w, err := s.options.Blobs.Create(ctx, key)
	if err != nil {
		return storage.BlobInfo{}, err
	}
	defer w.Abort()
	if _, err := w.Write(raw); err != nil {
		return storage.BlobInfo{}, err
	}
	return w.Commit(ctx)
}

// DeletePublicContext deletes the public context of a job, if the condition allows
// it; or returns [ErrNoContext].
func (s *Server) DeletePublicContext(ctx context.Context, id string, condition Condition) error {
	if err := s.await(ctx); err != nil {
		return fmt.Errorf("delete the public context of job %q: %w", id, err)
	}
	for {
		last, revision, err := s.meets(ctx, id, condition)
		if err == nil && last.Blob == "" {
			err = ErrNoContext
		}
		if err == nil {
			err = s.options.Documents.Delete(ctx, contextKey(id), revision)
		}
		switch {
		case err == nil:
			s.dropContext(last.Blob)
			s.log.Info("public context deleted", "job", id, "sha256", last.SHA256)
			return nil
		case errors.Is(err, storage.ErrConflict), errors.Is(err, storage.ErrNotFound):
			continue // somebody else was faster
		}
		return fmt.Errorf("delete the public context of job %q: %w", id, err)
	}
}

// meets returns the stored context, without a blob for none, or [ErrCondition].
func (s *Server) meets(ctx context.Context, id string, condition Condition) (storedContext, storage.Revision, error) {
	stored, revision, err := s.storedContext(ctx, id)
	if errors.Is(err, ErrNoContext) {
		err = nil
	}
	if err == nil && !condition.holds(stored.SHA256) {
		err = ErrCondition
	}
	return stored, revision, err
}

// storedContext returns the document of a context.
func (s *Server) storedContext(ctx context.Context, id string) (storedContext, storage.Revision, error) {
	if checkID(id) != nil {
		return storedContext{}, 0, ErrNoContext
	}
	doc, err := s.options.Documents.Get(ctx, contextKey(id))
	if errors.Is(err, storage.ErrNotFound) {
		return storedContext{}, 0, ErrNoContext
	}
	var stored storedContext
	if err == nil {
		err = json.Unmarshal(doc.Data, &stored)
	}
	return stored, doc.Revision, err
}

// dropContext deletes the blob of a context that nothing names. One that stays is
// collected after the next start.
func (s *Server) dropContext(key string) {
	ctx, cancel := context.WithTimeout(s.life, beginTimeout)
	defer cancel()
	if err := s.options.Blobs.Delete(ctx, key); err != nil && !errors.Is(err, storage.ErrNotFound) {
		s.log.Warn("an old public context cannot be deleted yet", "error", err)
	}
}

// collectContexts deletes the blobs of contexts that nothing names: a crash left
// them.
func (s *Server) collectContexts(ctx context.Context) error {
	named := map[string]bool{}
	for doc, err := range storage.All(ctx, s.options.Documents, contextPrefix) {
		if err != nil {
			return err
		}
		var stored storedContext
		if err := json.Unmarshal(doc.Data, &stored); err != nil {
			s.log.Error("a stored public context cannot be read and is left alone", "error", err)
			return nil
		}
		named[stored.Blob] = true
	}
	return s.collect(ctx, contextPrefix, named)
}
