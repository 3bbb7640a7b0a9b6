package flcollect

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/flcollect/internal/jobform"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

//go:embed page
var pageFiles embed.FS

// ClientEndpoint says how Flower clients reach a server, for the commands that its pages
// show.
type ClientEndpoint struct {
	// Address is HOST:PORT. A host that is empty or unspecified stands for the one by which
	// a page was requested. An empty address has the pages show no command.
	Address string
	// TLS says that clients need TLS.
	TLS bool
	// Token says that clients need a token.
	Token bool
}

// FleetEndpoint says how SuperNodes reach a server, for the commands that its pages show.
type FleetEndpoint struct {
	// Address is HOST:PORT, as in a [ClientEndpoint]. Empty means that SuperNodes cannot
	// connect.
	Address string
	// TLS says that they need TLS.
	TLS bool
	// Key says that they need a key that the server knows.
	Key bool
}

// Page returns the pages of the server for people: its jobs with their rounds and clients,
// making, stopping and comparing them. All addresses in them are relative, so that the
// handler may be mounted anywhere with [http.StripPrefix]. The REST interface, which the
// pages' scripts use, is below api/. opts may be nil.
func (s *Server) Page(opts *HandlerOptions) http.Handler {
	r := newREST(s, opts)
	interior, pages := httpapi.StripPrefix("/api", r.api()), r.pages("api/")
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasPrefix(req.URL.Path, "/api/") {
			interior.ServeHTTP(w, req)
			return
		}
		pages.ServeHTTP(w, req)
	})
}

// pages are the pages of a server.
type pages struct {
	rest *rest
	jobs jobs
	part *shell.Part
	api  string // leads from the root of the pages to the REST interface
}

// pages returns the handler of the pages.
func (r *rest) pages(api string) http.Handler {
	own, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // the folder is embedded
	}
	p := &pages{rest: r, jobs: r.jobs, api: api, part: shell.NewPart(shell.PartConfig{
		Section: "Training", Files: own, Plots: true, Funcs: pageFuncs(),
	})}
	return httpapi.NewHandler(p.routes(), &httpapi.Options{
		Classify: classify, WriteError: p.writeError, Hosts: r.options.Hosts, Authorize: r.options.Authorize, Logger: r.options.Logger,
	})
}

func (p *pages) routes() []httpapi.Route {
	routes := append(p.part.Routes(), []httpapi.Route{
		{Pattern: "GET /{$}", Func: p.list},
		{Pattern: "GET /new", Func: p.new, Role: httpapi.Operator},
		{Pattern: "POST /new", Func: p.create},
		{Pattern: "POST /new/estimate", Func: p.estimate},
		{Pattern: "GET /compare", Func: p.compare},
		{Pattern: "GET /live/{id}", Func: p.job},
		{Pattern: "GET /live/{id}/clients", Func: p.clients, Role: reportRole},
		{Pattern: "POST /live/{id}/stop", Func: p.stop},
		{Pattern: "POST /live/{id}/again", Func: p.again},
	}...)
	for i := range routes {
		routes[i].Undocumented = true
		routes[i].Origins = httpapi.OwnPagesAndLinks
	}
	return routes
}

// isPage reports whether a path is one of the pages, and not of the REST interface.
func isPage(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains([]string{"", "live", "new", "compare", "page", "favicon.ico"}, first)
}

// writeError answers with a page that says what went wrong, or as the REST interface does
// for programs and scripts.
func (p *pages) writeError(w http.ResponseWriter, r *http.Request, e *httpapi.Error) {
	mode := r.Header.Get("Sec-Fetch-Mode")
	if mode != "" && mode != "navigate" || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		writeError(w, r, e)
		return
	}
	view := struct {
		shell.Frame
		Text string
	}{p.part.Frame(r, http.StatusText(e.Status)), textOf(e)}
	if err := p.part.Show(w, r, e.Status, "fault.html", &view); err != nil {
		writeError(w, r, e)
	}
}

// textOf returns what an error says, with the fault of a request where it has one.
func textOf(e *httpapi.Error) string {
	if e.Err != nil {
		if list := detailsOf(e.Err); list != nil {
			return jobform.Sentence(list[0].Msg)
		}
	}
	return e.Text()
}

// perPage is how many jobs a page of the list has.
const perPage = 100

// list answers with the list of jobs.
func (p *pages) list(w http.ResponseWriter, r *http.Request) error {
	view := struct {
		shell.Frame
		API, Prefix, After, Next, Fault string
		Jobs                            []statusView
		Empty                           bool // whether there is no job at all
	}{Frame: p.part.Frame(r, "Jobs"), API: p.api}
	var err error
	if view.After, err = queryID(r, "after"); err != nil {
		return err
	}
	if view.Prefix, err = queryID(r, "prefix"); err != nil {
		return err
	}
	found, next, err := p.jobs.Jobs(r.Context(), view.Prefix, view.After, perPage)
	if err != nil {
		// The page is served all the same, and recovers with the server.
		p.rest.options.Logger.Debug("no jobs for the page", "error", err)
		view.Fault = "The jobs cannot be listed at the moment."
	}
	view.Next = next
	for _, status := range found {
		view.Jobs = append(view.Jobs, viewOf(status))
	}
	view.Empty = len(found) == 0 && view.Prefix == "" && view.After == ""
	return p.part.Show(w, r, http.StatusOK, "list.html", &view)
}

