package portal

import (
	"compress/gzip"
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/swaggest/swgui/v5/static"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/look"
	"github.com/iotenablers/enablers/internal/shell"
)

//go:embed page
var pageFiles embed.FS

// newPart reads the templates.
func newPart() *shell.Part {
	own, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return shell.NewPart(shell.PartConfig{
		Section: "APIs", Files: own, Assets: httpapi.Assets{"swagger.css": {Files: look.Files}},
		Funcs: template.FuncMap{
			"escape": url.PathEscape, "path": pathText,
			"routed": func(s apimgmt.State) bool { return s.Routed() },
		},
	})
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
	_, _ = io.Copy(w, text) // a client that went away is not an error of this server
	return nil
}
