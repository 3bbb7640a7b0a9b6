package round

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/internal/tracing"
)

// Start is the state in which a round begins.
type Start struct {
	Number int
	// Model is the model that clients are sent, and Digest its digest, empty where it
	// is not known.
	Model  strategy.Model
	Digest string
	// Loss is the last aggregated loss; nil if there is none.
	Loss *float64
	// Trace is where clients continue the trace of the round; zero for nowhere.
	Trace tracing.Context
}

// Fit has the drawn clients train the model, and aggregates their updates. It records
// their parts in the attempt, also where it fails.
func (c *Conductor) Fit(ctx context.Context, start Start, drawn Draw, attempt *audit.Attempt) (*Result, error) {
	config := c.configure(start)
	sums, err := c.begin(start, c.spare)
	if err != nil {
		return nil, fmt.Errorf("begin the aggregation of round %d: %w", start.Number, err)
	}
	defer sums.Close()
	collect := c.collect
	if c.config.Masking != nil {
		collect = c.collectMasked
	}
	y, err := collect(ctx, start, drawn, config, sums, attempt)
	if err != nil {
		return nil, err
	}
	if err := c.finish(ctx, y, sums, start); err != nil {
		return nil, err
	}
	return &y.Result, nil
}

// configure returns the configuration of the fit instructions of a round.
func (c *Conductor) configure(start Start) map[string]any {
	config := map[string]any{}
	maps.Copy(config, c.config.ClientConf)
	c.strategy.Configure(strategy.Fit, start.Number, config)
	start.trace(config)
	return config
}

// finish makes the new model of the updates that were added, and sums up what clients
// report.
func (c *Conductor) finish(ctx context.Context, y *tally, sums strategy.Aggregation, start Start) error {
	if err := c.aggregate(ctx, y, sums); err != nil {
		return persist.StoppedOr(ctx, fmt.Errorf("aggregate round %d: %w", start.Number, err))
	}
	y.withdraw(c.strategy)
	if y.Model != nil {
		if err := c.config.Encryption.checkNext(y.Model, start.Model); err != nil {
			return fmt.Errorf("aggregate round %d: %w", start.Number, err)
		}
	}
	means, notes := strategy.MeanMetrics(y.reports)
	hideNormBit(means, c.private, y.Model != nil)
	y.Metrics = bounded(means)
	y.Notes = append(y.Notes, notes...)
	return nil
}

// trace tells clients the context of the trace. Without one they are sent nothing.
func (s Start) trace(config map[string]any) {
	if s.Trace.Parent != "" {
		config[tracing.ParentField] = s.Trace.Parent
	}
	if s.Trace.State != "" {
		config[tracing.StateField] = s.Trace.State
	}
}

// aggregate makes the new model of the updates that were added.
func (c *Conductor) aggregate(ctx context.Context, y *tally, sums strategy.Aggregation) error {
	ctx, span := c.config.Tracer.Start(ctx, "aggregate", tracing.Internal)
	defer span.End()
	err := y.aggregate(ctx, c.policy, sums)
	span.Fail(err)
	return err
}

// collect has the drawn clients train the model, and adds their updates to the aggregation.
func (c *Conductor) collect(ctx context.Context, start Start, drawn Draw, config map[string]any,
	sums strategy.Aggregation, attempt *audit.Attempt) (*tally, error) {
	clients := drawn.Clients
	parts := make([]*audit.Part, len(clients))
	for i, client := range clients {
		parts[i] = attempt.Add(client.Identity, client.Peer.Label(), client.Name())
	}
	ins := flower.FitIns{Parameters: c.config.Encryption.Encode(start.Model), Config: config, Digest: attempt.Digests()}
	attempt.Send(start.Digest, ins.Parameters)
	f := &fit{Conductor: c, start: start, ins: ins, sums: sums}
	y, err := c.ask(ctx, start.Number, strategy.Fit, clients, ins.Parameters, func(asking context.Context, i int) (answer, error) {
		got, err := f.train(asking, ctx, clients[i], parts[i])
		parts[i].Answered(err)
		return got, err
	})
	if err != nil {
		return nil, err
	}
	y.note(drawn.Note)
	y.note(c.noteRate(drawn))
	if drawn.Sampling != nil {
		y.note(fmt.Sprintf("fit: %v", *drawn.Sampling))
	}
	y.note(noteBelow(y.Phase.Below, strategy.Fit))
	return y, nil
}

