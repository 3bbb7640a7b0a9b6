package view

import (
	"context"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
)

// Status is a status in the form of the REST interface. Existing clients read its
// first three members.
type Status struct {
	Status report.State `json:"status"`
	Round  int          `json:"round"`
	// ID is the number of the run; -1 if there is none.
	ID int64 `json:"id"`

	Job             string              `json:"job,omitempty"`
	Rounds          int                 `json:"rounds,omitempty"`
	Clients         int                 `json:"clients,omitempty"`
	Needed          int                 `json:"clients_needed,omitempty"`
	Strategy        string              `json:"strategy,omitempty"`
	App             string              `json:"app,omitempty"`
	ModelName       string              `json:"model_name,omitempty"`
	ModelVersion    string              `json:"model_version,omitempty"`
	ConfigurationID string              `json:"configuration_id,omitempty"`
	Created         time.Time           `json:"created,omitzero"`
	Started         time.Time           `json:"started,omitzero"`
	Ended           time.Time           `json:"ended,omitzero"`
	Error           string              `json:"error,omitempty"`
	Stored          bool                `json:"stored,omitempty"`
	Early           *report.EarlyEnd    `json:"early_end,omitempty"`
	Quarantined     []report.Quarantine `json:"quarantined,omitempty"`
	Suspended       []report.Suspension `json:"suspended,omitempty"`
	Loss            *float64            `json:"loss,omitempty"`
	Metrics         map[string]float64  `json:"metrics,omitempty"`

	Mechanisms      []string       `json:"privacy_mechanisms,omitempty"`
	*report.Privacy                // with differential privacy: epsilon and delta
	Budget          any            `json:"epsilon_budget,omitempty"`
	BudgetSpent     bool           `json:"budget_spent,omitempty"`
	Note            string         `json:"note,omitempty"`
	Aggregated      int            `json:"rounds_aggregated,omitempty"`
	Updates         report.Updates `json:"updates,omitzero"`
	LocalLayers     []string       `json:"local_layers,omitempty"`

	Sampling *report.Samplings `json:"sampling,omitempty"`
	// The counts of Updates that a user may not expect, again where programs look first.
	Clipped   int `json:"clipped,omitempty"`
	Refused   int `json:"refused,omitempty"`
	Far       int `json:"far,omitempty"`
	Converted int `json:"converted,omitempty"`
	// Async is how a job without rounds was configured.
	Async *jobconfig.Async `json:"async,omitempty"`
}

// FromStatus returns the view of a status.
func FromStatus(s flcollect.Status) Status {
	if s.State == report.Inactive {
		return Status{Status: report.Inactive, ID: -1}
	}
	round := s.Round
	if s.Evaluating {
		round++
	}
	return Status{
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
	}
}

// Jobs are the jobs of a [flcollect.Server].
type Jobs interface {
	// Status returns the status of a job, as that of the server.
	Status(ctx context.Context, id string) (flcollect.Status, error)
	// Rounds returns rounds of a job, as that of the server.
	Rounds(ctx context.Context, id string, after, limit int) ([]report.Round, error)
}

// Find returns the status of a job, or an error that matches [flcollect.ErrUnknown].
func Find(ctx context.Context, jobs Jobs, id string) (flcollect.Status, error) {
	status, err := jobs.Status(ctx, id)
	if err == nil && status.State == report.Inactive {
		err = fmt.Errorf("job %q: %w", id, flcollect.ErrUnknown)
	}
	return status, err
}

// WithMetrics returns the view of a status, with the loss and the metrics of the last round.
func WithMetrics(ctx context.Context, jobs Jobs, s flcollect.Status) (Status, error) {
	v := FromStatus(s)
	if s.Round <= 0 {
		return v, nil
	}
	rounds, err := jobs.Rounds(ctx, s.Job, s.Round-1, 1)
	if err != nil {
		return Status{}, err
	}
	if len(rounds) > 0 {
		v.Loss, v.Metrics = rounds[0].Loss, rounds[0].Metrics
	}
	return v, nil
}