// lastRuns is how many earlier runs the page of a job has in its table.
const lastRuns = 10

// lastRounds is how many rounds the page of a job has in its table.
const lastRounds = 10

// jobView is the page of a job.
type jobView struct {
	shell.Frame
	API         string
	Job         statusView
	Settings    string       // the configuration, as the REST interface takes it
	Rounds      []Round      // newest first
	Earlier     []runView    // runs, newest first
	Quarantined []Quarantine // newest first
	Reports     bool         // whether reports are shown to the caller
	Report      *RoundReport // nil if there is none
	Rest        int          // clients that are shown of it, where it has more
	Missing     int          // clients for which the job waits
	Connected   []Client     // nil if they are not shown to the caller
	Endpoint    *endpoint    // nil if it is not known
	Fleet       *endpoint    // of SuperNodes; nil if the job takes none
	Key         bool         // whether SuperNodes need one that the server knows
}

// job answers with the page of a job.
func (p *pages) job(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	status, err := p.rest.known(r, id)
	if err != nil {
		return err
	}
	view := jobView{Frame: p.part.Frame(r, id), API: p.api, Reports: p.rest.authorized(r, reportRole), Endpoint: p.endpoint(r)}
	if status.Config.App != "" {
		fleet := p.rest.options.Fleet
		view.Fleet, view.Key = reach(r, ClientEndpoint{Address: fleet.Address, TLS: fleet.TLS}), fleet.Key
	}
	if view.Job, err = p.rest.view(r, id); err != nil {
		return err
	}
	view.Missing = max(0, view.Job.Needed-view.Job.Clients)
	settings, err := json.MarshalIndent(status.Config, "", "  ")
	if err != nil {
		return fmt.Errorf("show job %q: %w", id, err)
	}
	view.Settings = string(settings)
	if view.Rounds, err = p.jobs.Rounds(r.Context(), id, max(0, view.Job.finished-lastRounds), lastRounds); err != nil {
		return err
	}
	slices.Reverse(view.Rounds)
	if view.Job.ID > 1 {
		earlier, err := p.jobs.Runs(r.Context(), id, view.Job.ID, lastRuns)
		if err != nil {
			return err
		}
		for _, run := range earlier {
			view.Earlier = append(view.Earlier, runViewOf(run))
		}
	}
	if view.Reports {
		view.Connected = p.jobs.Clients(id)
		if view.Report, view.Rest, err = p.lastReport(r, id, view.Job.finished); err != nil {
			return err
		}
	}
	view.Quarantined = slices.Clone(view.Job.Quarantined)
	slices.Reverse(view.Quarantined)
	return p.part.Show(w, r, http.StatusOK, "job.html", &view)
}

// lastClients is how many clients the page of a job has in its table.
const lastClients = 100

// lastReport returns the report of a round for the page, nil if there is none, and
// how many clients are shown of it, where it has more.
func (p *pages) lastReport(r *http.Request, id string, round int) (*RoundReport, int, error) {
	if round < 1 {
		return nil, 0, nil
	}
	report, err := p.jobs.Report(r.Context(), id, round, 0, lastClients)
	switch {
	case errors.Is(err, ErrNoReport):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	case report.Counts.Total() > len(report.Clients):
		return &report, len(report.Clients), nil
	}
	return &report, 0, nil
}

// clients answers with the names of the clients that are connected for a job, for its
// script.
func (p *pages) clients(w http.ResponseWriter, r *http.Request) error {
	found := []string{}
	for _, c := range p.jobs.Clients(r.PathValue("id")) {
		found = append(found, c.String())
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, found)
}

// stop ends one job, and leads back to its page.
func (p *pages) stop(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := p.jobs.StopJob(r.Context(), id); err != nil {
		return err
	}
	return shell.SeeOther(w, "../"+url.PathEscape(id), "The job "+id+" is stopped.")
}

// again trains a job that has ended with the same configuration.
func (p *pages) again(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	status, err := p.rest.known(r, id)
	if err != nil {
		return err
	}
	if err := p.jobs.Start(r.Context(), id, status.Config); err != nil {
		return err
	}
	return shell.SeeOther(w, "../"+url.PathEscape(id), "The job "+id+" is trained anew.")
}

// endpoint is how a client on this network reaches the server.
type endpoint struct {
	Address string // HOST:PORT
	ClientEndpoint
}

// endpoint returns how clients reach the server, nil if that is not known.
func (p *pages) endpoint(r *http.Request) *endpoint { return reach(r, p.rest.options.Clients) }

func reach(r *http.Request, given ClientEndpoint) *endpoint {
	host, port, err := net.SplitHostPort(given.Address)
	if err != nil {
		return nil
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = cmp.Or(httpapi.Hostname(r), "127.0.0.1")
	}
	return &endpoint{net.JoinHostPort(host, port), given}
}
