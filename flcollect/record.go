package flcollect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Keys of documents and blobs. A run has a token, so that ids may be any text and
// a new run meets nothing of the one before.
const (
	jobPrefix        = "job/"
	roundPrefix      = "round/"
	checkpointPrefix = "checkpoint/"
)

func jobKey(id string) string { return jobPrefix + id }

func roundsOf(token string) string { return roundPrefix + token + "/" }

// roundKey has room for [MaxRounds].
func roundKey(token string, number int) string {
	return fmt.Sprintf("%s%07d", roundsOf(token), number)
}

// delivery is how far the result of a run has come.
type delivery string

const (
	undue     delivery = ""        // there is none, or nobody to take it
	pending   delivery = "pending" // the repository is to take it
	delivered delivery = "stored"
	refused   delivery = "refused"
)

// outcome is what a run has reached.
type outcome struct {
	Token      string             `json:"token"`
	Config     storedConfig       `json:"config"`
	Round      int                `json:"round"`
	Checkpoint *checkpoint        `json:"checkpoint,omitempty"`
	Loss       *float64           `json:"loss,omitempty"`
	Metrics    map[string]float64 `json:"metrics,omitempty"`
	// Released is how many private models were, or may have been, shown, and
	// Privacy what they gave away; nil without differential privacy.
	Released int      `json:"released,omitempty"`
	Privacy  *Privacy `json:"privacy,omitempty"`
	// Guarded is whether norm bounding is around the strategy.
	Guarded bool `json:"guarded,omitempty"`
	// Aggregated is how many rounds have changed the model, Updates what became of
	// the updates of all rounds.
	Aggregated int     `json:"aggregated,omitempty"`
	Updates    Updates `json:"updates,omitzero"`
	// Keys are the encryption parameters that the configuration left open, as they
	// were found; nil if it names them, and until then.
	Keys *adoption `json:"keys,omitempty"`
}

// checkpoint names the blob with a model, which never changes.
type checkpoint struct {
	Key    string `json:"key"`
	SHA256 string `json:"sha256"`
}

// record is a job as it is stored. What maps and slices hold is never changed.
type record struct {
	outcome
	ID          string       `json:"id"`
	Run         int64        `json:"run"`
	State       State        `json:"state"`
	Created     time.Time    `json:"created"`
	Started     time.Time    `json:"started,omitzero"`
	Ended       time.Time    `json:"ended,omitzero"`
	Error       string       `json:"error,omitempty"`
	Early       *EarlyEnd    `json:"early,omitempty"`
	Quarantined []Quarantine `json:"quarantined,omitempty"`
	// Idle is how many rounds have left the model as it was, IdleRound the last of
	// them, and IdleNote why.
	Idle      int    `json:"idle,omitempty"`
	IdleRound int    `json:"idle_round,omitempty"`
	IdleNote  string `json:"idle_note,omitempty"`
	// Spent is whether the training ended because the epsilon budget was spent.
	Spent bool `json:"spent,omitempty"`
	// Misfit says how the public context that was stored when the run began does
	// not fit; empty if it did, or there was none.
	Misfit string `json:"misfit,omitempty"`
	// Told is how many rounds the orchestrator knows of, EarlyTold whether it
	// knows of the early end.
	Told      int      `json:"told"`
	EarlyTold bool     `json:"early_told,omitempty"`
	Delivery  delivery `json:"delivery,omitempty"`
	// Audit is the last line of the audit log that counts, of all runs.
	Audit AuditRef `json:"audit,omitzero"`
	// Before are earlier runs whose results the repository has not taken yet.
	Before []outcome `json:"before,omitempty"`
	// Discard are the tokens of earlier runs whose rounds are to be deleted.
	Discard []string `json:"discard,omitempty"`
}

// trained reports whether no round is to come.
func (r record) trained() bool { return r.Spent || r.Early != nil || r.Round >= r.Config.Rounds }

// news is how many rounds the orchestrator is to be told of. The round that
// ended the training early has news of its own.
func (r record) news() int {
	if r.Early != nil {
		return r.Round - 1
	}
	return r.Round
}

// settled reports whether the neighbours have, or have refused, what there is.
func (r record) settled() bool {
	return r.Told >= r.news() && (r.Early == nil || r.EarlyTold) && r.Delivery != pending && len(r.Before) == 0
}

// status returns the part of the status that is stored.
func (r record) status() Status {
	return Status{
		Job: r.ID, Run: r.Run, State: r.State, Round: r.Round, Config: r.Config.config(),
		Created: r.Created, Started: r.Started, Ended: r.Ended, Error: r.Error,
		Stored: r.Delivery == delivered, Early: r.Early, Quarantined: slices.Clone(r.Quarantined),
		Privacy: r.Privacy, BudgetSpent: r.Spent, Aggregated: r.Aggregated, Updates: r.Updates, Note: r.remark(),
	}
}

// remark says what is notable of a job and no fault.
func (r record) remark() string {
	var remarks []string
	if name := r.Config.Strategy; r.Config.Homomorphic != nil && name != averaging && name != "avg" {
		remarks = append(remarks, fmt.Sprintf("updates are encrypted: the strategy is %s instead of %q", averaging, name))
	}
	if r.Keys != nil {
		remarks = append(remarks, fmt.Sprintf("the encryption parameters are those of the keys of client %q: %s", r.Keys.Client, r.Keys.Settings))
	}
	if r.Misfit != "" {
		remarks = append(remarks, "when the training began, clients could load a public context that is none for it: "+r.Misfit)
	}
	if r.Spent {
		remarks = append(remarks, fmt.Sprintf("the epsilon budget of %v is spent after %d of %d rounds",
			r.Config.DPAdaptive["epsilon_budget"], max(r.Round, 0), r.Config.Rounds))
	}
	if r.Idle > 0 && r.Checkpoint != nil { // otherwise the error says it
		remarks = append(remarks, fmt.Sprintf("%d of %d rounds aggregated nothing, the last of them was round %d: %s",
			r.Idle, max(r.Round, 0), r.IdleRound, r.IdleNote))
	}
	return strings.Join(remarks, "; ")
}

// counts takes a round into the totals of the run.
func (r *record) counts(round Round) {
	r.Updates = r.Updates.plus(round.Updates)
	if round.Aggregated {
		r.Aggregated++
		return
	}
	r.Idle++
	r.IdleRound, r.IdleNote = round.Number, short(round.Note, maxReason)
}

// quarantine adds refused updates, and forgets the oldest.
func (r *record) quarantine(refused []Quarantine) {
	all := slices.Concat(r.Quarantined, refused)
	r.Quarantined = all[max(0, len(all)-MaxQuarantined):]
}

// readRecord reads the document of a job.
func readRecord(id string, data []byte) (record, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("read job %q: %w", id, err)
	}
	return r, nil
}

// short cuts a text that others have a part in.
func short(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	text = text[:most]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}
