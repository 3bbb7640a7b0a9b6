package rest

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/transfer"
	"github.com/iotenablers/enablers/modelrepo/internal/web"
)

// serving is an answer with content. It extends the deadline of the connection while
// bytes are sent, and gives refusals the form of the interface.
type serving struct {
	http.ResponseWriter
	copier  *transfer.Copier
	status  int // that is sent with the first byte; 0 once it was sent
	refused bool
	sent    int64
	failure error // of reading the content
}

func (r *rest) newServing(w http.ResponseWriter) *serving {
	return &serving{ResponseWriter: httpapi.PatientWriter(w, web.Patience), copier: &r.copier}
}

// WriteHeader implements [http.ResponseWriter]. The status of a success waits for the first
// byte, because the content may turn out to be damaged.
func (s *serving) WriteHeader(status int) {
	if status < 400 {
		s.status = status
		return
	}
	s.refused = true
	s.clean()
	e := &httpapi.Error{Status: status}
	switch status {
	case http.StatusRequestedRangeNotSatisfiable:
		e.Detail = "The requested range is not in the content."
	case http.StatusPreconditionFailed:
		e.Detail, e.Err = "The content is not the one that the request's conditions name.", modelrepo.ErrPrecondition
	}
	writeError(s.ResponseWriter, nil, e)
}

// clean removes the header fields that describe the content.
func (s *serving) clean() {
	for _, name := range []string{"ETag", "Repr-Digest", "Cache-Control", "Last-Modified", "Content-Length"} {
		s.Header().Del(name)
	}
}

// begin sends the status if that was not done.
func (s *serving) begin() {
	if s.status != 0 {
		s.ResponseWriter.WriteHeader(s.status)
		s.status = 0
	}
}

// Write implements [io.Writer].
func (s *serving) Write(p []byte) (int, error) {
	if s.refused {
		return len(p), nil // the text of the refusal that was written
	}
	s.begin()
	n, err := s.ResponseWriter.Write(p)
	s.sent += int64(n)
	return n, err
}

// stored is content of the repository; see integrity.Reader.
type stored interface {
	File(whole bool) *os.File
	Part(n int64) (compared func() error, err error)
}

// body is content as [http.ServeContent] reads it.
type body struct {
	io.ReadSeeker
	size     int64
	stored   stored // nil for what is not content of the repository
	prepared bool   // no further comparison is needed before it is read
}

// Read implements [io.Reader]. Only several ranges, which a pipe puts together, are not prepared
// before; they count as a small part.
func (b *body) Read(p []byte) (int, error) {
	if !b.prepared && b.stored != nil {
		if _, err := b.stored.Part(0); err != nil {
			return 0, err
		}
		b.prepared = true
	}
	return b.ReadSeeker.Read(p)
}

// ReadFrom implements [io.ReaderFrom].
func (s *serving) ReadFrom(from io.Reader) (int64, error) {
	before := s.sent
	limited, _ := from.(*io.LimitedReader)
	if limited == nil {
		limited = &io.LimitedReader{R: from, N: 1<<63 - 1}
	}
	var err error
	switch content, _ := limited.R.(*body); {
	case content == nil || content.stored == nil:
		err = s.copy(limited)
	case limited.N == content.size:
		content.prepared = true
		err = s.copyContent(content, limited.N, true)
	default:
		content.prepared = true
		err = s.copyPart(content, limited.N)
	}
	return s.sent - before, err
}

// heldBack is how many bytes of a part are sent only when the comparison beside it has ended, or
// takes too long.
const heldBack = 4 << 10

// copyPart sends a part of content.
func (s *serving) copyPart(content *body, n int64) error {
	compared, err := content.stored.Part(n)
	if s.failure = err; err != nil {
		return err
	}
	if compared == nil {
		return s.copyContent(content, n, false)
	}
	if err := s.copyContent(content, n-heldBack, false); err != nil {
		return err
	}
	if s.failure = compared(); s.failure != nil {
		return s.failure
	}
	return s.copyContent(content, heldBack, false)
}

// copyContent sends the next bytes of content. The kernel copies from a file by itself where the
// bytes need not be compared with the digest.
func (s *serving) copyContent(content *body, n int64, whole bool) error {
	if file := content.stored.File(whole); file != nil {
		s.begin()
		sent, err := io.Copy(s.ResponseWriter, &io.LimitedReader{R: file, N: n})
		s.sent += sent
		return err
	}
	return s.copy(&io.LimitedReader{R: content, N: n})
}

// copy sends what is read, or comes from the pipe that puts several ranges together, when the
// next bytes were read, so content of one buffer that is damaged gets a refusal.
func (s *serving) copy(from io.Reader) error {
	err := s.copier.Copy(struct{ io.Writer }{s}, from, func() error { return nil })
	if source := new(transfer.SourceError); errors.As(err, &source) {
		s.failure = source.Cause
	}
	return err
}

// serveContent answers with a body, whole or in ranges, if the conditions of the request are
// met. When the body cannot be read to its end it returns the error, or breaks the connection
// off if a part has been sent: the client must not take that for the whole.
func (r *rest) serveContent(w http.ResponseWriter, req *http.Request, modified time.Time, content *body) (sent int64, err error) {
	answer := r.newServing(w)
	http.ServeContent(answer, withRanges(req), "", modified, content)
	if answer.failure == nil {
		answer.begin()
		return answer.sent, nil
	}
	r.failed(req, answer.failure)
	if answer.sent > 0 {
		panic(http.ErrAbortHandler)
	}
	answer.clean()
	w.Header().Del("Content-Range")
	return 0, answer.failure
}

// failed counts and logs content that could not be read.
func (r *rest) failed(req *http.Request, err error) {
	if errors.Is(err, modelrepo.ErrDamaged) {
		r.damagedDownloads.Add(1)
	}
	if req.Context().Err() == nil {
		r.options.Logger.Error("a download failed", "path", req.URL.Path, "error", err)
	}
}

// joined returns the value of a field that may have several lines.
func joined(header http.Header, name string) string { return strings.Join(header.Values(name), ",") }
