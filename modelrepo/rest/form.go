package rest

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

// form is the body of an upload: multipart/form-data (RFC 7578) with one field
// "content". It streams the bytes of that field. Its end is the end of a complete and
// valid body.
type form struct {
	fields *httpapi.Form
	part   *multipart.Part // the content
}

// openForm reads the body up to the beginning of the content.
func openForm(w http.ResponseWriter, req *http.Request) (*form, error) {
	fields, err := httpapi.NewForm(req.Header, httpapi.PatientBody(w, req.Body, patience))
	switch {
	case errors.Is(err, httpapi.ErrNoBoundary):
		return nil, malformed("The Content-Type of the request has no boundary.")
	case err != nil:
		return nil, invalid(http.StatusUnsupportedMediaType, wrongType)
	}
	f := &form{fields: fields}
	if f.part, err = f.next(); err == io.EOF {
		return nil, malformed("The form field 'content' is missing.")
	} else if err != nil {
		return nil, malformed("The multipart body of the request is malformed or incomplete.")
	}
	return f, nil
}

// next skips to the next field "content". It returns io.EOF at the end of the body.
func (f *form) next() (*multipart.Part, error) { return f.fields.NextDecoded("content") }

// digests returns the digests that are announced for the content, with its part or with
// the request.
func (f *form) digests(request http.Header) (modelrepo.Digests, error) {
	ofRequest, err := wire.ParseDigests(request.Get("Content-MD5"), joined(request, "Repr-Digest"))
	if err != nil {
		return modelrepo.Digests{}, malformed(err.Error())
	}
	part := http.Header(f.part.Header)
	ofPart, err := wire.ParseDigests(part.Get("Content-MD5"), joined(part, "Repr-Digest"))
	if err != nil {
		return modelrepo.Digests{}, malformed(err.Error())
	}
	both, err := wire.MergeDigests(ofRequest, ofPart)
	if err != nil {
		return modelrepo.Digests{}, malformed(err.Error())
	}
	return both, nil
}

// Read implements [io.Reader].
func (f *form) Read(p []byte) (int, error) {
	n, err := f.part.Read(p)
	if err != io.EOF {
		return n, err
	}
	// A body that is cut off here, or has the field twice, is not stored.
	switch _, err := f.next(); {
	case err == io.EOF:
		return n, io.EOF
	case err != nil:
		return n, err
	}
	return n, &modelrepo.Error{Op: "upload content", Err: modelrepo.ErrInvalid,
		Text: "The form field 'content' is there more than once. Nothing was stored."}
}
