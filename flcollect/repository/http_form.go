package repository

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// receive reads the body of an upload, multipart/form-data (RFC 7578), and writes
// the files of the given fields while they come. Each may be there once, the
// first has to be; other fields are skipped. It ends only when the whole body has
// been read and was in order.
func receive(ctx context.Context, body io.Reader, header http.Header, fields []string,
	write func(ctx context.Context, field string, from io.Reader) error) error {
	missing := func() error { return invalid("value_error.missing", "field required", "body", fields[0]) }
	form, err := httpapi.NewForm(header, body)
	if err != nil {
		return missing()
	}
	seen := map[string]bool{}
	for {
		part, err := form.Next(fields...)
		switch {
		case err == io.EOF && !seen[fields[0]]:
			return missing()
		case err == io.EOF:
			return nil
		case err != nil:
			return malformed(err)
		}
		field := part.FormName()
		if seen[field] {
			return invalid("value_error", "the field is there more than once", "body", field)
		}
		seen[field] = true
		source := &formSource{reader: part}
		if err := write(ctx, field, source); err != nil {
			return errors.Join(source.err, err)
		}
	}
}

// malformed is the error of a body that breaks off or breaks the rules.
func malformed(cause error) error {
	var timeout interface{ Timeout() bool }
	if errors.As(cause, &timeout) && timeout.Timeout() {
		cause = errors.New("the body did not come in time")
	}
	return invalid("value_error.multipart", "the multipart body is malformed or incomplete: "+cause.Error(), "body")
}

// formSource remembers that it was the body that failed, and not what it was
// written to.
type formSource struct {
	reader io.Reader
	err    error
}

// Read implements io.Reader.
func (s *formSource) Read(p []byte) (int, error) {
	n, err := s.reader.Read(p)
	if err != nil && err != io.EOF {
		s.err = malformed(err)
	}
	return n, err
}

// patience is how long a client may take for its next bytes.
const patience = 2 * time.Minute
