package flcollect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// errInsufficient is the reason of a job whose clients did not come.
var errInsufficient = errors.New("not enough clients")

// tally is what became of a phase.
type tally struct {
	model   strategy.Model // the new one; nil if there is none
	notes   []string
	refused []Quarantine

	phase   strategy.Phase
	round   int
	mu      sync.Mutex
	account Phase
	reports []strategy.Report
	losses  []strategy.Report
	first   string // the first failure
	fatal   error  // what is not a client's fault
}

// gather waits until there are clients enough, and draws those of a phase; none
// if the phase does not take place.
func (t *training) gather(ctx context.Context, phase strategy.Phase, round int) (clients []*client, note string, err error) {
	timer := time.NewTimer(t.server.options.ClientTimeout)
	defer timer.Stop()
	for {
		drawn, note, have, need := t.server.draw(t.job, t.policy, phase, round)
		if t.server.ends() {
			return nil, "", ErrNotRunning
		}
		if drawn != nil || need == 0 {
			return drawn, note, nil
		}
		select {
		case <-t.moved:
		case <-timer.C:
			return nil, "", fmt.Errorf("%w: %d of %d came within %v", errInsufficient, have, need, t.server.options.ClientTimeout)
		case <-t.server.parking:
			return nil, "", ErrNotRunning
		case <-ctx.Done():
			return nil, "", context.Cause(ctx)
		}
	}
}

// fit has clients train, and aggregates what they send.
func (t *training) fit(ctx context.Context, number int, round *Round) (*tally, error) {
	clients, note, err := t.gather(ctx, strategy.Fit, number)
	if err != nil {
		return nil, err
	}
	attempt := newAttempt(number, !t.server.options.NoAudit, clients)
	if t.record().State != Training {
		err := t.save(func(r *record) { r.State, r.Started = Training, now() })
		if err != nil {
			return nil, err
		}
	}
	round.Started, t.began = now(), time.Now()
	config := map[string]any{}
	maps.Copy(config, t.client)
	t.strategy.Configure(strategy.Fit, number, config)
	sums, err := t.strategy.Begin(strategy.Round{Number: number, Model: t.model, Loss: t.loss, Dir: t.server.options.Dir})
	if err != nil {
		return nil, fmt.Errorf("begin the aggregation of round %d: %w", number, err)
	}
	defer sums.Close()
	ins := flower.FitIns{Parameters: t.encode(t.model), Config: config}
	attempt.sends(t.digest, ins.Parameters)
	t.attempt = attempt
	result, err := t.ask(ctx, number, strategy.Fit, clients, ins.Parameters, func(asking context.Context, c *client) (got answer, err error) {
		defer func() { attempt.answered(c, err) }()
		proof, err := t.prove(asking, c)
		if err != nil {
			return answer{bytes: proof}, err
		}
		defer func() { got.bytes += proof }()
		res, err := c.session.Fit(asking, ins)
		if err != nil {
			return answer{}, err
		}
		defer res.Release()
		attempt.received(c, res)
		return t.takeFit(ctx, c, res, sums)
	})
	if err != nil {
		return nil, err
	}
	result.say(note)
	if err := result.aggregate(ctx, t.policy, sums); err != nil {
		return nil, stoppedOr(ctx, fmt.Errorf("aggregate round %d: %w", number, err))
	}
	result.withdraw(t.strategy)
	round.Fit = result.account
	if result.model != nil {
		if err := t.follows(result.model, t.model); err != nil {
			return nil, fmt.Errorf("aggregate round %d: %w", number, err)
		}
	}
	means, notes := strategy.MeanMetrics(result.reports)
	t.blur(means, result.model != nil)
	round.FitMetrics = bounded(means)
	result.notes = append(result.notes, notes...)
	return result, nil
}

// say adds a note, unless it is empty.
func (y *tally) say(note string) {
	if note != "" {
		y.notes = append(y.notes, note)
	}
}

// aggregate makes the new model of what was added, if that is enough.
func (y *tally) aggregate(ctx context.Context, policy strategy.Policy, sums strategy.Aggregation) error {
	err := policy.Accept(strategy.Fit, y.account.Results, y.account.Failures)
	if err == nil {
		y.model, err = sums.Finish(ctx)
	}
	if errors.Is(err, strategy.ErrTooFew) {
		y.notes = append(y.notes, "fit: the model stays as it was: "+err.Error())
		return nil
	}
	return err
}

