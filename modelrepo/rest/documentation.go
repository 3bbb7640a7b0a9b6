package rest

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/docpages"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

// maxDocumentation is the size of the largest body with documentation: its files, and
// the form around them.
const maxDocumentation = docpages.MaxSource + 1<<20

func (r *rest) generateDocumentation(w http.ResponseWriter, req *http.Request) error {
	at, query := pathOf(req), req.URL.Query()
	files, err := readSources(w, req, at)
	if err != nil {
		return err
	}
	plugin := query.Get("plugin")
	handle, err := r.store.GenerateDocumentation(req.Context(), at, plugin, files, query.Get("overwrite") == "1")
	message := fmt.Sprintf("Generated documentation for model version '%s'.", at)
	return got(w, wire.Generated{Message: message, Handle: handle, Plugin: plugin}, err)
}

// readSources reads the files of a multipart body into memory. They are few and small.
func readSources(w http.ResponseWriter, req *http.Request, at modelrepo.Path) (map[string][]byte, error) {
	const op = "generate documentation"
	body := httpapi.PatientBody(w, http.MaxBytesReader(w, req.Body, maxDocumentation), patience)
	fields, err := httpapi.NewForm(req.Header, body)
	if err != nil {
		return nil, invalid(http.StatusUnsupportedMediaType, wrongType)
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
		var fault *docpages.Error
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			return nil, unfit(op, at, docpages.TooLarge())
		case errors.As(err, &fault):
			return nil, unfit(op, at, fault)
		case err != nil:
			return nil, malformed("The multipart body of the request is malformed or incomplete.")
		}
	}
}

// unfit returns the refusal of files that cannot become documentation.
func unfit(op string, at modelrepo.Path, err error) error {
	kind := modelrepo.ErrInvalid
	var fault *docpages.Error
	if errors.As(err, &fault) && fault.TooLarge {
		kind = modelrepo.ErrTooLarge
	}
	return &modelrepo.Error{Op: op, Path: at.String(), Err: kind, Text: err.Error()}
}

// documentation answers with a page or a file. Markdown is not trusted: the policies
// let pages show text and images of their own only.
func (r *rest) documentation(w http.ResponseWriter, req *http.Request) error {
	name := req.PathValue("page")
	if name == "" && !strings.HasSuffix(req.URL.Path, "/") {
		// The location is relative, so that it works behind the prefix of a proxy.
		w.Header().Set("Location", "doc/")
		w.WriteHeader(http.StatusTemporaryRedirect)
		return nil
	}
	page, err := r.store.OpenPage(req.Context(), pathOf(req), name)
	if err != nil {
		return err
	}
	defer func() { _ = page.Close() }()
	h := w.Header()
	h.Set("Content-Type", page.ContentType)
	h.Set("ETag", httpapi.EntityTag{Value: page.ETag}.String())
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'none'")
	switch {
	case strings.HasPrefix(page.ContentType, "text/html"):
		h.Set("Content-Security-Policy", "default-src 'none'; img-src 'self'; style-src 'self'; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	case page.ContentType == "application/octet-stream":
		h.Set("Content-Disposition", "attachment")
	}
	_, err = r.serveContent(w, req, page.Modified, &body{ReadSeeker: page})
	return err
}

func (r *rest) deleteDocumentation(w http.ResponseWriter, req *http.Request) error {
	at := pathOf(req)
	return done(w, r.store.DeleteDocumentation(req.Context(), at), "Deleted documentation of model version '%s'.", at)
}

// pageStyle answers with the style sheet of the pages.
func pageStyle(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_, _ = w.Write(docpages.Style) // the client may have closed the connection
	return nil
}
