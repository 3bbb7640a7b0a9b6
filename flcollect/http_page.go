package flcollect

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/internal/jobconfig"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/look"
	"github.com/iotenablers/enablers/internal/uplot"
)

//go:embed page
var pageFiles embed.FS

// pages are the pages for people.
type pages struct {
	jobs, job *template.Template
	assets    httpapi.Assets
}

func newPages() *pages {
	p := &pages{assets: httpapi.Assets{
		"look.css":          {Files: look.Files},
		"icon.svg":          {Files: look.Files},
		"refused.js":        {Files: look.Files},
		"uPlot.iife.min.js": {Files: uplot.Files},
		"uPlot.min.css":     {Files: uplot.Files},
		"uPlot.LICENSE.txt": {Files: uplot.Files, Path: "LICENSE"},
	}}
	for _, name := range []string{"page.css", "jobs.js", "job.js", "charts.js", "report.js", "format.js"} {
		p.assets[name] = httpapi.Asset{Files: pageFiles, Path: "page/" + name}
	}
	parse := func(name string, blank any) *template.Template {
		page := template.New(name).Funcs(template.FuncMap{
			"blank":     func() any { return blank },
			"escape":    url.PathEscape,
			"reached":   func(round int) int { return max(round, 0) },
			"add":       func(a, b int) int { return a + b },
			"loss":      lossText,
			"metrics":   metricsText,
			"bytes":     func(a, b int64) string { return bytesText(a + b) },
			"seconds":   func(a, b float64) string { return secondsText(a + b) },
			"stamp":     stampText,
			"standing":  standingText,
			"remark":    remarkText,
			"epsilon":   epsilonText,
			"encrypted": func(mechanisms []string) bool { return slices.Contains(mechanisms, jobconfig.Homomorphic) },
		})
		page = template.Must(page.Parse(look.Head("{{.Root}}page/")))
		return template.Must(page.ParseFS(pageFiles, "page/"+name, "page/layout.html"))
	}
	p.jobs = parse("jobs.html", statusView{})
	p.job = parse("job.html", Round{})
	return p
}

// showJobs answers with the list of jobs.
func (r *rest) showJobs(w http.ResponseWriter, req *http.Request) error {
	view := struct {
		Title, Root, After, Next, Fault string
		Jobs                            []statusView
	}{Title: "Training collector"}
	var err error
	if view.After, err = queryID(req, "after"); err != nil {
		return err
	}
	found, next, err := r.jobs.Jobs(req.Context(), "", view.After, 100)
	if err != nil {
		// The page is served all the same, and recovers with the server.
		r.options.Logger.Debug("no jobs for the page", "error", err)
		view.Fault = "The jobs cannot be listed at the moment."
	}
	view.Next = next
	for _, status := range found {
		view.Jobs = append(view.Jobs, viewOf(status))
	}
	return show(w, r.pages.jobs, view)
}

// lastRounds is how many rounds the page of a job has in its table.
const lastRounds = 10

// showJob answers with the page of a job.
func (r *rest) showJob(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("id")
	if _, err := r.known(req, id); err != nil {
		return err
	}
	status, err := r.view(req, id)
	if err != nil {
		return err
	}
	rounds, err := r.jobs.Rounds(req.Context(), id, max(0, status.finished-lastRounds), lastRounds)
	if err != nil {
		return err
	}
	slices.Reverse(rounds)
	var report *RoundReport
	rest, reports := 0, r.authorized(req, reportRole)
	if reports {
		if report, rest, err = r.lastReport(req, id, status.finished); err != nil {
			return err
		}
	}
	view := struct {
		Title, Root string
		Job         statusView
		Rounds      []Round      // newest first
		Quarantined []Quarantine // newest first
		Reports     bool         // whether reports are shown to the caller
		Report      *RoundReport // nil if there is none
		Rest        int          // clients that are shown of it, where it has more
	}{
		Title: id, Root: "../", Job: status, Rounds: rounds, Quarantined: slices.Clone(status.Quarantined),
		Reports: reports, Report: report, Rest: rest,
	}
	slices.Reverse(view.Quarantined)
	if strings.HasSuffix(req.URL.Path, "/") {
		view.Root = "../../"
	}
	return show(w, r.pages.job, view)
}

// lastClients is how many clients the page of a job has in its table.
const lastClients = 100

// lastReport returns the report of a round for the page, nil if there is none, and
// how many clients are shown of it, where it has more.
func (r *rest) lastReport(req *http.Request, id string, round int) (*RoundReport, int, error) {
	if round < 1 {
		return nil, 0, nil
	}
	report, err := r.jobs.Report(req.Context(), id, round, 0, lastClients)
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

func show(w http.ResponseWriter, page *template.Template, view any) error {
	return httpapi.WritePage(w, http.StatusOK, page, "", view, httpapi.ReadOnlyPage())
}

func lossText(loss *float64) string {
	if loss == nil {
		return ""
	}
	return strconv.FormatFloat(*loss, 'g', 5, 64)
}

// epsilonText returns the privacy loss of a job.
func epsilonText(p *Privacy) string {
	if p == nil {
		return ""
	}
	epsilon := float64(p.Epsilon)
	text := "infinite"
	if !math.IsInf(epsilon, 1) {
		text = lossText(&epsilon)
	}
	return text + " (delta " + lossText(&p.Delta) + ")"
}

func standingText(r *Reputation) string {
	if r == nil {
		return ""
	}
	text := strconv.FormatFloat(r.Score, 'g', 5, 64)
	if r.Until > 0 {
		text += fmt.Sprintf(", suspended to round %d", r.Until)
	}
	return text
}

// remarkText says why an update was not kept, or what is notable of it.
func remarkText(c ClientReport) string {
	text := c.Reason
	if len(c.Converted) > 0 {
		if text != "" {
			text += "; "
		}
		text += "converted: " + audit.ConversionsText(c.Converted)
	}
	return text
}

func metricsText(metrics map[string]float64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		parts = append(parts, name+" "+strconv.FormatFloat(metrics[name], 'g', 5, 64))
	}
	return strings.Join(parts, ", ")
}

func bytesText(n int64) string {
	value, units := float64(n), []string{"B", "kB", "MB", "GB", "TB", "PB"}
	for value >= 1000 && len(units) > 1 {
		value, units = value/1000, units[1:]
	}
	return strconv.FormatFloat(value, 'g', 3, 64) + " " + units[0]
}

func secondsText(seconds float64) string {
	if seconds < 0.1 {
		return fmt.Sprintf("%.1f ms", seconds*1000)
	}
	return fmt.Sprintf("%.2f s", seconds)
}

func stampText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
