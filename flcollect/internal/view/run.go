package view

import (
	"time"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/report"
)

// Run is a run in the form of the REST interface.
type Run struct {
	Run             int64                `json:"run"`
	State           report.State         `json:"state"`
	Round           int                  `json:"round"`
	Rounds          int                  `json:"rounds"`
	Aggregated      int                  `json:"rounds_aggregated,omitempty"`
	Strategy        string               `json:"strategy"`
	ModelName       string               `json:"model_name"`
	ModelVersion    string               `json:"model_version"`
	ConfigurationID string               `json:"configuration_id,omitempty"`
	Created         time.Time            `json:"created"`
	Started         time.Time            `json:"started,omitzero"`
	Ended           time.Time            `json:"ended,omitzero"`
	Loss            *float64             `json:"loss,omitempty"`
	Metrics         map[string]float64   `json:"metrics,omitempty"`
	*report.Privacy                      // with differential privacy: epsilon and delta
	Early           *report.EarlyEnd     `json:"early_end,omitempty"`
	Updates         report.Updates       `json:"updates,omitzero"`
	Error           string               `json:"error,omitempty"`
	Note            string               `json:"note,omitempty"`
	Result          *flcollect.RunResult `json:"result,omitempty"`
}

// FromRun returns the view of a run.
func FromRun(r flcollect.Run) Run {
	return Run{
		Run: r.Run, State: r.State, Round: r.Round, Rounds: r.Config.Rounds, Aggregated: r.Aggregated, Strategy: r.Config.Strategy,
		ModelName: r.Config.ModelName, ModelVersion: r.Config.ModelVersion, ConfigurationID: r.Config.ConfigurationID,
		Created: r.Created, Started: r.Started, Ended: r.Ended, Loss: r.Loss, Metrics: r.Metrics, Privacy: r.Privacy,
		Early: r.Early, Updates: r.Updates, Error: r.Error, Note: r.Note, Result: r.Result,
	}
}
