package job

import (
	"fmt"
	"slices"
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
	Prefix      = "job/"
	roundPrefix = "round/"
)

// Key is that of the document of a job.
func Key(id string) string { return Prefix + id }

// roundFolder is that of the rounds of a run.
func roundFolder(token string) string { return roundPrefix + token + "/" }

// RoundKey has room for [jobconfig.MaxRounds].
func RoundKey(token string, number int) string {
	return fmt.Sprintf("%s%07d", roundFolder(token), number)
}

// Delivery is the state of the delivery of a run's result.
type Delivery string

// The states of a delivery.
const (
	Undue     Delivery = ""        // there is no result, or no repository
	Pending   Delivery = "pending" // the repository does not have it yet
	Delivered Delivery = "stored"  // the repository has accepted it
	Refused   Delivery = "refused" // the repository will never accept it
)

// Outcome is the progress of a run.
type Outcome struct {
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

// Record is a job as it is stored. The contents of its maps and slices are never changed.
type Record struct {
	Outcome
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
	Reported      int      `json:"told"`
	EarlyReported bool     `json:"early_told,omitempty"`
	Delivery      Delivery `json:"delivery,omitempty"`
	// Audit is the last line of the audit log that counts, of all runs.
	Audit report.AuditRef `json:"audit,omitzero"`
	// Before are earlier runs whose results the repository has not taken yet.
	Before []Outcome `json:"before,omitempty"`
	// Holder is the session of the server that conducts the job, where there may be
	// several: each one that takes the job changes the record, so that what the one before
	// writes late conflicts.
	Holder string `json:"holder,omitempty"`
	// Discard are the tokens of earlier runs whose rounds are to be deleted.
	Discard []string `json:"discard,omitempty"`

	unknown keep.Members
}

// Trained reports whether there are no more rounds to conduct.
func (r Record) Trained() bool {
	return r.Spent || r.Early != nil || r.Round >= r.Config.Rounds && r.Upstream == ""
}

// phase returns the phase in which a job begins, or goes on after a restart.
func (r Record) phase() phase {
	switch {
	case r.State.Ended():
		return phaseDelivering
	case r.Trained():
		return phaseSaving
	case r.State == report.Training:
		return phaseTraining
	}
	return phaseWaiting
}

// reportable is how many rounds are reported to the orchestrator. The round that ended
// the training early has a report of its own.
func (r Record) reportable() int {
	if r.Early != nil {
		return r.Round - 1
	}
	return r.Round
}

// Settled reports whether the orchestrator and the repository have taken, or refused,
// everything that was due so far.
func (r Record) Settled() bool {
	return r.Reported >= r.reportable() && (r.Early == nil || r.EarlyReported) && r.Delivery != Pending && len(r.Before) == 0
}

// Marshal returns the document of the record, with the members that this version does not have.
func (r Record) Marshal() ([]byte, error) { return r.unknown.Marshal(r) }

// Take makes a server the holder of the job, and returns the document of the record: from then on
// what the last holder writes conflicts.
func (r *Record) Take(holder string) ([]byte, error) {
	r.Holder = holder
	data, unknown, err := r.unknown.MarshalKept(*r)
	r.unknown = unknown
	return data, err
}

// Repeats reports whether the job is active with that configuration. One that is active with
// another one is [ErrActive].
func (r Record) Repeats(config []byte) (bool, error) {
	switch {
	case r.State.Ended():
		return false, nil
	case r.Config.Same(config):
		return true, nil
	}
	return false, ErrActive
}

// Checkpoints returns the keys of the models that the record names.
func (r Record) Checkpoints() []string {
	var keys []string
	for _, o := range append(r.Before, r.Outcome) {
		if o.Checkpoint != nil {
			keys = append(keys, o.Checkpoint.Key)
		}
	}
	return keys
}

// Active reports whether there is something left to do.
func (r Record) Active() bool { return !r.State.Ended() || !r.Settled() }

// count adds a round to the sums of the run.
func (r *Record) count(round report.Round) {
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
func (r *Record) quarantine(refused []report.Quarantine) {
	all := slices.Concat(r.Quarantined, refused)
	r.Quarantined = all[max(0, len(all)-report.MaxQuarantined):]
}

var recordType = keep.TypeFor[Record]()

// ReadRecord reads the document of a job.
func ReadRecord(id string, data []byte) (Record, error) {
	var r Record
	var err error
	if r.unknown, err = recordType.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("read job %q: %w", id, err)
	}
	return r, nil
}

// Effective returns the configuration with the encryption parameters that the job took
// from the keys of a client.
func (o Outcome) Effective() jobconfig.Config {
	c := o.Config.Copy()
	if o.Keys != nil {
		settings := o.Keys.Settings
		c.Homomorphic = &settings
	}
	return c
}

// Now is the time as it is stored.
func Now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// maxBefore bounds the runs of a job whose results wait for the repository.
const maxBefore = 8

// Succeed makes the record that of the run after another. Members of the job that this
// version does not have stay; those of its configuration go with it.
func (r *Record) Succeed(last Record) error {
	r.unknown = last.unknown.Top()
	r.Run = last.Run + 1
	r.Audit = last.Audit
	r.Before = last.Before
	r.Discard = append(slices.Clone(last.Discard), last.Token)
	if last.Delivery == Pending {
		waits := last.Outcome
		waits.OfRun = last.Run
		r.Before = append(slices.Clone(last.Before), waits)
	}
	if len(r.Before) > maxBefore {
		return fmt.Errorf("%w: the repository has not taken the results of %d runs", ErrUndelivered, len(r.Before))
	}
	return nil
}

// complain records that a delivery was refused; err is nil if it was not.
func (r *Record) complain(err error, format string, args ...any) {
	if err == nil {
		return
	}
	text := fmt.Sprintf(format, args...) + ": " + err.Error()
	if r.Error != "" {
		text = r.Error + "; " + text
	}
	r.Error = excerpt.Cut(text, 4*excerpt.MaxReason)
}
