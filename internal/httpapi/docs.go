package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"

	"github.com/iotenablers/enablers/internal/look"
)

// Document serves an OpenAPI document.
func Document(openapi []byte) HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(openapi) // a client that has gone is not an error
		return nil
	}
}

// DocsUI serves an interactive page about an OpenAPI document, with assets
// that are part of the program. path is where it is, with a slash at the end;
// document is where the document is, relative to that. The page may load
// only its own assets and send requests only to its own origin.
func DocsUI(title, path, document string) HandlerFunc {
	ui := v5emb.NewHandlerWithConfig(swgui.Config{
		Title:            title,
		SwaggerJSON:      document,
		BasePath:         ".",
		InternalBasePath: strings.TrimSuffix(path, "/"),
	})
	page := renderPage(ui, path)
	policy := pagePolicy(page)
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.URL.Path != path {
			w.Header().Set("Cache-Control", "public, max-age=3600")
			switch name := strings.TrimPrefix(r.URL.Path, path); name {
			case "look.css", "swagger.css":
				http.ServeFileFS(w, r, look.Files, name)
			default:
				ui.ServeHTTP(w, r)
			}
			return nil
		}
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		_, _ = w.Write(page) // a client that has gone is not an error
		return nil
	}
}

// RedirectTo sends a request on to a place that is relative to its own, such as
// "docs/" from ".../docs". It holds below any prefix that http.StripPrefix takes
// off, which http.Redirect knows nothing of.
func RedirectTo(place string) HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Location", place)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return nil
	}
}

// renderPage renders the page once: it is the same for all users.
func renderPage(ui http.Handler, path string) []byte {
	var page pageBuffer
	ui.ServeHTTP(&page, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}, Header: http.Header{}})
	// The page is made for phones as well, and does not say so.
	const viewport = `<head><meta name="viewport" content="width=device-width, initial-scale=1">`
	// Its own colours know no dark. Of two equal rules the later one counts.
	const sheets = `<link rel="stylesheet" href="./look.css"><link rel="stylesheet" href="./swagger.css"></head>`
	html := bytes.Replace(page.Bytes(), []byte("<head>"), []byte(viewport), 1)
	return bytes.Replace(html, []byte("</head>"), []byte(sheets), 1)
}

type pageBuffer struct {
	bytes.Buffer
	header http.Header
}

func (p *pageBuffer) Header() http.Header {
	if p.header == nil {
		p.header = http.Header{}
	}
	return p.header
}

func (p *pageBuffer) WriteHeader(int) {}

// pagePolicy is a Content-Security-Policy (CSP level 3) that allows exactly
// the scripts that are in the page.
func pagePolicy(page []byte) string {
	inline := regexp.MustCompile(`(?s)<script>(.*?)</script>`)
	scripts := "'self'"
	for _, script := range inline.FindAllSubmatch(page, -1) {
		sum := sha256.Sum256(script[1])
		scripts += fmt.Sprintf(" 'sha256-%s'", base64.StdEncoding.EncodeToString(sum[:]))
	}
	return "default-src 'none'; connect-src 'self'; font-src 'self' data:; img-src 'self' data:; " +
		"style-src 'self' 'unsafe-inline'; script-src " + scripts +
		"; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}
