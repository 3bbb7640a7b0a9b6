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
	return &serving{ResponseWriter: httpapi.PatientWriter(w, patience), copier: &r.copier}
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

// body is content as [http.ServeContent] reads it.
type body struct {
	io.ReadSeeker
	size int64
	file func(whole bool) *os.File // see integrity.Reader; nil for none
}

// ReadFrom implements [io.ReaderFrom]. The kernel copies from a file by itself where the
// content need not be compared with its digest.
func (s *serving) ReadFrom(from io.Reader) (int64, error) {
	before := s.sent
	limited, _ := from.(*io.LimitedReader)
	if limited == nil {
		limited = &io.LimitedReader{R: from, N: 1<<63 - 1}
	}
	if content, ok := limited.R.(*body); ok && content.file != nil {
		if file := content.file(limited.N == content.size); file != nil {
			s.begin()
			n, err := io.Copy(s.ResponseWriter, &io.LimitedReader{R: file, N: limited.N})
			s.sent += n
			return n, err
		}
	}
	// What is read, or comes from the pipe that puts several ranges together, is sent when the
	// next bytes were read, so content of one buffer that is damaged gets a refusal.
	err := s.copier.Copy(struct{ io.Writer }{s}, limited, func() error { return nil })
	if source := new(transfer.SourceError); errors.As(err, &source) {
		s.failure = source.Cause
	}
	return s.sent - before, err
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

// patience is how long a client may take for its next bytes.
const patience = 2 * time.Minute

// joined returns the value of a field that may have several lines.
func joined(header http.Header, name string) string { return strings.Join(header.Values(name), ",") }