// withdraw takes out the answers whose updates the strategy refused at the end of
// the round: they are no results, and their metrics are no part of the means.
func (y *tally) withdraw(made strategy.Strategy) {
	judge, ok := made.(judge)
	if !ok {
		return
	}
	refused := map[string]bool{}
	for _, v := range judge.Verdicts() {
		if v.Outcome == strategy.Refused {
			refused[v.Client] = true
		}
	}
	y.reports = slices.DeleteFunc(y.reports, func(r strategy.Report) bool { return refused[r.Client] })
	late := y.account.Results - len(y.reports)
	y.account.Results -= late
	y.account.Failures += late
}

// takeFit adds the answer of a client to the aggregation.
func (t *training) takeFit(ctx context.Context, c *client, res *flower.FitRes, sums strategy.Aggregation) (answer, error) {
	var got answer
	for _, blob := range res.Parameters.Tensors {
		got.bytes += int64(blob.Len())
	}
	metrics, err := numbers(res.Metrics)
	if err != nil {
		return got, err
	}
	model, err := t.decode(res.Parameters)
	if err != nil {
		return got, fmt.Errorf("%w: %w", strategy.ErrQuarantined, err)
	}
	if t.encrypts() { // the layers of an encrypted update are messages
		if err := t.admits(c.session.ID(), model); err != nil {
			return got, err
		}
	} else {
		takes, _ := t.strategy.(anyType)
		over, err := t.server.turn(ctx, model, t.model, takes)
		if err != nil {
			return got, err
		}
		defer over()
		var converted []Conversion
		if model, converted, err = conform(model, t.model, takes); err != nil {
			return got, fmt.Errorf("%w: %w", strategy.ErrQuarantined, err)
		}
		t.attempt.converted(c, converted)
	}
	err = sums.Add(ctx, strategy.Update{Client: c.session.ID(), Examples: res.NumExamples, Metrics: res.Metrics, Model: model})
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, strategy.ErrQuarantined) {
			err = &fatalError{fmt.Errorf("add the update of %q: %w", c.session.ID(), err)}
		}
		return got, err
	}
	got.report = strategy.Report{Client: c.session.ID(), Examples: res.NumExamples, Metrics: metrics}
	return got, nil
}

// evaluate has clients measure the model.
func (t *training) evaluate(ctx context.Context, number int, round *Round) (*tally, error) {
	if t.policy.Sample(strategy.Evaluate, 1) == 0 {
		return &tally{}, nil
	}
	clients, note, err := t.gather(ctx, strategy.Evaluate, number)
	if err != nil {
		return nil, err
	}
	if len(clients) == 0 {
		return &tally{}, nil
	}
	config := map[string]any{}
	t.strategy.Configure(strategy.Evaluate, number, config)
	ins := flower.EvaluateIns{Parameters: t.encode(t.model), Config: config}
	result, err := t.ask(ctx, number, strategy.Evaluate, clients, ins.Parameters, func(asking context.Context, c *client) (answer, error) {
		res, err := c.session.Evaluate(asking, ins)
		if err != nil {
			return answer{}, err
		}
		return takeEvaluation(c, res)
	})
	if err != nil {
		return nil, err
	}
	result.say(note)
	round.Evaluate = result.account
	if err := t.policy.Accept(strategy.Evaluate, result.account.Results, result.account.Failures); err != nil {
		result.notes = append(result.notes, err.Error())
		return result, nil
	}
	losses, _ := strategy.MeanMetrics(result.losses)
	if loss, ok := bounded(losses)["loss"]; ok {
		round.Loss = &loss
	}
	means, notes := strategy.MeanMetrics(result.reports)
	round.Metrics = bounded(means)
	result.notes = append(result.notes, notes...)
	return result, nil
}

// takeEvaluation checks the answer of a client.
func takeEvaluation(c *client, res *flower.EvaluateRes) (answer, error) {
	loss := float64(res.Loss)
	switch {
	case math.IsNaN(loss) || math.IsInf(loss, 0):
		return answer{}, fmt.Errorf("%w: the loss is %v", strategy.ErrQuarantined, loss)
	case res.NumExamples < 1 || res.NumExamples > strategy.MaxExamples:
		return answer{}, fmt.Errorf("%w: num_examples is %d, must be 1 to %d", strategy.ErrQuarantined, res.NumExamples, int64(strategy.MaxExamples))
	}
	metrics, err := numbers(res.Metrics)
	if err != nil {
		return answer{}, err
	}
	report := strategy.Report{Client: c.session.ID(), Examples: res.NumExamples, Metrics: metrics}
	return answer{report: report, loss: &loss}, nil
}

