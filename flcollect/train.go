package flcollect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/storage"
)

// Bounds of the texts that are stored.
const (
	maxReason  = 500
	maxNote    = 2000
	maxClient  = 200
	maxMetrics = 1000
)

// training is the state of a job that trains. It belongs to one goroutine.
type training struct {
	*job
	config  Config
	policy  strategy.Policy
	private *dp.Adaptive     // nil without differential privacy
	sealed  *ckks.Parameters // nil without homomorphic encryption, and until it is known
	keys    *adoption        // nil if the configuration names the parameters
	model   strategy.Model
	loss    *float64 // the last aggregated one
	client  map[string]any
	fruits  bool // whether a round has changed the model
	ledger  *ledger
	// attempt is the last fit phase that began, digest that of the model, empty
	// where it is not known yet.
	attempt *attempt
	digest  string
	began   time.Time // of the round, by the clock that nobody sets
}

// train conducts the rounds that are left, and returns nil after the last, or why
// the job is interrupted.
func (j *job) train(ctx context.Context) error {
	if j.record().trained() {
		return j.yielded(j.life)
	}
	if err := j.prepare(ctx); err != nil {
		return err
	}
	r := j.record()
	t := &training{job: j, config: r.effective(), keys: r.Keys, loss: r.Loss}
	t.use(j.strategy)
	if err := t.seal(); err != nil {
		return err
	}
	if len(t.config.ClientConf) > 0 {
		t.client = t.config.ClientConf[0]
	}
	j.server.mu.Lock()
	j.least = t.policy.MinAvailable
	j.server.mu.Unlock()
	if r.Round < 0 {
		j.note(func(r *record) { r.Round = 0 })
	}
	if err := t.begin(ctx, r.Checkpoint); err != nil {
		return err
	}
	if err := t.openLedger(ctx); err != nil {
		return err
	}
	if err := t.recallReputations(ctx); err != nil {
		return err
	}
	var err error
	if t.fruits, err = j.aggregated(ctx); err != nil {
		return err
	}
	for {
		r := j.record()
		if r.trained() {
			return j.yielded(j.life)
		}
		if !t.affords() {
			if err := t.exhaust(); err != nil {
				return err
			}
			continue // it is trained, whether there is a result or not
		}
		if err := t.round(ctx, r.Round+1); err != nil {
			return err
		}
	}
}

// prepare makes the strategy of a job that goes on after a restart. It waits for
// a repository that does not answer.
func (j *job) prepare(ctx context.Context) error {
	r := j.record()
	config, guarded := r.effective(), r.Guarded
	return j.persist(ctx, ofStrategy, func(ctx context.Context) (err error) {
		if j.strategy == nil {
			j.strategy, err = j.server.makeGuarded(ctx, config, guarded)
		}
		return err
	})
}

// persist repeats a question to a neighbour until there is an answer, for as long
// as a job waits for clients.
func (j *job) persist(ctx context.Context, from source, question func(ctx context.Context) error) error {
	var pause backoff
	defer j.trouble(from, nil)
	waits, cancel := context.WithTimeout(ctx, j.server.options.ClientTimeout)
	defer cancel()
	for {
		call, cancel := context.WithTimeout(waits, storeTimeout)
		err := question(call)
		cancel()
		var field *strategy.FieldError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrNoModel), errors.Is(err, ErrNoStrategy), errors.Is(err, ErrRefused), errors.As(err, &field), errors.Is(err, errUnsound):
			return err
		}
		j.trouble(from, err)
		if pause.wait(waits) != nil && ctx.Err() == nil {
			return fmt.Errorf("no answer for %v: %w", j.server.options.ClientTimeout, err)
		}
	}
}

// begin loads the model that the last finished round has left, or finds one to
// begin with.
func (t *training) begin(ctx context.Context, from *checkpoint) error {
	if from == nil {
		model, err := t.initial(ctx)
		if err != nil {
			return fmt.Errorf("find parameters to begin with: %w", err)
		}
		t.model = model
		made, err := t.keep(ctx)
		if err != nil {
			return err
		}
		return t.save(func(r *record) { r.Checkpoint, r.Keys = made, t.keys })
	}
	var state []tensor.Tensor
	err := t.server.insist(ctx, t.id, func() (err error) {
		t.model, state, err = t.server.loadCheckpoint(ctx, from)
		return err
	})
	if err == nil {
		err = t.strategy.Restore(state)
	}
	if err == nil {
		err = t.recharge()
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("go on after round %d: %w", t.record().Round, err)
	}
	return err
}

// keep stores the model and what the strategy carries.
func (t *training) keep(ctx context.Context) (*checkpoint, error) {
	k := t.startKeeping(ctx)
	defer k.cancel()
	return k.wait()
}

