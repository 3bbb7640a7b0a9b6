package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/storage"
)

// Record returns the progress of the job.
func (j *Job) Record() Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rec
}

// save changes the record, and returns once that is stored.
func (j *Job) save(change func(*Record)) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	next := j.Record()
	before := next.State
	change(&next)
	data, unknown, err := next.unknown.MarshalKept(next)
	next.unknown = unknown
	if err != nil {
		return fmt.Errorf("store job %q: %w", j.id, err)
	}
	var revision storage.Revision
	err = j.storage.Insist(j.during(phaseSaving), func() (err error) {
		revision, err = j.storage.Update(j.during(phaseSaving), Key(j.id), j.revision, data)
		return err
	})
	if errors.Is(err, storage.ErrConflict) && j.service.Group != nil {
		j.Lose()
	}
	if err != nil {
		return fmt.Errorf("store job %q: %w", j.id, err)
	}
	if before != next.State {
		j.service.Observer.Moved(before, next.State)
	}
	j.mu.Lock()
	j.rec, j.revision, j.unsaved = next, revision, false
	j.mu.Unlock()
	j.signal()
	return nil
}

// holds returns nil while the stored job is that of this server, and otherwise ends what
// this server does for it.
func (j *Job) holds(ctx context.Context) error {
	stored, err := Find(ctx, j.service.Documents, j.id)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	if r := j.Record(); err != nil || stored.Holder != r.Holder || stored.Token != r.Token {
		j.Lose()
		return ErrMoved
	}
	return nil
}

// note changes the record in memory. The change is stored with the next one that is
// saved: it does no harm if it is lost.
func (j *Job) note(change func(*Record)) {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.mu.Lock()
	change(&j.rec)
	j.unsaved = true
	j.mu.Unlock()
	j.signal()
}

// noteFit shows that the fit of a round was aggregated. It is not stored: the round
// counts once all of it is.
func (j *Job) noteFit(number int) {
	j.mu.Lock()
	j.fitted = number
	j.mu.Unlock()
	j.signal()
}

// flush stores the changes that were noted.
func (j *Job) flush() {
	j.mu.Lock()
	unsaved := j.unsaved
	j.mu.Unlock()
	if !unsaved {
		return
	}
	if err := j.save(func(*Record) {}); err != nil {
		j.log.Warn("deliveries cannot be stored as done and may be repeated", "error", err)
	}
}

// trouble shows a temporary failure in the status, nil once it is over.
func (j *Job) trouble(from source, err error) {
	j.mu.Lock()
	if err == nil {
		delete(j.troubles, from)
	} else {
		j.troubles[from] = err
	}
	j.mu.Unlock()
	j.signal()
}

// troubleStorage shows a failure of the storage.
func (j *Job) troubleStorage(err error) {
	j.service.Observer.Failing(j.id, err)
	j.trouble(ofStorage, err)
}

// failures returns the temporary failures of the job, as texts in the order of their sources.
func (j *Job) failures() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var texts []string
	for _, from := range slices.Sorted(maps.Keys(j.troubles)) {
		texts = append(texts, excerpt.Cut(fmt.Sprintf("%s: %v", from, j.troubles[from]), excerpt.MaxReason))
	}
	return texts
}

// signal closes the channel of the watchers.
func (j *Job) signal() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// Watch returns a channel that is closed when the status may have changed.
func (j *Job) Watch() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.changed == nil {
		j.changed = make(chan struct{})
	}
	return j.changed
}

// Live is what a job shows beside its record.
type Live struct {
	Accepts    bool // clients
	Clients    int
	Least      int
	Needed     int
	Evaluating bool
	Suspended  []report.Suspension
	Troubles   []string
	Masking    string // what is notable of its secure aggregation; empty if nothing is
}

// Trouble returns the stored error of a job with its temporary failures; empty if there are none.
func (l Live) Trouble(stored string) string {
	if len(l.Troubles) == 0 {
		return ""
	}
	if stored == "" {
		return strings.Join(l.Troubles, "; ")
	}
	return stored + "; " + strings.Join(l.Troubles, "; ")
}

// Live returns the record of the job, and what it shows beside it.
func (j *Job) Live() (Record, Live) {
	live := Live{Accepts: j.Accepts(), Clients: j.pool.Len(), Troubles: j.failures()}
	least, need := j.demand()
	live.Least = least
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.rec.State.Ended() {
		live.Needed = need
		live.Evaluating = j.fitted > j.rec.Round
		live.Suspended = j.reputations.Suspended(j.rec.Round+1, report.MaxQuarantined)
		if j.rec.Config.SecAgg != nil {
			live.Masking = maskingNote(j.pool.All(), need)
		}
	}
	return j.rec, live
}

// maskingNote says how many of the connected clients cannot take part in the secure
// aggregation; empty if all can.
func maskingNote(clients []*round.Client, needed int) string {
	unable := 0
	for _, c := range clients {
		if !round.Masks(c) {
			unable++
		}
	}
	if unable == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d clients take no part in the secure aggregation, for which a SuperNode with secaggplus_mod is needed: "+
		"start_client has no part in it", unable, len(clients))
	if able := len(clients) - unable; able < needed {
		text += fmt.Sprintf("; the job waits for %d more SuperNodes", needed-able)
	}
	return text
}

// retry repeats a request to the repository or the program until there is an answer, for
// as long as a job waits for clients.
func (j *Job) retry(ctx context.Context, from source, request func(ctx context.Context) error) error {
	pause := persist.Pauses()
	defer j.trouble(from, nil)
	waits, cancel := context.WithTimeout(ctx, j.service.ClientTimeout)
	defer cancel()
	for {
		call, cancel := context.WithTimeout(waits, storeTimeout)
		err := request(call)
		cancel()
		var field *strategy.FieldError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrNoModel), errors.Is(err, ErrNoStrategy), errors.Is(err, ErrRefused),
			errors.As(err, &field), errors.Is(err, round.ErrUnsound):
			return err
		}
		j.trouble(from, err)
		if pause.Wait(waits) != nil && ctx.Err() == nil {
			return fmt.Errorf("no answer for %v: %w", j.service.ClientTimeout, err)
		}
	}
}
