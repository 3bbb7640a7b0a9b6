package flcollect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/checkpoint"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/internal/keep"
)

// Keys of documents. A run has a token, so that ids may be any text and a new run finds
// nothing of the one before.
const (
	jobPrefix   = "job/"
	roundPrefix = "round/"
)

func jobKey(id string) string { return jobPrefix + id }

func roundFolder(token string) string { return roundPrefix + token + "/" }

// roundKey has room for [jobconfig.MaxRounds].
func roundKey(token string, number int) string {
	return fmt.Sprintf("%s%07d", roundFolder(token), number)
}

// resultState is the state of the delivery of a run's result.
type resultState string

const (
	undue     resultState = ""        // there is no result, or no repository
	pending   resultState = "pending" // the repository does not have it yet
	delivered resultState = "stored"
	refused   resultState = "refused"
)

// outcome is the progress of a run.
type outcome struct {
	Token      string             `json:"token" keep:"key"`
	Config     jobconfig.Stored   `json:"config"`
	Round      int                `json:"round"`
	Checkpoint *checkpoint.Ref    `json:"checkpoint,omitempty"`
	Loss       *float64           `json:"loss,omitempty"`
	Metrics    map[string]float64 `json:"metrics,omitempty"`
	// OfRun is the number of the run, in the list of those whose results the repository
	// has not taken; 0 there for runs before that was noted.
	OfRun int64 `json:"of_run,omitempty"`
	// Released is how many private models were, or may have been, sent to clients, and
	// Privacy their privacy loss; nil without differential privacy.
	Released int             `json:"released,omitempty"`
	Privacy  *report.Privacy `json:"privacy,omitempty"`
	// Local are the layers that stay at the clients, nil if all are shared, and until the
	// model is known.
	Local *round.Local `json:"local,omitempty"`
	// Sampling sums up how the clients of rounds were drawn by speed; nil for uniform sampling.
	Sampling *report.Samplings `json:"sampling,omitempty"`
	// Layers are the names of the model's layers, in their order; nil if the model that
	// the run began with has none.
	Layers []string `json:"layers,omitempty"`
	// FleetRun is the number of the run for SuperNodes; 0 if the job has no app.
	FleetRun uint64 `json:"fleet_run,omitempty"`
	// Guarded is whether norm bounding is around the strategy.
	Guarded bool `json:"guarded,omitempty"`
	// Aggregated is how many rounds have changed the model. Updates sums up the
	// updates of all rounds.
	Aggregated int            `json:"aggregated,omitempty"`
	Updates    report.Updates `json:"updates,omitzero"`
	// Keys are the encryption parameters that the job took from the keys of a client;
	// nil if the configuration names them, and until they are known.
	Keys *adoption `json:"keys,omitempty"`
}

