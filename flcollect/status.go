package flcollect

import (
	"time"

	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
)

// Status is the status of a job.
type Status struct {
	// Job is the id of the job.
	Job string
	// Run is the number of the training among those that were started under the id.
	Run int64
	// State is the state.
	State report.State
	// Round is the last finished round: -1 until the job runs, then 0.
	Round int
	// Evaluating is whether the fit of the next round was aggregated, and clients
	// evaluate the model. The REST interface already shows the number of that round.
	// A server that ends in the meantime conducts the round again.
	Evaluating bool
	// Config is the configuration.
	Config jobconfig.Config
	// Clients is how many clients are connected for the job.
	Clients int
	// Needed is how many clients have to be connected for a round to begin; 0 once the
	// job has ended, and while that is not known.
	Needed int
	// Created, Started and Ended are times; zero for what has not happened.
	Created, Started, Ended time.Time
	// Error says why the job was interrupted, or why its result is not delivered yet;
	// empty if there is no error.
	Error string
	// Stored is whether the repository has confirmed the result.
	Stored bool
	// Early is the target that ended the training before its last round; nil if none
	// did.
	Early *report.EarlyEnd
	// Quarantined are the last updates that were refused, oldest first, at most
	// [report.MaxQuarantined].
	Quarantined []report.Quarantine
	// Privacy is the privacy loss so far; nil without differential privacy.
	Privacy *report.Privacy
	// BudgetSpent is whether the training ended before its last round because
	// another one would have exceeded the epsilon budget.
	BudgetSpent bool
	// Aggregated is how many rounds have changed the model.
	Aggregated int
	// Updates sums up the updates of all rounds of the run.
	Updates report.Updates
	// LocalLayers are the layers that stay at the clients, as the configuration lists them;
	// nil if all are shared.
	LocalLayers []string
	// Sampling sums up how the clients of the rounds were drawn by their speed; nil if they
	// are drawn uniformly.
	Sampling *report.Samplings
	// Note says what is notable and no error; empty if nothing is.
	Note string
	// Suspended are the clients that the job draws only where there are too few others,
	// those with the longest suspension first, at most [report.MaxQuarantined]; nil once the
	// job has ended.
	Suspended []report.Suspension
}
