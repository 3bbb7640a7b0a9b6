package job

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/report"
)

// maxPending bounds the versions that wait for their evaluation. A crash loses so many
// versions at most, and so many models more are in memory.
const maxPending = 8

// versions is the training of an asynchronous job. It creates versions as fast as updates
// come, while clients evaluate older ones, and concludes them in order: a version counts
// once all before it do and its evaluation is over. It belongs to one goroutine.
type versions struct {
	*training
	stream  *round.Stream
	attempt *audit.Attempt    // of the version whose buffer is open; nil if none is
	started time.Time         // of that version, as it is stored
	began   time.Time         // the same by the monotonic clock
	newest  int               // the last version that was created
	filed   *filing           // of the newest version
	pending []*pendingVersion // versions that are not concluded, oldest first
}

// pendingVersion is a version that was created and does not count yet.
type pendingVersion struct {
	rec        report.Round
	began      time.Time
	notes      []string
	refused    []report.Quarantine
	saving     *saving // nil if the model stayed as it was
	filing     *filing
	evaluation *round.Evaluation // nil if none exists
}

// errOver is why updates that arrive after the last version are in no version.
var errOver = errors.New("the training ended before the buffer was full")

// trainVersions creates the versions that are left.
func (t *training) trainVersions(ctx context.Context) error {
	policy := t.config.Demand(t.conductor.Strategy().Policy())
	buffer, concurrency, staleness := t.config.Async.With(policy)
	need := minimum(policy)
	v := &versions{training: t, newest: t.Record().Round}
	v.stream = t.conductor.Stream(ctx, round.Streaming{Buffer: buffer, Concurrency: concurrency, Staleness: staleness, Need: need})
	err := v.run(ctx)
	v.close(err)
	if err != nil {
		return err
	}
	return t.checkChanged(t.during(phaseSaving))
}

// run creates and concludes versions until the job is trained.
func (v *versions) run(ctx context.Context) error {
	if v.Record().Trained() {
		return nil
	}
	if err := v.stream.Await(ctx); err != nil {
		return err
	}
	if err := v.startTraining(); err != nil {
		return err
	}
	if err := v.begin(); err != nil {
		return err
	}
	for !v.Record().Trained() {
		if err := v.step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// begin opens the buffer of the next version.
func (v *versions) begin() error {
	v.setRound(v.newest + 1)
	v.attempt, v.started, v.began = audit.NewAttempt(v.newest+1, v.audit.Chained()), Now(), time.Now()
	if last := v.filed; last != nil {
		v.attempt.Follow(func() string {
			<-last.done
			return last.result
		})
	} else {
		v.attempt.Send(v.digest, v.encryption.Encode(v.model))
	}
	return v.stream.Begin(round.Start{Number: v.newest + 1, Model: v.model, Loss: v.loss}, v.attempt)
}

// step creates a version, or concludes the oldest one.
func (v *versions) step(ctx context.Context) error {
	var evaluated <-chan struct{}
	if len(v.pending) > 0 {
		evaluated = v.pending[0].evaluation.Done()
	}
	if v.attempt == nil { // the last version was created
		select {
		case <-evaluated:
			return v.concludeFirst(ctx)
		case <-v.service.Ending.Done():
			return context.Cause(v.service.Ending)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	select {
	case <-evaluated: // before the next version is created, so that few wait
		return v.concludeFirst(ctx)
	default:
	}
	full, err := v.stream.Wait(ctx, evaluated)
	if err != nil {
		return err
	}
	if !full {
		return v.concludeFirst(ctx)
	}
	if len(v.pending) >= maxPending {
		v.pending[0].evaluation.CutOff()
		return v.concludeFirst(ctx)
	}
	return v.finish(ctx)
}

// finish creates the version of the updates that are there, and begins the next one.
func (v *versions) finish(ctx context.Context) error {
	number := v.newest + 1
	result, facts, err := v.stream.Finish(ctx)
	if err != nil {
		return err
	}
	if v.filed != nil { // the audit log has one writer
		if err := v.filed.wait(); err != nil {
			return err
		}
	}
	m := &pendingVersion{began: v.began, notes: result.Notes, refused: result.Refused}
	m.filing = v.startFiling(v.attempt, result.Model)
	v.filed, v.newest, v.attempt = m.filing, number, nil
	m.rec = report.Round{
		Number: number, Started: v.started, Fit: result.Phase, FitMetrics: result.Metrics, Updates: m.filing.updates, Async: facts,
	}
	if result.Model != nil {
		v.model, m.rec.Aggregated = result.Model, true
		m.saving = v.startSaving(ctx)
	}
	v.pending = append(v.pending, m)
	v.noteFit(number)
	m.evaluation = v.stream.Evaluate(number, v.model)
	if number >= v.config.Rounds {
		return nil
	}
	return v.begin()
}

// concludeFirst stores the oldest version, whose evaluation is over or was cut off.
func (v *versions) concludeFirst(ctx context.Context) error {
	m := v.pending[0]
	evaluation, late, err := m.evaluation.Result()
	if err != nil {
		return err
	}
	v.pending = v.pending[1:]
	if m.saving != nil {
		defer m.saving.cancel()
	}
	rec := &m.rec
	rec.Evaluate, rec.Metrics, rec.Loss, rec.Async.CutOff = evaluation.Phase, evaluation.Metrics, evaluation.Loss, late
	rec.Ended = Now()
	notes := slices.Concat(m.notes, m.filing.notes(rec.Fit.Clients), rec.Updates.Notes(m.filing.clients), evaluation.Notes)
	rec.Note = excerpt.Cut(strings.Join(notes, "; "), excerpt.MaxNote)
	if rec.Loss != nil {
		v.loss = rec.Loss
	}
	if err := m.filing.wait(); err != nil {
		return err
	}
	if err := v.saveReputations(rec.Number, m.filing.judged); err != nil {
		return err
	}
	v.training.began = m.began
	v.aggregated = v.aggregated || rec.Aggregated // versions behind this one do not count yet
	return v.conclude(ctx, *rec, m.saving, m.filing, slices.Concat(m.refused, m.filing.late, evaluation.Refused))
}

// close ends the stream, and abandons the versions that do not count. The audit log has
// the answers of the version that was not created.
func (v *versions) close(err error) {
	v.stream.Close()
	if v.filed != nil {
		<-v.filed.done
	}
	if err == nil {
		err = errOver
	}
	if v.attempt != nil && !v.attempt.Empty() {
		v.fileFailed(v.attempt, err)
	}
	for _, m := range v.pending {
		if m.saving != nil {
			v.abandon(m.saving)
		}
	}
}
