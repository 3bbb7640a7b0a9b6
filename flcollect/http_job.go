package flcollect

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/jobconfig"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// configure starts the training of a job.
func (r *rest) configure(w http.ResponseWriter, req *http.Request) error {
	if err := pathID(req); err != nil {
		return err
	}
	// Some clients send no content type.
	text, err := httpapi.ReadBody(req, "", MaxJobConfig)
	if err != nil {
		return err
	}
	config, err := ParseJobConfig(text)
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
	if err := jobconfig.CheckID(req.PathValue("id")); err != nil {
		return invalid(err.Error(), "path", "id")
	}
	return nil
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

// statusView is a status in the form of the REST interface. Existing clients read its
// first three members.
type statusView struct {
	Status State `json:"status"`
	Round  int   `json:"round"`
	// ID is the number of the run; -1 if there is none.
	ID int64 `json:"id"`

	Job             string             `json:"job,omitempty"`
	Rounds          int                `json:"rounds,omitempty"`
	Clients         int                `json:"clients,omitempty"`
	Needed          int                `json:"clients_needed,omitempty"`
	Strategy        string             `json:"strategy,omitempty"`
	App             string             `json:"app,omitempty"`
	ModelName       string             `json:"model_name,omitempty"`
	ModelVersion    string             `json:"model_version,omitempty"`
	ConfigurationID string             `json:"configuration_id,omitempty"`
	Created         time.Time          `json:"created,omitzero"`
	Started         time.Time          `json:"started,omitzero"`
	Ended           time.Time          `json:"ended,omitzero"`
	Error           string             `json:"error,omitempty"`
	Stored          bool               `json:"stored,omitempty"`
	Early           *EarlyEnd          `json:"early_end,omitempty"`
	Quarantined     []Quarantine       `json:"quarantined,omitempty"`
	Suspended       []Suspension       `json:"suspended,omitempty"`
	Loss            *float64           `json:"loss,omitempty"`
	Metrics         map[string]float64 `json:"metrics,omitempty"`

	Mechanisms  []string `json:"privacy_mechanisms,omitempty"`
	*Privacy             // with differential privacy: epsilon and delta
	Budget      any      `json:"epsilon_budget,omitempty"`
	BudgetSpent bool     `json:"budget_spent,omitempty"`
	Note        string   `json:"note,omitempty"`
	Aggregated  int      `json:"rounds_aggregated,omitempty"`
	Updates     Updates  `json:"updates,omitzero"`
	LocalLayers []string `json:"local_layers,omitempty"`

	Sampling *Samplings `json:"sampling,omitempty"`
	// The counts of Updates that a user may not expect, again where programs look first.
	Clipped   int `json:"clipped,omitempty"`
	Refused   int `json:"refused,omitempty"`
	Far       int `json:"far,omitempty"`
	Converted int `json:"converted,omitempty"`
	// Async is how a job without rounds was configured.
	Async *JobAsync `json:"async,omitempty"`

	finished int // the last finished round, which Round is ahead of while clients evaluate
}

func viewOf(s Status) statusView {
	if s.State == Inactive {
		return statusView{Status: Inactive, ID: -1}
	}
	round := s.Round
	if s.Evaluating {
		round++
	}
	return statusView{
		Status:          s.State,
		Round:           round,
		ID:              s.Run,
		Job:             s.Job,
		Rounds:          s.Config.Rounds,
		Clients:         s.Clients,
		Needed:          s.Needed,
		Strategy:        s.Config.Strategy,
		App:             s.Config.App,
		ModelName:       s.Config.ModelName,
		ModelVersion:    s.Config.ModelVersion,
		ConfigurationID: s.Config.ConfigurationID,
		Created:         s.Created,
		Started:         s.Started,
		Ended:           s.Ended,
		Error:           s.Error,
		Stored:          s.Stored,
		Early:           s.Early,
		Quarantined:     s.Quarantined,
		Suspended:       s.Suspended,
		Async:           s.Config.Async,
		Mechanisms:      s.Config.Mechanisms(),
		Privacy:         s.Privacy,
		Budget:          s.Config.DPAdaptive["epsilon_budget"],
		BudgetSpent:     s.BudgetSpent,
		Note:            s.Note,
		Aggregated:      s.Aggregated,
		Updates:         s.Updates,
		LocalLayers:     s.LocalLayers,
		Sampling:        s.Sampling,
		Clipped:         s.Updates.Clipped,
		Refused:         s.Updates.Refused,
		Far:             s.Updates.Far,
		Converted:       s.Updates.Converted,
		finished:        s.Round,
	}
}

// status answers with the status of a job. A job that is not known is inactive.
func (r *rest) status(w http.ResponseWriter, req *http.Request) error {
	view, err := r.view(req, req.PathValue("id"))
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, view)
}