// round conducts a round and stores it.
func (t *training) round(ctx context.Context, number int) error {
	round := Round{Number: number}
	var refused []Quarantine
	t.attempt = nil
	fit, err := t.fit(ctx, number, &round)
	if err != nil {
		t.fileBroken(err)
		return err
	}
	filed := t.startFiling(t.attempt, fit.model)
	defer filed.wait()
	refused = append(append(refused, fit.refused...), filed.late...)
	if n := len(filed.late); n > 0 {
		fit.say(fmt.Sprintf("fit: the strategy refused %d of %d updates at the end of the round, the first of %q: %s",
			n, round.Fit.Clients, filed.late[0].Client, filed.late[0].Reason))
	}
	round.Updates = filed.updates
	if t.private != nil {
		round.Updates = round.Updates.covered()
	}
	var kept *keeping // while clients evaluate
	if fit.model != nil {
		t.model, round.Aggregated, t.fruits = fit.model, true, true
		kept = t.startKeeping(ctx)
		defer kept.cancel()
		if err := t.release(); err != nil {
			t.giveUp(kept)
			return err
		}
	}
	t.noteFit(number)
	if p := privacyOf(t.strategy); p != nil {
		round.Epsilon, round.Delta = &p.Epsilon, p.Delta
	}
	evaluation, err := t.evaluate(ctx, number, &round)
	if err != nil {
		if kept != nil {
			t.giveUp(kept)
		}
		return err
	}
	refused = append(refused, evaluation.refused...)
	round.Ended = now()
	round.Note = short(strings.Join(slices.Concat(fit.notes, round.Updates.notes(), evaluation.notes), "; "), maxNote)
	if round.Loss != nil {
		t.loss = round.Loss
	}
	return t.conclude(ctx, round, kept, filed, refused)
}

// conclude stores a round: the model, which may be kept by then and is nil if it
// stayed, what became of the updates, then the round, then the job, which makes
// all of them count.
func (t *training) conclude(ctx context.Context, round Round, kept *keeping, filed *filing, refused []Quarantine) error {
	if err := filed.wait(); err != nil {
		return err
	}
	head := t.ledger.head
	if t.ledger.audits {
		round.Audit = &head
	}
	r := t.record()
	before, after := r.Checkpoint, r.Checkpoint
	if kept != nil {
		made, err := kept.wait()
		if err != nil {
			return err
		}
		after = made
	}
	data, err := json.Marshal(round)
	if err == nil {
		err = t.server.insist(ctx, t.id, func() error {
			return t.server.put(ctx, roundKey(r.Token, round.Number), data)
		})
	}
	if err != nil {
		return stoppedOr(ctx, fmt.Errorf("store round %d: %w", round.Number, err))
	}
	early := t.surpassed(round)
	err = t.save(func(r *record) {
		r.Round, r.Checkpoint, r.Early, r.Audit = round.Number, after, early, head
		if round.Loss != nil {
			r.Loss, r.Metrics = round.Loss, round.Metrics
		}
		r.quarantine(refused)
		r.counts(round)
		if r.trained() && t.fruits && t.server.options.Repository != nil {
			r.Delivery = pending
		}
		if t.server.options.Orchestrator == nil {
			r.Told, r.EarlyTold = r.news(), early != nil
		}
	})
	if err != nil {
		return err
	}
	t.account(round, len(refused))
	if before != nil && before != after {
		t.server.drop(t.life, t.log, before)
	}
	return nil
}

// account adds a round to the totals.
func (t *training) account(round Round, quarantined int) {
	u := round.Updates
	t.log.Info("round finished", "round", round.Number, "aggregated", round.Aggregated,
		"results", round.Fit.Results, "failures", round.Fit.Failures,
		"clipped", u.Clipped, "far", u.Far, "refused", u.Refused, "converted", u.Converted,
		"note", round.Note, "audit", t.ledger.head.SHA256)
	s := t.server
	seconds := elapsed(t.began)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.totals.Rounds++
	s.totals.Seconds += seconds
	s.totals.Durations.Add(seconds)
	s.totals.Quarantined += int64(quarantined)
	for _, p := range []Phase{round.Fit, round.Evaluate} {
		s.totals.Results += int64(p.Results)
		s.totals.Failures += int64(p.Failures)
		s.totals.Sent += p.Sent
		s.totals.Received += p.Received
	}
}

// surpassed returns the first metric, in the order of their names, that is greater
// than its target; nil if none is, or if the model is still that to begin with, which
// is no result.
func (t *training) surpassed(round Round) *EarlyEnd {
	if !t.config.Stopping || !t.fruits {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(t.config.Targets)) {
		if value, ok := round.Metrics[name]; ok && value > t.config.Targets[name] {
			return &EarlyEnd{
				ModelName: t.config.ModelName, ModelVersion: t.config.ModelVersion, Round: round.Number,
				Metric: name, Value: value, Target: t.config.Targets[name],
			}
		}
	}
	return nil
}

// drop deletes a checkpoint that nothing names any more. One that stays is
// collected after the next start.
func (s *Server) drop(ctx context.Context, log *slog.Logger, c *checkpoint) {
	err := s.options.Blobs.Delete(ctx, c.Key)
	if err != nil && !errors.Is(err, storage.ErrNotFound) && ctx.Err() == nil {
		log.Warn("an old model cannot be deleted yet", "error", err)
	}
}

// bounded returns the means that can be stored: finite, and not too many.
func bounded(means map[string]float64) map[string]float64 {
	kept := map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(means)) {
		if v := means[name]; len(kept) < maxMetrics && !math.IsInf(v, 0) && !math.IsNaN(v) {
			kept[name] = v
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// stoppedOr returns the reason for which a context has ended, or the error.
func stoppedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// elapsed is the seconds since a time.
func elapsed(since time.Time) float64 { return time.Since(since).Seconds() }
