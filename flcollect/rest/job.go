package rest

import (
	"io"
	"net/http"
	"strconv"

	"github.com/iotenablers/enablers/flcollect/internal/detail"
	"github.com/iotenablers/enablers/flcollect/internal/view"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// configure starts the training of a job.
func (r *rest) configure(w http.ResponseWriter, req *http.Request) error {
	if err := pathID(req); err != nil {
		return err
	}
	// Some clients send no content type.
	text, err := httpapi.ReadBody(req, "", jobconfig.MaxSize)
	if err != nil {
		return err
	}
	config, err := jobconfig.Parse(text)
	if err != nil {
		return err
	}
	if err := r.jobs.Start(req.Context(), req.PathValue("id"), config); err != nil {
		return err
	}
	return done(w)
}

// pathID returns nil if the id in the path is one that a job can have.
func pathID(req *http.Request) error {
	return detail.CheckID(req.PathValue("id"), "path", "id")
}

// stop interrupts all jobs. A body, which some clients send, is ignored.
func (r *rest) stop(w http.ResponseWriter, req *http.Request) error {
	if err := r.jobs.Stop(req.Context()); err != nil {
		return err
	}
	return done(w)
}

// stopOne interrupts a job. A body means nothing.
func (r *rest) stopOne(w http.ResponseWriter, req *http.Request) error {
	if err := pathID(req); err != nil {
		return err
	}
	if err := r.jobs.StopJob(req.Context(), req.PathValue("id")); err != nil {
		return err
	}
	return done(w)
}

// done answers with the exact body with which existing clients compare.
func done(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "200") // a client that has left is no error of the server
	return nil
}

// status answers with the status of a job. A job that is not known is inactive.
func (r *rest) status(w http.ResponseWriter, req *http.Request) error {
	status, err := r.jobs.Status(req.Context(), req.PathValue("id"))
	if err != nil {
		return err
	}
	shown, err := view.WithMetrics(req.Context(), r.jobs, status)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, shown)
}

// list answers with a page of jobs.
func (r *rest) list(w http.ResponseWriter, req *http.Request) error {
	limit, err := queryNumber(req, "limit", 100, 1, 1000)
	if err != nil {
		return err
	}
	prefix, err := detail.QueryID(req.URL.Query(), "prefix")
	if err != nil {
		return err
	}
	after, err := detail.QueryID(req.URL.Query(), "after")
	if err != nil {
		return err
	}
	found, next, err := r.jobs.Jobs(req.Context(), prefix, after, limit)
	if err != nil {
		return err
	}
	page := struct {
		Jobs []view.Status `json:"jobs"`
		Next string        `json:"next,omitempty"`
	}{make([]view.Status, len(found)), next}
	for i, status := range found {
		status.Quarantined, status.Suspended = nil, nil // there may be a hundred in each
		page.Jobs[i] = view.FromStatus(status)
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, page)
}

// rounds answers with a page of the rounds of a job.
func (r *rest) rounds(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("id")
	after, err := queryNumber(req, "after", 0, 0, jobconfig.MaxRounds)
	if err != nil {
		return err
	}
	limit, err := queryNumber(req, "limit", 100, 1, 1000)
	if err != nil {
		return err
	}
	status, err := view.Find(req.Context(), r.jobs, id)
	if err != nil {
		return err
	}
	found, err := r.jobs.Rounds(req.Context(), id, after, limit)
	if err != nil {
		return err
	}
	page := struct {
		ID     int64          `json:"id"`
		Rounds []report.Round `json:"rounds"`
		Next   int            `json:"next,omitempty"`
	}{ID: status.Run, Rounds: append([]report.Round{}, found...)}
	if len(found) == limit {
		page.Next = found[limit-1].Number
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, page)
}

// queryNumber reads a whole number of the query.
func queryNumber(req *http.Request, name string, otherwise, least, most int) (int, error) {
	text := req.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	fault := jobconfig.Fault{Kind: jobconfig.NotInteger}
	switch {
	case err != nil:
	case n < least:
		fault = jobconfig.Fault{Kind: jobconfig.TooSmall, Bound: strconv.Itoa(least)}
	case n > most:
		fault = jobconfig.Fault{Kind: jobconfig.TooGreat, Bound: strconv.Itoa(most)}
	default:
		return n, nil
	}
	d := detail.New(fault)
	d.Loc = []any{"query", name}
	return 0, detail.Error{d}
}
