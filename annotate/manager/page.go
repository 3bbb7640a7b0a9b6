package manager

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/editor"
	"github.com/iotenablers/enablers/internal/graph"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

//go:embed page
var pageFiles embed.FS

// Page returns the pages of the manager for people: its channels, with their counts and
// failures, making, starting, stopping, changing and removing them, and the annotations that
// are stored. All addresses in them are relative, so that the handler may be mounted anywhere
// with [http.StripPrefix]. The REST interface, which the pages' scripts use, is below api/.
// opts may be nil.
func (m *Manager) Page(opts *HandlerOptions) http.Handler {
	r := newREST(m, opts)
	p := &pages{rest: r, manager: m, trials: httpapi.NewSlots(trials, "Too many mappings are tried at the moment. Please try again.")}
	own, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // the folder is embedded
	}
	p.part = shell.NewPart(shell.PartConfig{Section: "Annotation", Files: own, Plots: true,
		Assets: httpapi.Assets{"editor.js": {Files: editor.Files}, "editor.LICENSES.txt": {Files: editor.Files, Path: "LICENSES"},
			"cytoscape.esm.min.js": {Files: graph.Files}, "cytoscape.LICENSE.txt": {Files: graph.Files, Path: "LICENSE"}},
		Funcs: map[string]any{"escape": url.PathEscape, "count": countText}})
	options := &httpapi.Options{Classify: classify, WriteError: p.writeError, Hosts: r.options.Hosts,
		Authorize: r.options.Authorize, Logger: r.options.Logger}
	mux := http.NewServeMux()
	mux.Handle("/api/", http.StripPrefix("/api", NewHandler(m, opts)))
	mux.Handle("/", httpapi.NewHandler(p.routes(), options))
	return mux
}

// pages are the pages of a manager.
type pages struct {
	rest    *rest
	manager *Manager
	part    *shell.Part
	trials  *httpapi.Slots // of the workbench
}

func (p *pages) routes() []httpapi.Route {
	routes := append(p.part.Routes(), []httpapi.Route{
		{Pattern: "GET /{$}", Func: p.list},
		{Pattern: "GET /new", Func: p.new, Role: httpapi.Operator},
		{Pattern: "POST /new", Func: p.create},
		{Pattern: "GET /channels/{id}", Func: p.channel},
		{Pattern: "GET /channels/{id}/state", Func: p.state},
		{Pattern: "POST /channels/{id}/start", Func: p.act(startNow, "started")},
		{Pattern: "POST /channels/{id}/stop", Func: p.act(stopNow, "stopped")},
		{Pattern: "POST /channels/{id}/restart", Func: p.act((*Manager).Restart, "restarted")},
		{Pattern: "POST /channels/{id}/delete", Func: p.remove},
		{Pattern: "POST /channels/{id}/mapping", Func: p.useMapping},
		{Pattern: "GET /workbench", Func: p.workbench},
		{Pattern: "POST /workbench", Func: p.work, Role: httpapi.Reader},
		{Pattern: "POST /workbench/try", Func: p.try, Role: httpapi.Reader},
		{Pattern: "POST /workbench/suggest", Func: p.suggest, Role: httpapi.Reader},
		{Pattern: "POST /annotations", Func: p.storeMapping},
		{Pattern: "GET /state", Func: p.states},
		{Pattern: "GET /history", Func: p.history},
	}...)
	for i := range routes {
		routes[i].Undocumented = true
		routes[i].Origins = httpapi.OwnPagesAndLinks
	}
	return routes
}