// view returns the status of a job, with the loss and the metrics of its last round.
func (r *rest) view(req *http.Request, id string) (statusView, error) {
	status, err := r.jobs.Status(req.Context(), id)
	if err != nil {
		return statusView{}, err
	}
	view := viewOf(status)
	if status.Round > 0 {
		rounds, err := r.jobs.Rounds(req.Context(), id, status.Round-1, 1)
		if err != nil {
			return statusView{}, err
		}
		if len(rounds) > 0 {
			view.Loss, view.Metrics = rounds[0].Loss, rounds[0].Metrics
		}
	}
	return view, nil
}

// known returns the status of a job, or an error with status 404.
func (r *rest) known(req *http.Request, id string) (Status, error) {
	status, err := r.jobs.Status(req.Context(), id)
	if err == nil && status.State == Inactive {
		err = &httpapi.Error{Status: http.StatusNotFound, Detail: "There is no job of this id."}
	}
	return status, err
}

// list answers with a page of jobs.
func (r *rest) list(w http.ResponseWriter, req *http.Request) error {
	limit, err := queryNumber(req, "limit", 100, 1, 1000)
	if err != nil {
		return err
	}
	prefix, err := queryID(req, "prefix")
	if err != nil {
		return err
	}
	after, err := queryID(req, "after")
	if err != nil {
		return err
	}
	found, next, err := r.jobs.Jobs(req.Context(), prefix, after, limit)
	if err != nil {
		return err
	}
	page := struct {
		Jobs []statusView `json:"jobs"`
		Next string       `json:"next,omitempty"`
	}{make([]statusView, len(found)), next}
	for i, status := range found {
		status.Quarantined, status.Suspended = nil, nil // there may be a hundred in each
		page.Jobs[i] = viewOf(status)
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, page)
}

// rounds answers with a page of the rounds of a job.
func (r *rest) rounds(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("id")
	after, err := queryNumber(req, "after", 0, 0, MaxRounds)
	if err != nil {
		return err
	}
	limit, err := queryNumber(req, "limit", 100, 1, 1000)
	if err != nil {
		return err
	}
	status, err := r.known(req, id)
	if err != nil {
		return err
	}
	found, err := r.jobs.Rounds(req.Context(), id, after, limit)
	if err != nil {
		return err
	}
	page := struct {
		ID     int64   `json:"id"`
		Rounds []Round `json:"rounds"`
		Next   int     `json:"next,omitempty"`
	}{ID: status.Run, Rounds: append([]Round{}, found...)}
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
	fault := JobConfigFault{Kind: jobconfig.NotInteger}
	switch {
	case err != nil:
	case n < least:
		fault = JobConfigFault{Kind: jobconfig.TooSmall, Bound: strconv.Itoa(least)}
	case n > most:
		fault = JobConfigFault{Kind: jobconfig.TooGreat, Bound: strconv.Itoa(most)}
	default:
		return n, nil
	}
	d := detailOf(fault)
	d.Loc = []any{"query", name}
	return 0, detailError{d}
}

// queryID reads an id, or a prefix of one, of the query.
func queryID(req *http.Request, name string) (string, error) {
	id := req.URL.Query().Get(name)
	if id == "" {
		return "", nil
	}
	if err := jobconfig.CheckID(id); err != nil {
		return "", invalid(err.Error(), "query", name)
	}
	return id, nil
}
