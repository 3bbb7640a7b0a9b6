package rest

import (
	"errors"
	"io"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/web"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

// openForm reads the body of an upload up to the beginning of the content.
func openForm(w http.ResponseWriter, req *http.Request) (*web.Content, error) {
	fields, err := httpapi.NewForm(req.Header, httpapi.PatientBody(w, req.Body, web.Patience))
	switch {
	case errors.Is(err, httpapi.ErrNoBoundary):
		return nil, web.Malformed("The Content-Type of the request has no boundary.")
	case err != nil:
		return nil, web.Invalid(http.StatusUnsupportedMediaType, web.WrongType)
	}
	part, err := fields.NextDecoded("content")
	switch {
	case err == io.EOF:
		return nil, web.Malformed("The form field 'content' is missing.")
	case err != nil:
		return nil, web.Malformed("The multipart body of the request is malformed or incomplete.")
	}
	return &web.Content{Form: fields, Part: part}, nil
}

// formDigests returns the digests that are announced for the content of a form, with its part or
// with the request.
func formDigests(part, request http.Header) (modelrepo.Digests, error) {
	var both modelrepo.Digests
	for _, header := range []http.Header{request, part} {
		announced, err := wire.ParseDigests(header.Get("Content-MD5"), joined(header, "Repr-Digest"))
		if err == nil {
			both, err = wire.MergeDigests(both, announced)
		}
		if err != nil {
			return modelrepo.Digests{}, web.Malformed(err.Error())
		}
	}
	return both, nil
}
