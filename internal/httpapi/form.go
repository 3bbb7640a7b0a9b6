package httpapi

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
)

// formBuffer is large because a multipart reader reads small pieces.
const formBuffer = 256 << 10

// The errors of a form.
var (
	// ErrNoForm reports a Content-Type that is not multipart/form-data with a boundary.
	ErrNoForm = errors.New("httpapi: the Content-Type is not multipart/form-data with a boundary")
	// ErrNoBoundary is the [ErrNoForm] of a Content-Type that is multipart/form-data.
	ErrNoBoundary = fmt.Errorf("%w: the boundary is missing", ErrNoForm)
	// ErrFieldSize reports a field that is longer than its limit.
	ErrFieldSize = errors.New("httpapi: the form field is too large")
)

// Form reads a body of multipart/form-data (RFC 7578) field by field, while it comes in.
// Nothing is stored on the way. It is for one goroutine at a time.
type Form struct{ parts *multipart.Reader }

// NewForm returns the form in a request's body. The error is [ErrNoForm] or
// [ErrNoBoundary] if the header fields of the request announce none. The body may be
// wrapped, for instance by [http.MaxBytesReader] and [PatientBody].
func NewForm(header http.Header, body io.Reader) (*Form, error) {
	mediaType, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
	switch {
	case err != nil || mediaType != "multipart/form-data":
		return nil, ErrNoForm
	case parameters["boundary"] == "":
		return nil, ErrNoBoundary
	}
	whole := &formBody{body: body, last: "\n--" + parameters["boundary"] + "--", tail: []byte("\n")}
	return &Form{multipart.NewReader(bufio.NewReaderSize(whole, formBuffer), parameters["boundary"])}, nil
}

// longestPadding is how much white space may follow the last boundary (RFC 2046, section
// 5.1.1) where no line ends.
const longestPadding = 64

// formBody is a body with [io.ErrUnexpectedEOF] at its end, unless the last line is the
// last boundary. A multipart reader takes a body that breaks off in the header fields of
// a part for a complete one.
type formBody struct {
	body io.Reader
	last string // with the line feed in front
	tail []byte // of what was read, as long as last and the padding at most
}

// Read implements [io.Reader].
func (b *formBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	kept := len(b.last) + longestPadding
	b.tail = append(b.tail, p[max(0, n-kept):n]...)
	b.tail = append(b.tail[:0], b.tail[max(0, len(b.tail)-kept):]...)
	if err == io.EOF && !bytes.HasSuffix(bytes.TrimRight(b.tail, " \t"), []byte(b.last)) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Next skips what is left of the current field, and all fields that have none of the
// names. It returns the next field, or [io.EOF] at the end of a body that is in order.
// Without names it returns each field. The content of a field is not decoded: browsers
// and clients of today send it as it is (RFC 7578 section 4.7).
func (f *Form) Next(names ...string) (*multipart.Part, error) {
	return next(f.parts.NextRawPart, names)
}

// NextDecoded is Next, except that it decodes fields with the Content-Transfer-Encoding
// quoted-printable, which older clients send.
func (f *Form) NextDecoded(names ...string) (*multipart.Part, error) {
	return next(f.parts.NextPart, names)
}

func next(read func() (*multipart.Part, error), names []string) (*multipart.Part, error) {
	for {
		part, err := read()
		if err != nil {
			return nil, err
		}
		if len(names) == 0 || slices.Contains(names, part.FormName()) {
			return part, nil
		}
	}
}

// ReadField reads a field of up to limit bytes into memory. Of a longer one it reads the
// rest too, because many clients look at an answer only when they have sent everything,
// and then returns [ErrFieldSize]. If reading the rest fails, the error is of both.
func ReadField(field io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(field, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		if _, err := io.Copy(io.Discard, field); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFieldSize, err)
		}
		return nil, ErrFieldSize
	}
	return data, nil
}

// ReadForm reads the fields of a form without files, of the URL and of a body of at most limit bytes, for
// [http.Request.Form]. The error is an [*Error].
func ReadForm(w http.ResponseWriter, r *http.Request, limit int64) error {
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	if err := r.ParseForm(); err != nil {
		return &Error{Status: http.StatusBadRequest, Detail: "The form cannot be read.", Err: err}
	}
	return nil
}
