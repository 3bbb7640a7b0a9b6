package shell

import (
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/iotenablers/enablers/internal/form"
	"github.com/iotenablers/enablers/internal/history"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/look"
	"github.com/iotenablers/enablers/internal/uplot"
)

//go:embed page
var files embed.FS

// Part is the pages of one room.
type Part struct {
	section   string
	templates map[string]*template.Template
	assets    httpapi.Assets
}

// PartConfig configures [NewPart].
type PartConfig struct {
	// Section is the name of the section that the pages belong to.
	Section string
	// Files has the templates, named *.html, and the other files that the pages load. The
	// file shared.html, if there is one, has definitions that all templates use, beside those of package form.
	Files fs.FS
	// Funcs are the functions of the templates, besides those of this package.
	Funcs template.FuncMap
	// Assets are further files that the pages load.
	Assets httpapi.Assets
	// Plots adds uPlot, with the modules live.js and history.js, and the template "plots" that
	// loads the library.
	Plots bool
}

// sharedFile has the definitions that all templates of a part use.
const sharedFile = "shared.html"

// NewPart reads the templates. It panics if one of them is faulty, which is a mistake in the
// program.
func NewPart(config PartConfig) *Part {
	p := &Part{section: config.Section, templates: map[string]*template.Template{}, assets: httpapi.Assets{
		"look.css": {Files: look.Files}, "icon.svg": {Files: look.Files},
		"shell.js": {Files: files, Path: "page/shell.js"},
	}}
	if config.Plots {
		for _, name := range []string{"uPlot.iife.min.js", "uPlot.min.css", "live.js", "history.js"} {
			p.assets[name] = httpapi.Asset{Files: uplot.Files}
		}
		p.assets["uPlot.LICENSE.txt"] = httpapi.Asset{Files: uplot.Files, Path: "LICENSE"}
	}
	for name, asset := range config.Assets {
		p.assets[name] = asset
	}
	entries, err := fs.ReadDir(config.Files, ".")
	if err != nil {
		panic(fmt.Sprintf("shell: the files of %s: %v", config.Section, err))
	}
	var shared []string
	if _, err := fs.Stat(config.Files, sharedFile); err == nil {
		shared = append(shared, sharedFile)
	}
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case name == sharedFile:
		case path.Ext(name) == ".html":
			t := template.New(name).Funcs(functions()).Funcs(config.Funcs)
			t = template.Must(template.Must(t.ParseFS(files, "page/shell.html")).ParseFS(form.Files, "field.html"))
			p.templates[name] = template.Must(t.ParseFS(config.Files, append([]string{name}, shared...)...))
		default:
			p.assets[name] = httpapi.Asset{Files: config.Files}
		}
	}
	return p
}

// functions are those that all templates have.
func functions() template.FuncMap {
	return template.FuncMap{
		"count": countText,
		"ranges": func() []string {
			var names []string
			for _, r := range history.Ranges() {
				names = append(names, r.Name)
			}
			return names
		},
		"time": func(at time.Time) template.HTML {
			if at.IsZero() {
				return "–"
			}
			at = at.UTC()
			return template.HTML(`<time datetime="` + at.Format(time.RFC3339) + `">` + at.Format("2006-01-02 15:04:05") + " UTC</time>")
		},
	}
}

// countText writes a number with a comma before every three digits.
func countText(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// AssetPattern is the pattern of the route for the files of a part.
const AssetPattern = "GET /page/{name}"

// Routes returns the routes that every part has: its files, and the icon.
func (p *Part) Routes() []httpapi.Route {
	return []httpapi.Route{
		{Pattern: AssetPattern, Func: p.assets.Serve, Role: httpapi.Public, Undocumented: true},
		{Pattern: "GET /favicon.ico", Func: httpapi.Icon, Role: httpapi.Public, Undocumented: true},
	}
}

// Framed is a view: a struct that embeds [Frame].
type Framed interface{ frame() *Frame }

func (f *Frame) frame() *Frame { return f }

// Show answers with the page of that name. The view is a pointer to a struct that embeds the
// frame of the request. Notices of the last action are shown once.
func (p *Part) Show(w http.ResponseWriter, r *http.Request, status int, name string, view Framed) error {
	t := p.templates[name]
	if t == nil {
		return fmt.Errorf("show page %q: there is no such template", name)
	}
	f := view.frame()
	f.Notices = append(f.Notices, takeNotice(w, r)...)
	if f.Policy == (httpapi.PagePolicy{}) {
		f.Policy = httpapi.FormPage()
	}
	return httpapi.WritePage(w, status, t, name, view, f.Policy)
}
