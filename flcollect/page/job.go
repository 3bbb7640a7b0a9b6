package page

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/internal/view"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// lastRuns is how many earlier runs the page of a job has in its table.
const lastRuns = 10

// lastRounds is how many rounds the page of a job has in its table.
const lastRounds = 10

// jobView is the page of a job.
type jobView struct {
	shell.Frame
	API         string
	Job         view.Status
	Settings    string              // the configuration, as the REST interface takes it
	Rounds      []report.Round      // newest first
	Earlier     []view.Run          // runs, newest first
	Quarantined []report.Quarantine // newest first
	Reports     bool                // whether reports are shown to the caller
	Report      *report.RoundReport // nil if there is none
	Rest        int                 // clients that are shown of it, where it has more
	Missing     int                 // clients for which the job waits
	Connected   []flcollect.Client  // nil if they are not shown to the caller
	Endpoint    *endpoint           // nil if it is not known
	Fleet       *endpoint           // of SuperNodes; nil if the job takes none
	Key         bool                // whether SuperNodes need one that the server knows
}

// job answers with the page of a job.
func (p *pages) job(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	status, err := view.Find(r.Context(), p.jobs, id)
	if err != nil {
		return err
	}
	page := jobView{Frame: p.part.Frame(r, id), API: p.api, Reports: p.authorized(r, reportRole), Endpoint: reach(r, p.options.Clients)}
	if status.Config.App != "" {
		fleet := p.options.Fleet
		page.Fleet, page.Key = reach(r, ClientEndpoint{Address: fleet.Address, TLS: fleet.TLS}), fleet.Key
	}
	page.Job = view.FromStatus(status)
	page.Missing = max(0, page.Job.Needed-page.Job.Clients)
	settings, err := json.MarshalIndent(status.Config, "", "  ")
	if err != nil {
		return fmt.Errorf("show job %q: %w", id, err)
	}
	page.Settings = string(settings)
	if page.Rounds, err = p.jobs.Rounds(r.Context(), id, max(0, status.Round-lastRounds), lastRounds); err != nil {
		return err
	}
	slices.Reverse(page.Rounds)
	if len(page.Rounds) > 0 && status.Round > 0 {
		page.Job.Loss, page.Job.Metrics = page.Rounds[0].Loss, page.Rounds[0].Metrics
	}
	if page.Job.ID > 1 {
		earlier, err := p.jobs.Runs(r.Context(), id, page.Job.ID, lastRuns)
		if err != nil {
			return err
		}
		for _, run := range earlier {
			page.Earlier = append(page.Earlier, view.FromRun(run))
		}
	}
	if page.Reports {
		page.Connected = p.jobs.Clients(id)
		if page.Report, page.Rest, err = p.lastReport(r, id, status.Round); err != nil {
			return err
		}
	}
	page.Quarantined = slices.Clone(page.Job.Quarantined)
	slices.Reverse(page.Quarantined)
	return p.part.Show(w, r, http.StatusOK, "job.html", &page)
}

// lastClients is how many clients the page of a job has in its table.
const lastClients = 100

// lastReport returns the report of a round for the page, nil if there is none, and
// how many clients are shown of it, where it has more.
func (p *pages) lastReport(r *http.Request, id string, round int) (*report.RoundReport, int, error) {
	if round < 1 {
		return nil, 0, nil
	}
	found, err := p.jobs.Report(r.Context(), id, round, 0, lastClients)
	switch {
	case errors.Is(err, report.ErrNoReport):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	case found.Counts.Total() > len(found.Clients):
		return &found, len(found.Clients), nil
	}
	return &found, 0, nil
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
	status, err := view.Find(r.Context(), p.jobs, id)
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

// reach returns how clients reach the server, nil if that is not known.
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
