package page

import (
	"embed"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/channelform"
	"github.com/iotenablers/enablers/annotate/manager/rest"
	"github.com/iotenablers/enablers/internal/editor"
	"github.com/iotenablers/enablers/internal/graph"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

//go:embed assets
var assets embed.FS

// NewHandler returns the pages of a manager for people: its channels, with their counts and
// failures, making, starting, stopping, changing and removing them, and the annotations that
// are stored. All addresses in them are relative, so that the handler may be mounted anywhere
// with [http.StripPrefix]. The REST interface, which the pages' scripts use, is below api/.
// opts may be nil.
func NewHandler(m *manager.Manager, opts *rest.HandlerOptions) http.Handler {
	if opts == nil {
		opts = &rest.HandlerOptions{}
	}
	env := m.Config().Environment
	p := &pages{manager: m, env: env, forms: channelform.New(env.Drivers),
		connections: httpapi.NewSlots(connectionTrials, "Too many connections are tried at the moment. Please try again.")}
	own, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the folder is embedded
	}
	p.part = shell.NewPart(shell.PartConfig{Section: "Annotation", Files: own, Plots: true,
		Assets: httpapi.Assets{
			"editor.js": {Files: editor.Files}, "editor.LICENSES.txt": {Files: editor.Files, Path: "LICENSES"},
			"cytoscape.esm.min.js": {Files: graph.Files}, "cytoscape.LICENSE.txt": {Files: graph.Files, Path: "LICENSE"}},
		Funcs: map[string]any{"escape": url.PathEscape}})
	options := &httpapi.Options{Classify: rest.Classify, WriteError: p.writeError, Hosts: opts.Hosts,
		Authorize: opts.Authorize, Logger: opts.Logger}
	mux := http.NewServeMux()
	mux.Handle("/api/", httpapi.StripPrefix("/api", rest.NewHandler(m, opts)))
	mux.Handle("/", httpapi.NewHandler(p.routes(), options))
	return mux
}

// pages are the pages of a manager.
type pages struct {
	manager *manager.Manager
	env     annotate.Environment
	forms   channelform.Forms
	part    *shell.Part

	connections *httpapi.Slots // bounds the forms whose connections are tried
}

func (p *pages) routes() []httpapi.Route {
	routes := append(p.part.Routes(), []httpapi.Route{
		{Pattern: "GET /{$}", Func: p.list},
		{Pattern: "GET /new", Func: p.new, Role: httpapi.Operator},
		{Pattern: "POST /new", Func: p.create},
		{Pattern: "POST /connections", Func: p.connect},
		{Pattern: "GET /channels/{id}/edit", Func: p.edit, Role: httpapi.Operator},
		{Pattern: "POST /channels/{id}/edit", Func: p.change},
		{Pattern: "GET /channels/{id}/failures", Func: p.kept(failedMessages()), Role: httpapi.Operator},
		{Pattern: "GET /channels/{id}/failures/{number}", Func: p.keptMessage(failedMessages()), Role: httpapi.Operator},
		{Pattern: "GET /channels/{id}/warnings", Func: p.kept(warnedMessages()), Role: httpapi.Operator},
		{Pattern: "GET /channels/{id}/warnings/{number}", Func: p.keptMessage(warnedMessages()), Role: httpapi.Operator},
		{Pattern: "GET /channels/{id}", Func: p.channel},
		{Pattern: "GET /channels/{id}/state", Func: p.state},
		{Pattern: "POST /channels/{id}/start", Func: p.act(startNow, "started")},
		{Pattern: "POST /channels/{id}/stop", Func: p.act(stopNow, "stopped")},
		{Pattern: "POST /channels/{id}/restart", Func: p.act((*manager.Manager).Restart, "restarted")},
		{Pattern: "POST /channels/{id}/delete", Func: p.remove},
		{Pattern: "GET /annotations", Func: p.annotations},
		{Pattern: "GET /annotations/{id}", Func: p.annotation},
		{Pattern: "POST /annotations/{id}/delete", Func: p.removeAnnotation},
		{Pattern: "GET /state", Func: p.states},
		{Pattern: "GET /history", Func: p.history},
	}...)
	routes = append(routes, newWorkbench(p).routes()...)
	for i := range routes {
		routes[i].Undocumented = true
		routes[i].Origins = httpapi.OwnPagesAndLinks
	}
	return routes
}

// writeError answers with a page that says what went wrong, or with the sentence alone for a
// script.
func (p *pages) writeError(w http.ResponseWriter, r *http.Request, e *httpapi.Error) {
	if !httpapi.WantsPage(r) {
		httpapi.WriteTextError(w, r, e)
		return
	}
	view := struct {
		shell.Frame
		Text string
	}{p.part.Frame(r, http.StatusText(e.Status)), e.Text()}
	if err := p.part.Show(w, r, e.Status, "fault.html", &view); err != nil {
		httpapi.WriteTextError(w, r, e)
	}
}

// channelHref returns the address of a channel's page, relative to the root.
func channelHref(id string) string { return "channels/" + url.PathEscape(id) }

// sentence returns the text of an error as a sentence.
func sentence(err error) string {
	var field *annotate.FieldError
	if errors.As(err, &field) && field.Field != "" {
		return field.Field + ": " + field.Reason
	}
	text := strings.TrimPrefix(err.Error(), "annotate: ")
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
