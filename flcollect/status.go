package flcollect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/job"
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

// status returns the status of a job with what the server that conducts it shows.
func (s *Server) status(r job.Record) Status {
	if j := s.jobs.get(r.ID); j != nil {
		return currentStatus(j)
	}
	status := newStatus(r)
	if s.group == nil {
		return status
	}
	live, ok := s.group.Shown(r.ID, r.Token)
	if !ok {
		return status
	}
	status.Clients = live.Clients
	if live.Error != "" {
		status.Error = live.Error
	}
	if !status.State.Ended() {
		status.Needed, status.Suspended = live.Needed, live.Suspended
		status.Evaluating = live.Evaluating && live.Round == status.Round
	}
	return status
}

// currentStatus returns the status of a job that this server conducts.
func currentStatus(j *job.Job) Status {
	r, live := j.Live()
	status := newStatus(r)
	status.Clients, status.Needed = live.Clients, live.Needed
	status.Evaluating, status.Suspended = live.Evaluating, live.Suspended
	if live.Masking != "" {
		status.Note = strings.TrimPrefix(status.Note+"; "+live.Masking, "; ")
	}
	status.Error = cmp.Or(live.Trouble(r.Error), r.Error)
	return status
}

// newStatus returns the part of the status that is stored.
func newStatus(r job.Record) Status {
	return Status{
		Job: r.ID, Run: r.Run, State: r.State, Round: r.Round, Config: r.Config.Copy(),
		Created: r.Created, Started: r.Started, Ended: r.Ended, Error: r.Error,
		Stored: r.Delivery == job.Delivered, Early: r.Early, Quarantined: slices.Clone(r.Quarantined),
		Privacy: r.Privacy, BudgetSpent: r.Spent, Aggregated: r.Aggregated, Updates: r.Updates, Note: remark(r),
		LocalLayers: r.Config.LocalLayers, Sampling: r.Sampling,
	}
}

// remark says what is notable of a job and no error.
func remark(r job.Record) string {
	var remarks []string
	if r.Upstream != "" {
		remarks = append(remarks, "the rounds are those of the collector at "+r.Upstream+", which has the model")
	}
	if name := r.Config.Strategy; r.Config.Homomorphic != nil && name != jobconfig.Averaging && name != "avg" {
		remarks = append(remarks, fmt.Sprintf("updates are encrypted: the strategy is %s instead of %q", jobconfig.Averaging, name))
	}
	if correctsByDefault(r.Config.Config) {
		remarks = append(remarks, "FedAdam corrects the bias of its first rounds, as Flower does for SuperNodes; bias_correction says otherwise")
	}
	if r.Origin != "" {
		remarks = append(remarks,
			fmt.Sprintf("no client has parameters to begin with, so client %q trained the first model from its own", r.Origin))
	}
	if r.Keys != nil {
		remarks = append(remarks, fmt.Sprintf("the encryption parameters are those of the keys of client %q: %s", r.Keys.Client, r.Keys.Settings))
	}
	if r.Sampling != nil {
		remarks = append(remarks, "clients are drawn by speed: "+r.Sampling.String())
	}
	if r.Local != nil {
		remarks = append(remarks, fmt.Sprintf("of %d layers these stay at the clients, and are no part of the model here: %s",
			r.Local.Total, strings.Join(r.Local.Given, ", ")))
	}
	if r.Misfit != "" {
		remarks = append(remarks, "when the training began, clients could load a public context that is none for it: "+r.Misfit)
	}
	if r.Spent {
		remarks = append(remarks, fmt.Sprintf("the epsilon budget of %v is spent after %d of %d rounds",
			r.Config.DPAdaptive["epsilon_budget"], max(r.Round, 0), r.Config.Rounds))
	}
	if r.Idle > 0 && r.Checkpoint != nil { // without a checkpoint the error says it
		remarks = append(remarks, fmt.Sprintf("%d of %d rounds aggregated nothing, the last of them was round %d: %s",
			r.Idle, max(r.Round, 0), r.IdleRound, r.IdleNote))
	}
	return strings.Join(remarks, "; ")
}
