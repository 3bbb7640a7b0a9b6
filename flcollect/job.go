package flcollect

import "time"

// State is where a job is in its life.
type State string

// The states. A job goes from WAITING to TRAINING when its first clients are
// there, and ends as FINISHED or INTERRUPTED. INACTIVE is a job that is not known.
const (
	Inactive    State = "INACTIVE"
	Waiting     State = "WAITING"
	Training    State = "TRAINING"
	Interrupted State = "INTERRUPTED"
	Finished    State = "FINISHED"
)

// Ended reports whether nothing comes after the state.
func (s State) Ended() bool { return s == Interrupted || s == Finished }

// Status is what a job has reached.
type Status struct {
	// Job is the id of the job.
	Job string
	// Run tells apart the trainings that were started under one id; it grows.
	Run int64
	// State is the state.
	State State
	// Round is the last finished round: -1 until the job runs, then 0.
	Round int
	// Evaluating is whether the fit of the next round was aggregated, and its
	// clients evaluate the model. The REST interface says the number of that round
	// already. A server that ends meanwhile conducts the round again.
	Evaluating bool
	// Config is the configuration.
	Config Config
	// Clients is how many clients are connected for the job now.
	Clients int
	// Created, Started and Ended are times; zero where it did not happen.
	Created, Started, Ended time.Time
	// Error says why the job was interrupted, or what keeps its result from the
	// repository; empty if all is well.
	Error string
	// Stored is whether the repository has confirmed the result.
	Stored bool
	// Early is what ended the training before its last round; nil if nothing.
	Early *EarlyEnd
	// Quarantined are the last updates that were refused, oldest first, at most
	// [MaxQuarantined].
	Quarantined []Quarantine
	// Privacy is what was given away so far; nil without differential privacy.
	Privacy *Privacy
	// BudgetSpent is whether the training ended before its last round because
	// another one would have exceeded the epsilon budget.
	BudgetSpent bool
	// Aggregated is how many rounds have changed the model.
	Aggregated int
	// Updates are what became of the updates of all rounds of the run.
	Updates Updates
	// Note says what else is notable and no fault; empty if nothing is.
	Note string
	// Suspended are clients that a job which is being trained draws only where
	// there are too few others, those for longest first, at most [MaxQuarantined].
	Suspended []Suspension
}

// MaxQuarantined is how many refused updates a job remembers.
const MaxQuarantined = 100

// Quarantine is an update that was refused.
type Quarantine struct {
	Round  int    `json:"round"`
	Client string `json:"client"`
	Reason string `json:"reason"`
}

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
	// what else is odd.
	Aggregated bool   `json:"aggregated"`
	Note       string `json:"note,omitempty"`
	// Updates are what became of the updates; zero in rounds from before they were
	// counted. With differential privacy those that the server has cut count as kept.
	Updates Updates `json:"updates,omitzero"`
	// Epsilon is what the models up to that of this round give away, with its
	// Delta; nil, and zero, without differential privacy.
	Epsilon *Epsilon `json:"epsilon,omitempty"`
	Delta   float64  `json:"delta,omitempty"`
	// Audit is the last line of the round in the audit log; nil if none is kept.
	Audit *AuditRef `json:"audit,omitempty"`
	// Fit and Evaluate are the two phases.
	Fit      Phase `json:"fit"`
	Evaluate Phase `json:"evaluate"`
	// Started and Ended are when.
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
}

// Phase is the account of a phase of a round.
type Phase struct {
	// Clients were asked; Results of them answered well, Failures did not.
	Clients  int `json:"clients"`
	Results  int `json:"results"`
	Failures int `json:"failures"`
	// Sent and Received are bytes of parameters.
	Sent     int64 `json:"bytes_sent"`
	Received int64 `json:"bytes_received"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
}