// writeError answers with a page that says what went wrong, or with the sentence alone for a
// script.
func (p *pages) writeError(w http.ResponseWriter, r *http.Request, e *httpapi.Error) {
	if r.Header.Get("Sec-Fetch-Mode") != "" && r.Header.Get("Sec-Fetch-Mode") != "navigate" ||
		!strings.Contains(r.Header.Get("Accept"), "text/html") {
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

// channelState is what a channel does, in the words of its pages.
type channelState string

// The states of channels.
const (
	running channelState = "running"
	stopped channelState = "stopped"
	waiting channelState = "waiting" // it runs, and a broker is away
	failed  channelState = "failed"  // it should run, and does not
)

// row is a channel in the list, and what its row and page poll.
type row struct {
	ID      string       `json:"id"`
	Name    string       `json:"name"`
	State   channelState `json:"state"`
	Fault   string       `json:"fault"`
	From    string       `json:"from"`
	To      string       `json:"to"`
	Input   string       `json:"input"`
	Output  string       `json:"output"`
	Retry   bool         `json:"retrying"`
	Counts  counts       `json:"counts"`
	Channel Channel      `json:"-"`
}

// counts are those of a channel since this process has it.
type counts struct {
	Received  uint64 `json:"received"`
	Published uint64 `json:"published"`
	Failed    uint64 `json:"failed"`
	Empty     uint64 `json:"empty"`
	IllTyped  uint64 `json:"illTyped"`
	Lag       *int64 `json:"lag"` // nil where the broker does not say
	// LastFailure is about the newest message that could not be annotated.
	LastFailure     string `json:"lastFailure"`
	LastFailureTime string `json:"lastFailureTime"` // RFC 3339, empty without one
}

func rowOf(c Channel, s annotate.Stats) row {
	r := row{
		ID: c.ID, Name: cmp.Or(c.Metadata.Name, c.ID), State: running, Fault: c.Status.Error, Retry: c.Status.Retrying,
		From: string(c.Mapping.InputFormat), To: string(c.Mapping.OutputFormat), Input: c.Input.Name, Output: c.Output.Name,
		Counts: counts{
			Received: s.Received, Published: s.Published, Failed: s.Failed,
			Empty: s.Empty, IllTyped: s.IllTyped, LastFailure: s.LastError,
		},
		Channel: c,
	}
	switch {
	case c.Status.Stopped && c.Status.Error != "":
		r.State = failed
	case c.Status.Stopped:
		r.State = stopped
	case c.Status.Error != "":
		r.State = waiting
	}
	if s.HasLag {
		r.Counts.Lag = &s.Lag
	}
	if !s.LastErrorTime.IsZero() {
		r.Counts.LastFailureTime = s.LastErrorTime.UTC().Format(timeForm)
	}
	return r
}

const timeForm = "2006-01-02T15:04:05Z07:00"

// perPage is how many channels a page of the list has.
const perPage = 100

// page is one page of the list of channels.
type page struct {
	Rows  []row
	Total int // channels that match
	Query string
	State string
	// Next and After are identifiers: the page begins behind After, the next one behind Next.
	After, Next string
}

// rows returns the page that a query of the list selects.
func (p *pages) rows(r *http.Request) page {
	q := r.URL.Query()
	made := page{Query: strings.TrimSpace(q.Get("q")), State: q.Get("state"), After: q.Get("after")}
	stats := p.manager.Stats()
	for _, c := range p.manager.List() {
		one := rowOf(c, stats[c.ID])
		if !one.matches(made.Query) || made.State != "" && string(one.State) != made.State {
			continue
		}
		made.Total++
		switch {
		case c.ID <= made.After && made.After != "":
		case len(made.Rows) < perPage:
			made.Rows = append(made.Rows, one)
		case made.Next == "":
			made.Next = made.Rows[perPage-1].ID
		}
	}
	return made
}

// matches reports whether a name or a topic of the channel has the words.
func (r row) matches(words string) bool {
	text := strings.ToLower(strings.Join([]string{r.ID, r.Name, r.Input, r.Output}, "\n"))
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(words)), func(word string) bool { return !strings.Contains(text, word) })
}

func (p *pages) list(w http.ResponseWriter, r *http.Request) error {
	view := struct {
		shell.Frame
		page
		States []channelState
		Fault  string
		Empty  bool // whether there is no channel at all
	}{Frame: p.part.Frame(r, "Channels"), page: p.rows(r), States: []channelState{running, waiting, failed, stopped}}
	view.Empty = view.Total == 0 && view.Query == "" && view.State == ""
	if err := p.manager.Err(); err != nil {
		view.Fault = sentence(err)
	}
	return p.part.Show(w, r, http.StatusOK, "list.html", &view)
}

// states answers with the rows of the list, for its script.
func (p *pages) states(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	made := p.rows(r)
	return httpapi.WriteJSON(w, append([]row{}, made.Rows...))
}

// find returns the channel of a request as a row.
func (p *pages) find(r *http.Request) (row, error) {
	id := r.PathValue("id")
	c, err := p.manager.Get(id)
	if err != nil {
		return row{}, channelError(err, id)
	}
	return rowOf(c, p.manager.Stats()[id]), nil
}

func (p *pages) channel(w http.ResponseWriter, r *http.Request) error {
	one, err := p.find(r)
	if err != nil {
		return err
	}
	settings, err := json.MarshalIndent(p.manager.records.forms.settings(one.Channel.ChannelConfig), "", "  ")
	if err != nil {
		return fmt.Errorf("show channel %q: %w", one.ID, err)
	}
	view := struct {
		shell.Frame
		Row      row
		Topics   []topicView
		Settings string
		Mapping  annotate.Mapping
	}{p.part.Frame(r, one.Name), one, topicsOf(one.Channel), string(settings), one.Channel.Mapping}
	return p.part.Show(w, r, http.StatusOK, "channel.html", &view)
}

// topicView is a topic of a channel as its page shows it.
type topicView struct {
	Role, Name, Broker, At string
	Off                    bool
}

func topicsOf(c Channel) []topicView {
	var views []topicView
	for _, t := range c.Topics() {
		off := t.Role == annotate.MonitorInputTopic && c.Status.Off.MonitorInput ||
			t.Role == annotate.MonitorOutputTopic && c.Status.Off.MonitorOutput || t.Role == annotate.ErrorTopic && c.Status.Off.Error
		view := topicView{Role: roleText(t.Role), Name: t.Name, Broker: string(t.Broker), Off: off}
		if t.Settings != nil {
			view.At = t.Settings.String()
		}
		views = append(views, view)
	}
	return views
}

func roleText(role annotate.TopicRole) string {
	return map[annotate.TopicRole]string{annotate.InputTopic: "Input", annotate.OutputTopic: "Output",
		annotate.MonitorInputTopic: "Notes about input", annotate.MonitorOutputTopic: "Notes about output", annotate.ErrorTopic: "Errors"}[role]
}

func (p *pages) state(w http.ResponseWriter, r *http.Request) error {
	one, err := p.find(r)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, one)
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
