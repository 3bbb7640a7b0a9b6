package httpapi

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"

	"github.com/iotenablers/enablers/internal/look"
)

// PagePolicy is what browsers allow a page.
type PagePolicy struct {
	// Content is the Content-Security-Policy (CSP level 3).
	Content string
	// Referrer is the Referrer-Policy.
	Referrer string
}

// ReadOnlyPage allows a page its own assets and its own origin, and no forms.
func ReadOnlyPage() PagePolicy { return PagePolicy{ownOrigin("'none'"), "no-referrer"} }

// FormPage allows a page its own assets, its own origin and forms that lead there.
func FormPage() PagePolicy { return PagePolicy{ownOrigin("'self'"), "same-origin"} }

func ownOrigin(forms string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"base-uri 'none'; form-action " + forms + "; frame-ancestors 'none'"
}

// WritePage answers with a page that no cache keeps: the template of that name, executed
// with the view. An empty name means the template itself. Nothing is written when the
// template fails.
func WritePage(w http.ResponseWriter, status int, page *template.Template, name string, view any, policy PagePolicy) error {
	if name == "" {
		name = page.Name()
	}
	var html bytes.Buffer
	if err := page.ExecuteTemplate(&html, name, view); err != nil {
		return fmt.Errorf("render page %q: %w", name, err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy.Content)
	h.Set("Referrer-Policy", policy.Referrer)
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(html.Bytes()) // a client that has gone is not an error
	return nil
}

// Assets are the files that pages load, by the names under which they are served.
type Assets map[string]Asset

// Asset is a file of an [fs.FS].
type Asset struct {
	// Files has the file.
	Files fs.FS
	// Path is where it is in Files. Empty means the name under which it is served.
	Path string
}

// Serve answers with the asset whose name is the path value "name". A browser may keep
// it, and asks each time whether it has changed.
func (a Assets) Serve(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	asset, ok := a[name]
	if !ok {
		return &Error{Status: http.StatusNotFound}
	}
	if asset.Path == "" {
		asset.Path = name
	}
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeFileFS(w, r, asset.Files, asset.Path)
	return nil
}

// Icon answers a request for /favicon.ico, which browsers send for pages without an icon.
func Icon(w http.ResponseWriter, r *http.Request) error {
	http.ServeFileFS(w, r, look.Files, "icon.svg")
	return nil
}
