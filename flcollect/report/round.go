package report

import (
	"time"
)

// Round is the record of a finished round.
type Round struct {
	// Number counts from 1.
	Number int `json:"round"`
	// Loss is the aggregated loss of the evaluation; nil if there was none.
	Loss *float64 `json:"loss,omitempty"`
	// FitMetrics and Metrics are the aggregated metrics of the fit and of the
	// evaluation.
	FitMetrics map[string]float64 `json:"fit_metrics,omitempty"`
	Metrics    map[string]float64 `json:"metrics,omitempty"`
	// Aggregated is whether the round changed the model; Note says why not, or
	// what else is notable.
	Aggregated bool   `json:"aggregated"`
	Note       string `json:"note,omitempty"`
	// Updates sums up the updates; zero in rounds from before they were counted. With
	// differential privacy those that the server has cut count as kept.
	Updates Updates `json:"updates,omitzero"`
	// Epsilon is the privacy loss of the models up to that of this round, with its
	// Delta; nil, and zero, without differential privacy.
	Epsilon *Epsilon `json:"epsilon,omitempty"`
	Delta   float64  `json:"delta,omitempty"`
	// Async is what a version of an asynchronous job has besides; nil for a round.
	Async *Version `json:"async,omitempty"`
	// Sampling is how the clients of the fit were drawn by their speed; nil if they were
	// drawn uniformly.
	Sampling *Sampling `json:"sampling,omitempty"`
	// Audit is the last line of the round in the audit log; nil if none is kept.
	Audit *AuditRef `json:"audit,omitempty"`
	// Fit and Evaluate are the two phases.
	Fit      Phase `json:"fit"`
	Evaluate Phase `json:"evaluate"`
	// Started and Ended are the times of its beginning and its end.
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
}

// Version is what is special of a round that is a version of an asynchronous job. The
// clients of its Fit are those whose answers came since the version before.
type Version struct {
	// MeanStaleness and MaxStaleness are over the updates that are part of the version:
	// how many versions were created while their clients trained.
	MeanStaleness float64 `json:"mean_staleness"`
	MaxStaleness  int     `json:"max_staleness"`
	// Training is how many clients went on training when the version was created, and
	// Kept how many older versions were in memory for them.
	Training int `json:"training"`
	Kept     int `json:"versions_kept"`
	// CutOff is how many clients had not evaluated the version when the server stopped
	// waiting for them, because several newer versions were created.
	CutOff int `json:"cut_off,omitempty"`
}

// Phase sums up a phase of a round.
type Phase struct {
	// Clients were drawn; Results of them gave a valid answer, Failures did not.
	Clients  int `json:"clients"`
	Results  int `json:"results"`
	Failures int `json:"failures"`
	// Sent and Received are bytes of parameters.
	Sent     int64 `json:"bytes_sent"`
	Received int64 `json:"bytes_received"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
	// Below counts the clients of the collectors that are clients of this one; nil if
	// none of these has answered.
	Below *Below `json:"below,omitempty"`
}

// Below counts the clients of the collectors that are clients of this one, and that have
// answered. Each of these collectors is one client of the phase.
type Below struct {
	// Collectors have answered.
	Collectors int `json:"collectors"`
	// Clients were drawn there; Results of them gave a valid answer, Failures did not.
	Clients  int64 `json:"clients"`
	Results  int64 `json:"results"`
	Failures int64 `json:"failures"`
	// Far is how many updates lay beyond the bound of norm bounding there, and Refused
	// how many were refused. Both are zero for an evaluation.
	Far     int64 `json:"far"`
	Refused int64 `json:"refused"`
}

// MaxQuarantined is how many refused updates a job remembers.
const MaxQuarantined = 100

// Quarantine is an update that was refused.
type Quarantine struct {
	Round  int    `json:"round"`
	Client string `json:"client"`
	Reason string `json:"reason"`
}
