package flcollect

import (
	"math"
	"net/http"
	"time"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// runView is a run in the form of the REST interface.
type runView struct {
	Run             int64              `json:"run"`
	State           State              `json:"state"`
	Round           int                `json:"round"`
	Rounds          int                `json:"rounds"`
	Aggregated      int                `json:"rounds_aggregated,omitempty"`
	Strategy        string             `json:"strategy"`
	ModelName       string             `json:"model_name"`
	ModelVersion    string             `json:"model_version"`
	ConfigurationID string             `json:"configuration_id,omitempty"`
	Created         time.Time          `json:"created"`
	Started         time.Time          `json:"started,omitzero"`
	Ended           time.Time          `json:"ended,omitzero"`
	Loss            *float64           `json:"loss,omitempty"`
	Metrics         map[string]float64 `json:"metrics,omitempty"`
	*Privacy                           // with differential privacy: epsilon and delta
	Early           *EarlyEnd          `json:"early_end,omitempty"`
	Updates         Updates            `json:"updates,omitzero"`
	Error           string             `json:"error,omitempty"`
	Note            string             `json:"note,omitempty"`
	Result          *RunResult         `json:"result,omitempty"`
}

func runViewOf(r Run) runView {
	return runView{
		Run: r.Run, State: r.State, Round: r.Round, Rounds: r.Config.Rounds, Aggregated: r.Aggregated, Strategy: r.Config.Strategy,
		ModelName: r.Config.ModelName, ModelVersion: r.Config.ModelVersion, ConfigurationID: r.Config.ConfigurationID,
		Created: r.Created, Started: r.Started, Ended: r.Ended, Loss: r.Loss, Metrics: r.Metrics, Privacy: r.Privacy,
		Early: r.Early, Updates: r.Updates, Error: r.Error, Note: r.Note, Result: r.Result,
	}
}

// runs answers with a page of the runs of a job, the last one first.
func (r *rest) runs(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("id")
	before, err := queryNumber(req, "before", 0, 1, math.MaxInt)
	if err != nil {
		return err
	}
	limit, err := queryNumber(req, "limit", 100, 1, 1000)
	if err != nil {
		return err
	}
	if _, err := r.known(req, id); err != nil {
		return err
	}
	found, err := r.jobs.Runs(req.Context(), id, int64(before), limit)
	if err != nil {
		return err
	}
	page := struct {
		Runs []runView `json:"runs"`
		Next int64     `json:"next,omitempty"`
	}{Runs: make([]runView, len(found))}
	for i, run := range found {
		page.Runs[i] = runViewOf(run)
	}
	if len(found) == limit && found[limit-1].Run > 1 {
		page.Next = found[limit-1].Run
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, page)
}
