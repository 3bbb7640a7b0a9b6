package flcollect

import (
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/round"
)

// State is the state of a job.
type State string

// The states. A job goes from WAITING to TRAINING when its first clients are drawn, and
// ends as FINISHED or INTERRUPTED. INACTIVE is a job that is not known.
const (
	Inactive    State = "INACTIVE"
	Waiting     State = "WAITING"
	Training    State = "TRAINING"
	Interrupted State = "INTERRUPTED"
	Finished    State = "FINISHED"
)

// Ended reports whether the state is a last one.
func (s State) Ended() bool { return s == Interrupted || s == Finished }

// Status is the status of a job.
type Status struct {
	// Job is the id of the job.
	Job string
	// Run is the number of the training among those that were started under the id.
	Run int64
	// State is the state.
	State State
	// Round is the last finished round: -1 until the job runs, then 0.
	Round int
	// Evaluating is whether the fit of the next round was aggregated, and clients
	// evaluate the model. The REST interface already shows the number of that round.
	// A server that ends in the meantime conducts the round again.
	Evaluating bool
	// Config is the configuration.
	Config JobConfig
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
	Early *EarlyEnd
	// Quarantined are the last updates that were refused, oldest first, at most
	// [MaxQuarantined].
	Quarantined []Quarantine
	// Privacy is the privacy loss so far; nil without differential privacy.
	Privacy *Privacy
	// BudgetSpent is whether the training ended before its last round because
	// another one would have exceeded the epsilon budget.
	BudgetSpent bool
	// Aggregated is how many rounds have changed the model.
	Aggregated int
	// Updates sums up the updates of all rounds of the run.
	Updates Updates
	// LocalLayers are the layers that stay at the clients, as the configuration lists them;
	// nil if all are shared.
	LocalLayers []string
	// Sampling sums up how the clients of the rounds were drawn by their speed; nil if they
	// are drawn uniformly.
	Sampling *Samplings
	// Note says what is notable and no error; empty if nothing is.
	Note string
	// Suspended are the clients that the job draws only where there are too few others,
	// those with the longest suspension first, at most [MaxQuarantined]; nil once the
	// job has ended.
	Suspended []Suspension
}

// Round is the record of a finished round.
type Round = round.Record

// Phase sums up the fit or the evaluation of a [Round].
type Phase = round.Phase

// AsyncVersion is what is special of a [Round] that is a version of an asynchronous job.
type AsyncVersion = round.Version

// Sampling says how the clients of a [Round] were drawn by their speed.
type Sampling = round.Sampling

// Samplings sums up how the clients of rounds were drawn by their speed.
type Samplings = round.Samplings

// Below counts the clients of the collectors that are clients of this one.
type Below = round.Below

// Quarantine is an update that was refused.
type Quarantine = round.Quarantine

// MaxQuarantined is how many refused updates a job remembers.
const MaxQuarantined = round.MaxQuarantined

// Privacy is the privacy loss of a training with differential privacy: the guarantee of
// package dp for all models of this run so far. Runs of one job on the same data add up,
// which the server does not account for.
type Privacy = round.Privacy

// Epsilon is a number from 0 on. As JSON it is a number, or the text "infinity" where
// there is no guarantee: JSON has no infinite numbers.
type Epsilon = round.Epsilon
