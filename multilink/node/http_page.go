package node

import (
	"embed"
	"html/template"
	"net/http"

	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/look"
	"github.com/iotenablers/enablers/internal/uplot"
	"github.com/iotenablers/enablers/multilink/settings"
)

//go:embed page
var pageFiles embed.FS

// pages are the HTML page and its assets.
type pages struct {
	rest     *rest
	template *template.Template
	assets   httpapi.Assets
}

// view is the data of a template.
type view struct {
	Title    string
	Status   statusRecord
	Replay   bool
	Policies []settings.Policy
	Kinds    []settings.Kind
}

func newPages(r *rest) *pages {
	p := &pages{rest: r, assets: httpapi.Assets{
		"look.css":          {Files: look.Files},
		"icon.svg":          {Files: look.Files},
		"uPlot.iife.min.js": {Files: uplot.Files},
		"uPlot.min.css":     {Files: uplot.Files},
		"uPlot.LICENSE.txt": {Files: uplot.Files, Path: "LICENSE"},
		"live.js":           {Files: uplot.Files},
	}}
	for _, name := range []string{"page.css", "page.js", "links.js", "clients.js", "charts.js", "api.js"} {
		p.assets[name] = httpapi.Asset{Files: pageFiles, Path: "page/" + name}
	}
	head := template.Must(template.New("instance.html").Parse(look.Head("page/")))
	p.template = template.Must(head.ParseFS(pageFiles, "page/layout.html", "page/instance.html"))
	return p
}

func (p *pages) routes() []httpapi.Route {
	row := func(pattern string, f httpapi.HandlerFunc, role httpapi.Role) httpapi.Route {
		return httpapi.Route{Pattern: pattern, Func: f, Undocumented: true, Role: role, Origins: httpapi.OwnPagesAndLinks}
	}
	return []httpapi.Route{
		row("GET /{$}", p.home, httpapi.Reader),
		row("GET /sign-in", httpapi.RedirectTo(access.Prefix+"sign-in"), httpapi.Public), // where it was once
		row("GET /page/{name}", p.asset, httpapi.Public),
		row("GET /favicon.ico", httpapi.Icon, httpapi.Public),
	}
}

func (p *pages) home(w http.ResponseWriter, _ *http.Request) error {
	status := records{p.rest.node}.statusRecord()
	return httpapi.WritePage(w, http.StatusOK, p.template, "", view{
		Title: "Multi-link " + string(p.rest.node.config.Role), Status: status,
		Replay:   *status.Bond.Replay,
		Policies: settings.Policies(), Kinds: settings.Kinds(),
	}, httpapi.FormPage())
}

// asset serves a file of a page.
func (p *pages) asset(w http.ResponseWriter, r *http.Request) error {
	if err := p.assets.Serve(w, r); err != nil {
		return absent("", "there is no such file")
	}
	return nil
}