// answer is what is kept of the answer of a client.
type answer struct {
	report strategy.Report
	loss   *float64
	bytes  int64
}

// fatalError is an error that is not the fault of a client.
type fatalError struct{ error }

func (e *fatalError) Unwrap() error { return e.error }

// ask puts a question to all the clients at once, and counts the answers.
func (t *training) ask(ctx context.Context, number int, phase strategy.Phase, clients []*client, sent flower.Parameters,
	question func(asking context.Context, c *client) (answer, error)) (*tally, error) {
	size := int64(0)
	for _, blob := range sent.Tensors {
		size += int64(blob.Len())
	}
	y := &tally{phase: phase, round: number, account: Phase{Clients: len(clients), Sent: size * int64(len(clients))}}
	asking, cancel := within(ctx, t.config.RoundTimeout)
	defer cancel()
	began := time.Now()
	var group sync.WaitGroup
	for _, c := range clients {
		group.Go(func() {
			got, err := question(asking, c)
			if y.count(c, got, err) {
				cancel() // the rest is in vain
			}
			if err != nil && ctx.Err() == nil {
				t.log.Info("client failed", "round", number, "phase", phase, "client", short(c.session.ID(), maxClient), "error", short(err.Error(), maxReason))
			}
		})
	}
	group.Wait()
	y.account.Seconds = elapsed(began)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case t.server.ends():
		return nil, ErrNotRunning // clients that were sent away did not fail
	case y.fatal != nil:
		return nil, fmt.Errorf("%v of round %d: %w", phase, number, y.fatal)
	}
	if y.account.Failures > 0 {
		note := fmt.Sprintf("%v: %d of %d clients failed, the first: %s", phase, y.account.Failures, len(clients), y.first)
		y.notes = append(y.notes, note)
	}
	return y, nil
}

// within bounds a context, if there is a bound.
func within(ctx context.Context, bound time.Duration) (context.Context, context.CancelFunc) {
	if bound > 0 {
		return context.WithTimeout(ctx, bound)
	}
	return context.WithCancel(ctx)
}

// count takes in an answer, and reports whether the phase has failed.
func (y *tally) count(c *client, got answer, err error) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.account.Received += got.bytes
	if err == nil {
		y.account.Results++
		y.reports = append(y.reports, got.report)
		if got.loss != nil {
			loss := map[string]any{"loss": *got.loss}
			y.losses = append(y.losses, strategy.Report{Client: got.report.Client, Examples: got.report.Examples, Metrics: loss})
		}
		return false
	}
	y.account.Failures++
	name, reason := short(c.session.ID(), maxClient), short(err.Error(), maxReason)
	if y.first == "" {
		y.first = fmt.Sprintf("%q: %s", name, reason)
	}
	if errors.Is(err, strategy.ErrQuarantined) && len(y.refused) < MaxQuarantined {
		y.refused = append(y.refused, Quarantine{Round: y.round, Client: name, Reason: reason})
	}
	var fatal *fatalError
	if errors.As(err, &fatal) && y.fatal == nil {
		y.fatal = fatal.error
	}
	return y.fatal != nil
}

// numbers returns what can be averaged of metrics, whose number is bounded. Other
// values are kept as far as their type.
func numbers(metrics flower.Config) (map[string]any, error) {
	if len(metrics) > maxMetrics {
		return nil, fmt.Errorf("%w: %d metrics, at most %d", strategy.ErrQuarantined, len(metrics), maxMetrics)
	}
	kept := make(map[string]any, len(metrics))
	for name, v := range metrics {
		if len(name) > maxClient {
			return nil, fmt.Errorf("%w: a metric's name has %d bytes, at most %d", strategy.ErrQuarantined, len(name), maxClient)
		}
		switch v.(type) {
		case string:
			v = ""
		case []byte:
			v = []byte(nil)
		}
		kept[name] = v
	}
	return kept, nil
}
