package web

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/docpages"
)

// maxSources is the size of the largest form with sources of documentation: its files, and what
// is around them.
const maxSources = docpages.MaxSource + 1<<20

// ReadSources reads the sources of documentation, the files of a form, into memory. They are few
// and small.
func ReadSources(w http.ResponseWriter, req *http.Request, at modelrepo.Path) (map[string][]byte, error) {
	body := httpapi.PatientBody(w, http.MaxBytesReader(w, req.Body, maxSources), Patience)
	fields, err := httpapi.NewForm(req.Header, body)
	if err != nil {
		return nil, Invalid(http.StatusUnsupportedMediaType, WrongType)
	}
	var all docpages.Files
	for {
		part, err := fields.NextDecoded("content")
		if err == io.EOF {
			return all.All(), nil
		}
		if err == nil {
			// FileName leaves the folders out.
			_, disposition, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
			err = all.Add(strings.TrimPrefix(disposition["filename"], "./"), part)
		}
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
			err = docpages.TooLarge()
		}
		if fault := new(docpages.Error); errors.As(err, &fault) {
			return nil, unfit(at, fault)
		}
		if err != nil {
			return nil, Malformed("The multipart body of the request is malformed or incomplete.")
		}
	}
}

// unfit refuses files that cannot become documentation.
func unfit(at modelrepo.Path, fault *docpages.Error) error {
	kind := modelrepo.ErrInvalid
	if fault.TooLarge {
		kind = modelrepo.ErrTooLarge
	}
	return &modelrepo.Error{Op: "generate documentation", Path: at.String(), Err: kind, Text: fault.Text}
}