// fit is a fit phase that is under way.
type fit struct {
	*Conductor
	start Start
	ins   flower.FitIns
	sums  strategy.Aggregation
}

// train has a client train the model, and adds its update to the aggregation. The update
// is added under the context of the round, which outlasts that of the call.
func (f *fit) train(asking, ctx context.Context, c *Client, part *audit.Part) (got answer, err error) {
	if c.Edge() {
		return f.merge(asking, ctx, c, part)
	}
	proof, err := f.prove(asking, c)
	if err != nil {
		return answer{bytes: proof}, err
	}
	defer func() { got.bytes += proof }()
	res, err := f.trainTimed(asking, c, f.ins)
	if err != nil {
		return answer{}, err
	}
	defer res.Release()
	part.Received(res)
	return f.add(ctx, c, res, part, nil)
}

// prove asks an encrypting client that trains for the first time for its parameters, and
// checks its keys: with other keys it could not decrypt the model, and would end its
// session. A client that has no parameters trains all the same.
func (f *fit) prove(ctx context.Context, c *Client) (bytes int64, err error) {
	if f.config.Encryption == nil || c.Proven {
		return 0, nil
	}
	res, err := c.Session.Parameters(ctx, flower.GetParametersIns{})
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err != nil:
		c.Proven = true
		return 0, nil
	}
	defer res.Release()
	model, err := f.config.Encryption.Decode(res.Parameters)
	if err == nil {
		err = f.config.Encryption.admit(c.Name(), model, f.start.Number)
	} else {
		err = nil
	}
	c.Proven = err == nil
	return length(res.Parameters), err
}

// basis is the older version that an update was trained on, and the weight of the update.
type basis struct {
	model  strategy.Model
	weight float64
}

// add adds the update of a client to the aggregation. From is nil for an update that was
// trained on the model of the round.
func (f *fit) add(ctx context.Context, c *Client, res *flower.FitRes, part *audit.Part, from *basis) (answer, error) {
	got := answer{bytes: length(res.Parameters)}
	metrics, err := averageable(res.Metrics)
	if err != nil {
		return got, err
	}
	model, done, err := f.read(ctx, c, res.Parameters, part, from)
	if err != nil {
		return got, err
	}
	defer done()
	err = f.sums.Add(ctx, strategy.Update{Client: c.Name(), Examples: res.NumExamples, Metrics: res.Metrics, Model: model})
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, strategy.ErrQuarantined) {
			err = &fatalError{fmt.Errorf("add the update of %q: %w", c.Name(), err)}
		}
		return got, err
	}
	got.report = strategy.Report{Client: c.Name(), Examples: res.NumExamples, Metrics: metrics}
	return got, nil
}

// aggregate makes the new model of the updates that were added, if they are enough.
func (y *tally) aggregate(ctx context.Context, policy strategy.Policy, sums strategy.Aggregation) error {
	err := policy.Accept(strategy.Fit, y.Phase.Results, y.Phase.Failures)
	if err == nil {
		y.Model, err = sums.Finish(ctx)
	}
	if errors.Is(err, strategy.ErrTooFew) {
		y.note("fit: the model stays as it was: " + err.Error())
		return nil
	}
	return err
}

// withdraw removes the answers whose updates the strategy refused at the end of the
// round: they are no results, and their metrics are no part of the means.
func (y *tally) withdraw(made strategy.Strategy) {
	judging, ok := made.(audit.Judging)
	if !ok {
		return
	}
	refused := map[string]bool{}
	for _, v := range judging.Verdicts() {
		if v.Outcome == strategy.Refused {
			refused[v.Client] = true
		}
	}
	before := len(y.reports)
	y.reports = slices.DeleteFunc(y.reports, func(r strategy.Report) bool { return r.Path == "" && refused[r.Client] })
	late := before - len(y.reports)
	y.Phase.Results -= late
	y.Phase.Failures += late
}
