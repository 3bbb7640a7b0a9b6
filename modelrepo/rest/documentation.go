package rest

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo/internal/docpages"
	"github.com/iotenablers/enablers/modelrepo/internal/web"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

func (r *rest) generateDocumentation(w http.ResponseWriter, req *http.Request) error {
	at, query := web.RequestPath(req), req.URL.Query()
	files, err := web.ReadSources(w, req, at)
	if err != nil {
		return err
	}
	plugin := query.Get("plugin")
	handle, err := r.store.GenerateDocumentation(req.Context(), at, plugin, files, query.Get("overwrite") == "1")
	message := fmt.Sprintf("Generated documentation for model version '%s'.", at)
	return got(w, wire.Generated{Message: message, Handle: handle, Plugin: plugin}, err)
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
	page, err := r.store.OpenPage(req.Context(), web.RequestPath(req), name)
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
	at := web.RequestPath(req)
	return done(w, r.store.DeleteDocumentation(req.Context(), at), "Deleted documentation of model version '%s'.", at)
}

// pageStyle answers with the style sheet of the pages.
func pageStyle(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_, _ = w.Write(docpages.Style) // the client may have closed the connection
	return nil
}
