package httpapi

import (
	"bufio"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
)

// formBuffer is large because a multipart reader reads small pieces.
const formBuffer = 256 << 10

// The errors of a form.
var (
	// ErrNoForm reports a Content-Type that is not multipart/form-data with a boundary.
	ErrNoForm = errors.New("httpapi: the Content-Type is not multipart/form-data with a boundary")
	// ErrFieldSize reports a field that is longer than its limit.
	ErrFieldSize = errors.New("httpapi: the form field is too large")
)

// Form reads a body of multipart/form-data (RFC 7578) field by field, while it comes in.
// Nothing is stored on the way. It is for one goroutine at a time.
type Form struct{ parts *multipart.Reader }

// NewForm returns the form in a request's body. The error is [ErrNoForm] if the header
// fields of the request announce none. The body may be wrapped, for instance by
// [http.MaxBytesReader] and [PatientBody].
func NewForm(header http.Header, body io.Reader) (*Form, error) {
	mediaType, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || mediaType != "multipart/form-data" || parameters["boundary"] == "" {
		return nil, ErrNoForm
	}
	// A body that ends without the last boundary must not look like one that ends after it,
	// as it does to a multipart reader when the body breaks off behind another boundary.
	whole := io.MultiReader(body, strings.NewReader("\r\n"), brokenOff{})
	return &Form{multipart.NewReader(bufio.NewReaderSize(whole, formBuffer), parameters["boundary"])}, nil
}

// brokenOff is what follows a body.
type brokenOff struct{}

// Read implements [io.Reader].
func (brokenOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Next skips what is left of the current field, and all fields that have none of the
// names. It returns the next field, or [io.EOF] at the end of a body that is in order.
// Without names it returns each field. The content of a field is not decoded: browsers
// and clients of today send it as it is (RFC 7578 section 4.7).
func (f *Form) Next(names ...string) (*multipart.Part, error) {
	for {
		part, err := f.parts.NextRawPart()
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
// and then returns [ErrFieldSize].
func ReadField(field io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(field, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		if _, err := io.Copy(io.Discard, field); err != nil {
			return nil, err
		}
		return nil, ErrFieldSize
	}
	return data, nil
}
