package portal

import (
	"compress/gzip"
	"embed"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/swaggest/swgui/v5/static"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/look"
)

//go:embed page
var pageFiles embed.FS

// pages are the templates.
type pages struct {
	home, api, delete, fault *template.Template
	homePart, uploadPart     *template.Template // what scripts replace
	faultPart                *template.Template
}

func newPages() (*pages, error) {
	p := &pages{}
	functions := template.FuncMap{
		"escape": url.PathEscape,
		"stamp":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"day":    func(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04 UTC") },
		"path":   pathText,
		"routed": func(s apimgmt.State) bool { return s.Routed() },
	}
	for _, one := range []struct {
		to         **template.Template
		name, file string
	}{
		{&p.home, "home.html", "home.html"}, {&p.api, "api.html", "api.html"}, {&p.delete, "delete.html", "delete.html"},
		{&p.fault, "fault.html", "fault.html"},
		{&p.homePart, "library", "home.html"}, {&p.uploadPart, "outcome", "home.html"}, {&p.faultPart, "fault-part", "fault.html"},
	} {
		parsed, err := template.New(one.name).Funcs(functions).Parse(look.Head("/portal/"))
		if err == nil {
			parsed, err = parsed.ParseFS(pageFiles, "page/"+one.file, "page/layout.html")
		}
		if err != nil {
			return nil, err
		}
		*one.to = parsed
	}
	return p, nil
}

var parameter = regexp.MustCompile(`\(\?<([^>]+)>[^)]*\)`)

// pathText is a path of a route as in its definition: "/things/{id}".
func pathText(path string) string {
	expression, ok := strings.CutPrefix(path, "~")
	if !ok {
		return path
	}
	return parameter.ReplaceAllString(strings.TrimSuffix(expression, "$"), "{$1}")
}

// assets are the files that pages load.
func assets() httpapi.Assets {
	all := httpapi.Assets{"look.css": {Files: look.Files}, "swagger.css": {Files: look.Files}, "icon.svg": {Files: look.Files}}
	for _, name := range []string{"page.css", "docs.css", "library.js", "docs.js"} {
		all[name] = httpapi.Asset{Files: pageFiles, Path: "page/" + name}
	}
	return all
}

// swaggerAsset answers with a file of Swagger UI, which the module swgui embeds
// compressed.
func swaggerAsset(w http.ResponseWriter, r *http.Request) error {
	types := map[string]string{"swagger-ui-bundle.js": "text/javascript; charset=utf-8", "swagger-ui.css": "text/css; charset=utf-8"}
	name := r.PathValue("name")
	kind, ok := types[name]
	if !ok {
		return &httpapi.Error{Status: http.StatusNotFound}
	}
	file, err := static.FS.Open(name + ".gz")
	if err != nil {
		return fmt.Errorf("open %q: %w", name, err)
	}
	defer func() { _ = file.Close() }() // it is in memory
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "public, max-age=3600")
	h.Add("Vary", "Accept-Encoding")
	var text io.Reader = file
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
	} else if text, err = gzip.NewReader(file); err != nil {
		return fmt.Errorf("read %q: %w", name, err)
	}
	_, _ = io.Copy(w, text) // a client that went away is no error of ours
	return nil
}
