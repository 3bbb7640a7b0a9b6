package flcollect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/internal/notify"
	"github.com/iotenablers/enablers/storage"
)

// record returns the progress of the job.
func (j *job) record() record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rec
}

// save changes the record, and returns once that is stored.
func (j *job) save(change func(*record)) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	next := j.record()
	before := next.State
	change(&next)
	data, unknown, err := next.unknown.MarshalKept(next)
	next.unknown = unknown
	if err != nil {
		return fmt.Errorf("store job %q: %w", j.id, err)
	}
	var revision storage.Revision
	err = j.storage.Insist(j.life, func() (err error) {
		revision, err = j.storage.Update(j.life, jobKey(j.id), j.revision, data)
		return err
	})
	if errors.Is(err, storage.ErrConflict) && j.server.together != nil {
		j.lose(errMoved)
	}
	if err != nil {
		return fmt.Errorf("store job %q: %w", j.id, err)
	}
	if before != next.State {
		j.server.jobs.move(before, next.State)
	}
	j.mu.Lock()
	j.rec, j.revision, j.unsaved = next, revision, false
	j.mu.Unlock()
	j.signal()
	notify.Send(j.saved)
	return nil
}

// holds returns nil while the stored job is that of this server, and otherwise ends what
// this server does for it.
func (j *job) holds(ctx context.Context) error {
	stored, err := j.server.stored(ctx, j.id)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	if r := j.record(); err != nil || stored.Holder != r.Holder || stored.Token != r.Token {
		j.lose(errMoved)
		return errMoved
	}
	return nil
}

// note changes the record in memory. The change is stored with the next one that is
// saved: it does no harm if it is lost.
func (j *job) note(change func(*record)) {
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
func (j *job) noteFit(number int) {
	j.mu.Lock()
	j.fitted = number
	j.mu.Unlock()
	j.signal()
}

// flush stores the changes that were noted.
func (j *job) flush() {
	j.mu.Lock()
	unsaved := j.unsaved
	j.mu.Unlock()
	if !unsaved {
		return
	}
	if err := j.save(func(*record) {}); err != nil {
		j.log.Warn("deliveries cannot be stored as done and may be repeated", "error", err)
	}
}

// trouble shows a temporary failure in the status, nil once it is over.
func (j *job) trouble(from source, err error) {
	j.mu.Lock()
	if err == nil {
		delete(j.troubles, from)
	} else {
		j.troubles[from] = err
	}
	j.mu.Unlock()
	j.signal()
}

// status returns the status of the job, with its temporary failures.
func (j *job) status() Status {
	clients, needed := j.pool.Len(), j.server.jobs.needed(j)
	j.mu.Lock()
	defer j.mu.Unlock()
	status := j.rec.status()
	status.Clients = clients
	if !status.State.Ended() {
		status.Needed = needed
		status.Evaluating = j.fitted > status.Round
		status.Suspended = j.reputations.Suspended(status.Round+1, report.MaxQuarantined)
	}
	status.Note = joinNotes(status.Note, j.maskingNote(status, needed))
	reasons := []string{}
	if status.Error != "" {
		reasons = append(reasons, status.Error)
	}
	for _, from := range slices.Sorted(maps.Keys(j.troubles)) {
		reasons = append(reasons, excerpt.Cut(fmt.Sprintf("%s: %v", from, j.troubles[from]), excerpt.MaxReason))
	}
	status.Error = strings.Join(reasons, "; ")
	return status
}

// signal closes the channel of the watchers.
func (j *job) signal() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// watch returns a channel that is closed when the status may have changed.
func (j *job) watch() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.changed == nil {
		j.changed = make(chan struct{})
	}
	return j.changed
}

// maskingNote says how many of the connected clients cannot take part in the secure
// aggregation of a job that has not ended; empty if all can, and without it.
func (j *job) maskingNote(status Status, needed int) string {
	if status.Config.SecAgg == nil || status.State.Ended() {
		return ""
	}
	unable := 0
	clients := j.pool.All()
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

// joinNotes returns both notes, of which each may be empty.
func joinNotes(a, b string) string {
	if a == "" || b == "" {
		return cmp.Or(a, b)
	}
	return a + "; " + b
}