// record is a job as it is stored. The contents of its maps and slices are never changed.
type record struct {
	outcome
	ID      string           `json:"id"`
	Run     int64            `json:"run"`
	State   report.State     `json:"state"`
	Created time.Time        `json:"created"`
	Started time.Time        `json:"started,omitzero"`
	Ended   time.Time        `json:"ended,omitzero"`
	Error   string           `json:"error,omitempty"`
	Early   *report.EarlyEnd `json:"early,omitempty"`
	// Reached is for how many rounds in a row, up to the last one, goals have been reached.
	Reached     map[string]int      `json:"reached,omitempty"`
	Quarantined []report.Quarantine `json:"quarantined,omitempty"`
	// Idle is how many rounds have left the model as it was, IdleRound the last of
	// them, and IdleNote why.
	Idle      int    `json:"idle,omitempty"`
	IdleRound int    `json:"idle_round,omitempty"`
	IdleNote  string `json:"idle_note,omitempty"`
	// Upstream is the address of the upper server that the job follows; empty if it
	// conducts its rounds itself.
	Upstream string `json:"upstream,omitempty"`
	// Spent is whether the training ended because the epsilon budget was spent.
	Spent bool `json:"spent,omitempty"`
	// Origin is the client that trained the model to begin with, because no client had
	// parameters to give; empty if there were some.
	Origin string `json:"origin,omitempty"`
	// Misfit says how the public context that was stored when the run began differs
	// from the configuration; empty if it does not, or there was none.
	Misfit string `json:"misfit,omitempty"`
	// Reported is how many rounds were reported to the orchestrator, EarlyReported
	// whether the early end was.
	Reported      int         `json:"told"`
	EarlyReported bool        `json:"early_told,omitempty"`
	Delivery      resultState `json:"delivery,omitempty"`
	// Audit is the last line of the audit log that counts, of all runs.
	Audit report.AuditRef `json:"audit,omitzero"`
	// Before are earlier runs whose results the repository has not taken yet.
	Before []outcome `json:"before,omitempty"`
	// Holder is the session of the server that conducts the job, where there may be
	// several: each one that takes the job changes the record, so that what the one before
	// writes late conflicts.
	Holder string `json:"holder,omitempty"`
	// Discard are the tokens of earlier runs whose rounds are to be deleted.
	Discard []string `json:"discard,omitempty"`

	unknown keep.Members
}

// trained reports whether there are no more rounds to conduct.
func (r record) trained() bool {
	return r.Spent || r.Early != nil || r.Round >= r.Config.Rounds && r.Upstream == ""
}

// reportable is how many rounds are reported to the orchestrator. The round that ended
// the training early has a report of its own.
func (r record) reportable() int {
	if r.Early != nil {
		return r.Round - 1
	}
	return r.Round
}

// settled reports whether the orchestrator and the repository have taken, or refused,
// everything that was due so far.
func (r record) settled() bool {
	return r.Reported >= r.reportable() && (r.Early == nil || r.EarlyReported) && r.Delivery != pending && len(r.Before) == 0
}

// status returns the part of the status that is stored.
func (r record) status() Status {
	return Status{
		Job: r.ID, Run: r.Run, State: r.State, Round: r.Round, Config: r.Config.Copy(),
		Created: r.Created, Started: r.Started, Ended: r.Ended, Error: r.Error,
		Stored: r.Delivery == delivered, Early: r.Early, Quarantined: slices.Clone(r.Quarantined),
		Privacy: r.Privacy, BudgetSpent: r.Spent, Aggregated: r.Aggregated, Updates: r.Updates, Note: r.remark(),
		LocalLayers: r.Config.LocalLayers, Sampling: r.Sampling,
	}
}

// remark says what is notable of a job and no error.
func (r record) remark() string {
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

// count adds a round to the sums of the run.
func (r *record) count(round report.Round) {
	r.Updates = r.Updates.Plus(round.Updates)
	if round.Sampling != nil {
		r.Sampling = r.Sampling.Plus(*round.Sampling)
	}
	if round.Aggregated {
		r.Aggregated++
		return
	}
	r.Idle++
	r.IdleRound, r.IdleNote = round.Number, excerpt.Cut(round.Note, excerpt.MaxReason)
}

// quarantine adds refused updates, and removes the oldest beyond [report.MaxQuarantined].
func (r *record) quarantine(refused []report.Quarantine) {
	all := slices.Concat(r.Quarantined, refused)
	r.Quarantined = all[max(0, len(all)-report.MaxQuarantined):]
}

var recordType = keep.TypeFor[record]()

// readRecord reads the document of a job.
func readRecord(id string, data []byte) (record, error) {
	var r record
	var err error
	if r.unknown, err = recordType.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("read job %q: %w", id, err)
	}
	return r, nil
}

// effective returns the configuration with the encryption parameters that the job took
// from the keys of a client.
func (o outcome) effective() jobconfig.Config {
	c := o.Config.Copy()
	if o.Keys != nil {
		settings := o.Keys.Settings
		c.Homomorphic = &settings
	}
	return c
}

// now is the time as it is stored.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
