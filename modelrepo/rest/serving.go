package rest

import (
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo"
)

// serving is an answer with content. It extends the deadline of the connection while
// bytes are sent, and gives refusals the form of the interface.
type serving struct {
	http.ResponseWriter
	control *http.ResponseController
	refused bool
	sent    int64
}

func newServing(w http.ResponseWriter) *serving {
	return &serving{ResponseWriter: w, control: http.NewResponseController(w)}
}

// WriteHeader implements [http.ResponseWriter].
func (s *serving) WriteHeader(status int) {
	if status < 400 {
		s.ResponseWriter.WriteHeader(status)
		return
	}
	s.refused = true
	for _, name := range []string{"ETag", "Repr-Digest", "Cache-Control", "Last-Modified", "Content-Length"} {
		s.Header().Del(name)
	}
	e := &httpapi.Error{Status: status}
	switch status {
	case http.StatusRequestedRangeNotSatisfiable:
		e.Detail = "The requested range is not in the content."
	case http.StatusPreconditionFailed:
		e.Detail, e.Err = "The content is not the one that the request's conditions name.", modelrepo.ErrPrecondition
	}
	writeError(s.ResponseWriter, nil, e)
}

// Write implements [io.Writer].
func (s *serving) Write(p []byte) (int, error) {
	if s.refused {
		return len(p), nil // the text of the refusal that was written
	}
	s.extend()
	n, err := s.ResponseWriter.Write(p)
	s.sent += int64(n)
	return n, err
}

// servedChunk is how many bytes are sent between two extensions.
const servedChunk = 1 << 20

// ReadFrom implements [io.ReaderFrom] in chunks, which the kernel may copy from a file
// by itself.
func (s *serving) ReadFrom(from io.Reader) (int64, error) {
	limited, ok := from.(*io.LimitedReader)
	if !ok {
		limited = &io.LimitedReader{R: from, N: math.MaxInt64}
	}
	total := int64(0)
	for limited.N > 0 {
		s.extend()
		n, err := io.Copy(s.ResponseWriter, &io.LimitedReader{R: limited.R, N: min(limited.N, servedChunk)})
		total += n
		s.sent += n
		limited.N -= n
		if err != nil || n == 0 {
			return total, err
		}
	}
	return total, nil
}

func (s *serving) extend() {
	_ = s.control.SetWriteDeadline(time.Now().Add(patience)) // fails without deadlines
}

// joined returns the value of a field that may have several lines.
func joined(header http.Header, name string) string { return strings.Join(header.Values(name), ",") }
