package modelrepo

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/iotenablers/enablers/storage"
)

// errPublished says that the upload in pieces had published its content before.
var errPublished = errors.New("modelrepo: upload was published already")

// recentPublished is how many uploads in pieces a version remembers to have
// published. It is needed for the time between that and noting it in the
// upload's own document.
const recentPublished = 32

// publish uploads the content that the parts are, together with the last ones,
// which the document does not have yet. When that fails in a way that may pass,
// the upload stays where it was, and the last piece can come again.
func (s *Store) publish(ctx context.Context, p heldPartial, last []part) (Partial, error) {
	ctx = context.WithoutCancel(ctx) // clients and proxies may be less patient than this takes
	before := p.public()
	parts := slices.Concat(p.Parts, last)
	content := &partsReader{ctx: ctx, store: s, p: &p, parts: parts}
	result, err := s.upload(ctx, p.upload(s), content)
	content.close()
	if errors.Is(err, errPublished) {
		result, err = s.published(ctx, &p)
	}
	if content.failure != nil {
		// Another one may have published the same, and removed the parts.
		if now, err := s.loadPartial(ctx, "continue upload", p.id); err == nil && now.Result != nil {
			s.removeParts(ctx, &p, last)
			return now.public(), nil
		}
		err = failed("continue upload", p.at, content.failure)
	}
	if err != nil {
		if final(err) {
			s.giveUp(ctx, &p)
		}
		s.removeParts(ctx, &p, last)
		return before, err
	}
	p.Parts, p.Offset, p.Result, p.Expires = nil, p.Length, &result, s.expiry()
	// If it cannot be noted, the version still knows.
	if _, err := s.docs.Update(ctx, partialPrefix+p.id, p.revision, encode(p.partial)); err == nil {
		s.removeParts(ctx, &p, parts)
	} else {
		s.removeParts(ctx, &p, last)
	}
	return p.public(), nil
}

// final reports whether an upload will be refused again in the same way.
func final(err error) bool {
	var refusal *Error
	return errors.As(err, &refusal) && !errors.Is(err, ErrExpired) && !errors.Is(err, ErrIncomplete) && !errors.Is(err, ErrQuota)
}

// giveUp removes the upload if it is still what it was.
func (s *Store) giveUp(ctx context.Context, p *heldPartial) {
	if s.docs.Delete(ctx, partialPrefix+p.id, p.revision) == nil {
		s.removeParts(ctx, p, p.Parts)
	}
}

// published is what an upload did whose answer was lost.
func (s *Store) published(ctx context.Context, p *heldPartial) (Uploaded, error) {
	_, found, err := s.entry(ctx, "continue upload", p.at, p.Format)
	if errors.Is(err, ErrNotFound) {
		return Uploaded{File: File{Size: p.Length}}, nil // and deleted since
	}
	return Uploaded{File: found.file()}, err
}

// partsReader reads parts one after the other.
type partsReader struct {
	ctx     context.Context
	store   *Store
	p       *heldPartial
	parts   []part
	reader  storage.BlobReader // of the first part; nil before
	failure error
}

// Read implements [io.Reader].
func (r *partsReader) Read(data []byte) (int, error) {
	for r.failure == nil && len(r.parts) > 0 {
		if r.reader == nil {
			if r.reader, r.failure = r.store.blobs.Open(r.ctx, r.p.blob(r.parts[0])); r.failure != nil {
				break
			}
		}
		n, err := r.reader.Read(data)
		if err == nil {
			return n, nil
		}
		if err != io.EOF {
			r.failure = err
			return n, err
		}
		r.close()
		r.parts = r.parts[1:]
		if n > 0 {
			return n, nil
		}
	}
	if r.failure != nil {
		return 0, r.failure
	}
	return 0, io.EOF
}

func (r *partsReader) close() {
	if r.reader != nil {
		_ = r.reader.Close() // all that was wanted has been read
		r.reader = nil
	}
}
