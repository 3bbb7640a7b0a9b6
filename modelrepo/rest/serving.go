package rest

import (
	"io"
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
	refused bool
	sent    int64
}

func newServing(w http.ResponseWriter) *serving {
	return &serving{ResponseWriter: httpapi.PatientWriter(w, patience)}
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
	n, err := s.ResponseWriter.Write(p)
	s.sent += int64(n)
	return n, err
}

// ReadFrom implements [io.ReaderFrom]. The kernel may copy from a file by itself.
func (s *serving) ReadFrom(from io.Reader) (int64, error) {
	n, err := io.Copy(s.ResponseWriter, from)
	s.sent += n
	return n, err
}

// patience is how long a client may take for its next bytes.
const patience = 2 * time.Minute

// joined returns the value of a field that may have several lines.
func joined(header http.Header, name string) string { return strings.Join(header.Values(name), ",") }
