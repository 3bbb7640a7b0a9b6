package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/internal/checkpoint"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/internal/tiers"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/supernode"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/internal/tracing"
)

// training is the state of a job that trains. It belongs to one goroutine.
type training struct {
	*Job
	config     jobconfig.Config
	conductor  *round.Conductor
	encryption *round.Encryption // nil without homomorphic encryption
	keys       *adoption         // nil if the configuration names the parameters
	audit      *audit.Log
	model      strategy.Model
	local      *round.Local   // nil if all layers are shared
	run        *supernode.Run // of SuperNodes; nil if none take part
	layers     []string       // names of the model's layers; nil without
	digest     string         // of the model; empty where it is not known yet
	loss       *float64       // the last aggregated one
	aggregated bool           // whether a round has changed the model
	began      time.Time
}

// newTraining creates the strategy of a job that goes on after a restart, and returns its
// training. It waits for a repository that does not answer.
func (j *Job) newTraining(ctx context.Context) (*training, error) {
	r := j.Record()
	config := r.Effective()
	err := j.retry(ctx, ofStrategy, func(ctx context.Context) (err error) {
		if j.strategy == nil {
			j.strategy, err = j.service.Strategy(ctx, config, r.Guarded)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	t := &training{Job: j, config: config, keys: r.Keys, loss: r.Loss}
	if config.Homomorphic != nil {
		t.encryption = &round.Encryption{}
		if t.keys != nil {
			t.encryption.Source = t.keys.Client
		}
		if !config.Homomorphic.Open() {
			if t.encryption.Parameters, err = ckks.NewParameters(*config.Homomorphic); err != nil {
				return nil, err
			}
		}
	}
	if len(config.LocalLayers) > 0 && r.Upstream == "" { // an edge cuts nothing
		t.local = &round.Local{}
		if r.Local != nil {
			*t.local = *r.Local
		}
	}
	client := clientSettings(config)
	t.conductor = round.NewConductor(round.Config{
		Pool: j.pool, Reputations: j.reputations, Encryption: t.encryption, Masking: config.SecAgg, ClientConf: client,
		Local: t.local, Speeds: newSpeeds(config),
		Timeout: config.RoundTimeout, ClientTimeout: j.service.ClientTimeout, Ending: j.service.Ending,
		Tracer: j.service.Tracer, Converting: j.service.Converting, Dir: j.service.Dir, Log: j.log,
	}, j.strategy)
	j.edges.settle(mergesSums(config, j.strategy))
	j.setPolicy(config.Demand(j.strategy.Policy()))
	return t, nil
}

// newSpeeds returns what a job measures of its clients to draw them by; nil for uniform
// sampling.
func newSpeeds(config jobconfig.Config) *tiers.Speeds {
	if config.SpeedTiers == 0 {
		return nil
	}
	return tiers.NewSpeeds(config.SpeedTiers)
}

// clientSettings returns the settings that are part of every fit instruction.
func clientSettings(config jobconfig.Config) map[string]any {
	settings := map[string]any{}
	if len(config.ClientConf) > 0 {
		maps.Copy(settings, config.ClientConf[0])
	}
	if len(config.Compression) > 0 {
		settings["compression"] = strings.Join(config.Compression, ",")
	}
	if len(config.LocalLayers) > 0 {
		settings[round.LocalField] = strings.Join(config.LocalLayers, ",")
	}
	return settings
}

// startTraining notes that the first clients were drawn.
func (j *Job) startTraining() error {
	if j.Record().State == report.Training {
		return nil
	}
	if err := j.save(func(r *Record) { r.State, r.Started = report.Training, Now() }); err != nil {
		return err
	}
	j.enter(phaseTraining)
	return nil
}

// begin loads the model that the last finished round has left, or finds one to begin
// with, and everything else that belongs to it.
func (t *training) begin(ctx context.Context) error {
	r := t.Record()
	if r.Round < 0 {
		t.note(func(r *Record) { r.Round = 0 })
	}
	var err error
	if r.Checkpoint == nil {
		err = t.beginNew(ctx)
	} else {
		err = t.resume(ctx, r.Checkpoint)
	}
	if err != nil {
		return err
	}
	if err := t.openBooks(ctx); err != nil {
		return err
	}
	t.aggregated, err = t.hasAggregated(ctx)
	return err
}

// openBooks opens the audit log and reads the reputations of clients.
func (t *training) openBooks(ctx context.Context) (err error) {
	r := t.Record()
	run := audit.Run{Job: t.id, Run: r.Run, Token: r.Token, Shared: t.service.Group != nil}
	if t.audit, err = audit.OpenLog(ctx, t.storage, run, r.Audit, !t.service.NoAudit); err != nil {
		return err
	}
	if !t.service.TrustClients {
		err := t.storage.Insist(ctx, func() error { return t.reputations.Load(ctx, t.storage, r.Token, r.Round) })
		if err != nil {
			return persist.StoppedOr(ctx, fmt.Errorf("recall the reputations of clients: %w", err))
		}
	}
	return nil
}

// beginNew finds a model to begin with and stores it.
func (t *training) beginNew(ctx context.Context) error {
	model, err := t.initial(ctx)
	if err != nil {
		return fmt.Errorf("find parameters to begin with: %w", err)
	}
	if t.local != nil {
		if model, err = t.share(model); err != nil {
			return err
		}
	}
	t.model = model
	saving := t.startSaving(ctx)
	defer saving.cancel()
	stored, err := saving.wait()
	if err != nil {
		return err
	}
	return t.save(func(r *Record) { r.Checkpoint, r.Keys, r.Layers, r.Local = stored, t.keys, t.layers, t.local })
}

// share returns the shared layers of a model.
func (t *training) share(model strategy.Model) (strategy.Model, error) {
	local, err := round.FindLocal(t.config.LocalLayers, model, t.layers)
	if err != nil {
		return nil, err
	}
	*t.local = local
	switch {
	case !t.namesLayers():
		t.layers = nil
	case t.layers == nil: // apps know a layer without a name by its index in the whole model
		for i := range model {
			t.layers = append(t.layers, strconv.Itoa(i))
		}
	}
	return round.Shared(t.local, model), nil
}

// resume loads the model and the state of the strategy after the last finished round.
func (t *training) resume(ctx context.Context, from *checkpoint.Ref) error {
	var state []tensor.Tensor
	err := t.storage.Insist(ctx, func() (err error) {
		t.model, state, err = checkpoint.Load(ctx, t.storage.Blobs, from)
		return err
	})
	if err == nil {
		err = t.conductor.Strategy().Restore(state)
	}
	if err == nil {
		err = t.recharge()
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("go on after round %d: %w", t.Record().Round, err)
	}
	return err
}

// round conducts a round and stores it.
func (t *training) round(ctx context.Context, number int) error {
	drawn, err := t.gather(ctx, number)
	if err != nil {
		return err
	}
	if err := t.startTraining(); err != nil {
		return err
	}
	t.setRound(number)
	rec := report.Round{Number: number, Started: Now(), Sampling: drawn.Sampling}
	t.began = time.Now() // by the monotonic clock
	attempt := audit.NewAttempt(number, t.audit.Chained())
	start := round.Start{Number: number, Model: t.model, Digest: t.digest, Loss: t.loss}
	fit, err := t.step(ctx, "fit", func(ctx context.Context, at tracing.Context) (*round.Result, error) {
		start.Trace = at
		return t.conductor.Fit(ctx, start, drawn, attempt)
	})
	if err != nil {
		t.fileFailed(attempt, err)
		return err
	}
	filing := t.startFiling(attempt, fit.Model)
	defer filing.wait()
	rec.Fit, rec.FitMetrics, rec.Updates = fit.Phase, fit.Metrics, filing.updates
	if t.conductor.Private() != nil {
		rec.Updates = rec.Updates.Covered()
	}
	var saving *saving // while clients evaluate
	if fit.Model != nil {
		t.model, rec.Aggregated, t.aggregated = fit.Model, true, true
		saving = t.startSaving(ctx)
		defer saving.cancel()
		if err := t.release(); err != nil {
			t.abandon(saving)
			return err
		}
	}
	t.noteFit(number)
	if p := round.PrivacyLoss(t.conductor.Strategy()); p != nil {
		rec.Epsilon, rec.Delta = &p.Epsilon, p.Delta
	}
	evaluation, err := t.step(ctx, "evaluate", func(ctx context.Context, _ tracing.Context) (*round.Result, error) {
		return t.conductor.Evaluate(ctx, number, t.model)
	})
	if err != nil {
		if saving != nil {
			t.abandon(saving)
		}
		return err
	}
	rec.Evaluate, rec.Metrics, rec.Loss = evaluation.Phase, evaluation.Metrics, evaluation.Loss
	rec.Ended = Now()
	notes := slices.Concat(fit.Notes, filing.notes(rec.Fit.Clients), rec.Updates.Notes(filing.clients), evaluation.Notes)
	rec.Note = excerpt.Cut(strings.Join(notes, "; "), excerpt.MaxNote)
	if rec.Loss != nil {
		t.loss = rec.Loss
	}
	return t.conclude(ctx, rec, saving, filing, slices.Concat(fit.Refused, filing.late, evaluation.Refused))
}

// conclude stores a round: the model, unless it stayed and saving is nil, the reports,
// then the round, then the job, with which all of them count.
func (t *training) conclude(ctx context.Context, rec report.Round, saving *saving, filing *filing, refused []report.Quarantine) error {
	if err := filing.wait(); err != nil {
		return err
	}
	head := filing.head
	if t.audit.Chained() {
		rec.Audit = &head
	}
	r := t.Record()
	before, after := r.Checkpoint, r.Checkpoint
	if saving != nil {
		stored, err := saving.wait()
		if err != nil {
			return err
		}
		after = stored
	}
	data, err := json.Marshal(rec)
	if err == nil {
		err = t.storage.Insist(ctx, func() error { return t.storage.Put(ctx, RoundKey(r.Token, rec.Number), data) })
	}
	if err != nil {
		return persist.StoppedOr(ctx, fmt.Errorf("store round %d: %w", rec.Number, err))
	}
	early, reached := t.surpassed(rec)
	err = t.save(func(r *Record) {
		r.Round, r.Checkpoint, r.Early, r.Reached, r.Audit = rec.Number, after, early, reached, head
		if rec.Loss != nil {
			r.Loss, r.Metrics = rec.Loss, rec.Metrics
		}
		r.quarantine(refused)
		r.count(rec)
		if r.Trained() && t.aggregated && t.service.Results != nil {
			r.Delivery = Pending
		}
		if t.service.Orchestrator == nil {
			r.Reported, r.EarlyReported = r.reportable(), early != nil
		}
	})
	if err != nil {
		return err
	}
	u := rec.Updates
	said := []any{"round", rec.Number, "aggregated", rec.Aggregated,
		"results", rec.Fit.Results, "failures", rec.Fit.Failures,
		"compressed", u.Compressed, "clipped", u.Clipped, "far", u.Far, "refused", u.Refused, "converted", u.Converted,
		"note", rec.Note, "audit", head.SHA256}
	if v := rec.Async; v != nil {
		said = append(said, "mean_staleness", v.MeanStaleness, "max_staleness", v.MaxStaleness, "cut_off", v.CutOff)
	}
	t.log.Info("round finished", said...)
	t.service.Counter.RoundFinished(rec, time.Since(t.began).Seconds(), len(refused))
	if before != nil && before != after {
		t.drop(before)
	}
	return nil
}

// errUnchanged is matched by the error of a training whose rounds have left the initial
// model as it was.
var errUnchanged = errors.New("no round has aggregated an update, so there is no result")

// hasAggregated reports whether a round of the run has changed the model. Records from
// before such rounds were counted leave that to the rounds themselves; where one cannot
// be read, it counts as one that has.
func (j *Job) hasAggregated(ctx context.Context) (bool, error) {
	r := j.Record()
	if r.Aggregated > 0 {
		return true, nil
	}
	for after := 0; ; {
		var rounds []report.Round
		err := j.storage.Insist(ctx, func() (err error) {
			rounds, err = Rounds(ctx, j.service.Documents, r, after, 0)
			return err
		})
		if errors.Is(err, persist.ErrDamaged) {
			return true, nil
		}
		if err != nil || len(rounds) == 0 {
			return false, err
		}
		for _, round := range rounds {
			if round.Aggregated {
				return true, nil
			}
		}
		after = rounds[len(rounds)-1].Number
	}
}

// checkChanged returns nil if a training that has ended has a result, and otherwise an
// error that matches errUnchanged and has the note of its last round.
func (j *Job) checkChanged(ctx context.Context) error {
	changed, err := j.hasAggregated(ctx)
	if err != nil || changed {
		return err
	}
	r := j.Record()
	if r.IdleRound == 0 {
		return errUnchanged
	}
	return fmt.Errorf("%w: the last of %d rounds says: %s", errUnchanged, r.Idle, r.IdleNote)
}

// traced conducts a round in a span of its own.
func (t *training) traced(ctx context.Context, number int) error {
	tracer := t.service.Tracer
	if !tracer.On() {
		return t.round(ctx, number)
	}
	ctx, span := tracer.Start(ctx, fmt.Sprintf("round %d", number), tracing.Internal)
	defer span.End()
	span.Text("flcollect.job", t.id)
	span.Number("flcollect.run", t.Record().Run)
	span.Number("flcollect.round", int64(number))
	err := t.round(ctx, number)
	span.Fail(err)
	return err
}

func (t *training) gather(ctx context.Context, number int) (round.Draw, error) {
	ctx, span := t.service.Tracer.Start(ctx, "gather", tracing.Internal)
	defer span.End()
	drawn, err := t.conductor.Gather(ctx, strategy.Fit, number)
	span.Number("flcollect.clients", int64(len(drawn.Clients)))
	span.Fail(err)
	return drawn, err
}

// step takes a step of a round in a span of its own.
func (t *training) step(ctx context.Context, name string, take func(ctx context.Context, at tracing.Context) (*round.Result, error),
) (*round.Result, error) {
	ctx, span := t.service.Tracer.Start(ctx, name, tracing.Internal)
	defer span.End()
	var at tracing.Context
	if span.On() {
		at = span.Context()
	}
	result, err := take(ctx, at)
	span.Fail(err)
	return result, err
}
