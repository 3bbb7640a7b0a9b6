package report

import (
	"errors"
	"time"
)

// ErrNoReport is returned for a round that has no report: it is not finished, or was
// finished before there were reports.
var ErrNoReport = errors.New("flcollect: the round has no report")

// RoundReport is what became of the updates of a finished round. It is meant for the
// operator of the server: no privacy mechanism covers it.
type RoundReport struct {
	// Job, Run and Round name the round.
	Job   string `json:"job"`
	Run   int64  `json:"run"`
	Round int    `json:"round"`
	// Time is when the updates had been aggregated.
	Time time.Time `json:"time"`
	// Aggregated is whether the round changed the model.
	Aggregated bool `json:"aggregated"`
	// Model is the digest of the parameters that clients were sent, Result that
	// of those after the round; empty where the server keeps no audit log.
	Model  string `json:"model,omitempty"`
	Result string `json:"result,omitempty"`
	// Counts counts the outcomes of all clients.
	Counts Counts `json:"outcomes"`
	// Clients are those that were drawn, in the order of their identities.
	Clients []Client `json:"clients"`
	// Audit is the last line of the round in the audit log, nil without one.
	Audit *AuditRef `json:"audit,omitempty"`
}
