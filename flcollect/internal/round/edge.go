package round

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/internal/upstream"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// merge has a collector that is a client train the model with its clients, and adds the
// sum of their updates to the aggregation.
func (f *fit) merge(asking, ctx context.Context, c *Client, part *audit.Part) (answer, error) {
	sums, merges := f.sums.(strategy.Merging)
	switch err := strategy.Merges(f.strategy); {
	case err != nil:
		return answer{}, fmt.Errorf("the client is a collector, whose sums the strategy does not take: %w", err)
	case !merges || f.config.Encryption != nil:
		return answer{}, errors.New("the client is a collector, whose sums the job does not take")
	}
	ins := f.ins
	ins.Config = upstream.Mark(ins.Config, f.start.Number)
	res, err := f.trainTimed(asking, c, ins)
	if err != nil {
		return answer{}, err
	}
	defer res.Release()
	part.Received(res)
	got := answer{bytes: length(res.Parameters)}
	if res.Parameters.Type != upstream.Type || len(res.Parameters.Tensors) == 0 {
		return got, fmt.Errorf("%w: a collector sent parameters of type %q, expected %q", strategy.ErrQuarantined,
			res.Parameters.Type, upstream.Type)
	}
	below, err := upstream.Decode(bytes.Join(res.Parameters.Tensors[0], nil))
	if err != nil {
		return got, fmt.Errorf("%w: %w", strategy.ErrQuarantined, err)
	}
	encoded, err := flower.Parameters{Tensors: res.Parameters.Tensors[1:]}.Bytes()
	if err != nil {
		return got, fmt.Errorf("%w: %w", strategy.ErrQuarantined, err)
	}
	partial := strategy.Partial{Client: c.Name(), Updates: int64(len(below.Reports)), Examples: below.Examples(), Sum: encoded}
	if err := sums.Merge(ctx, partial); err != nil {
		if ctx.Err() == nil && !errors.Is(err, strategy.ErrQuarantined) {
			err = &fatalError{fmt.Errorf("add the sum of %q: %w", c.Name(), err)}
		}
		return got, err
	}
	got.below = &below
	return got, nil
}

// measureBelow has a collector that is a client measure the model with its clients.
func measureBelow(ctx context.Context, number int, c *Client, ins flower.EvaluateIns) (answer, error) {
	ins.Config = upstream.Mark(ins.Config, number)
	res, err := c.Session.Evaluate(ctx, ins)
	if err != nil {
		return answer{}, err
	}
	data, _ := res.Metrics[upstream.Type].([]byte)
	below, err := upstream.Decode(data)
	if err == nil && len(below.Losses) != len(below.Reports) {
		err = fmt.Errorf("%w: there are %d losses of %d clients", upstream.ErrSummary, len(below.Losses), len(below.Reports))
	}
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", strategy.ErrQuarantined, err)
	}
	return answer{below: &below}, nil
}

// join adds what a collector reports of its clients. Their figures are kept for each of
// them: the weighted means then have the bits of a collector without others.
func (y *tally) join(c *Client, s upstream.Summary) {
	for i, r := range s.Reports {
		r.Path = under(c.Name(), r.Path)
		y.reports = append(y.reports, r)
		if s.Losses != nil {
			loss := map[string]any{"loss": s.Losses[i]}
			y.losses = append(y.losses, strategy.Report{Client: r.Client, Path: r.Path, Examples: r.Examples, Metrics: loss})
		}
	}
	for _, r := range s.Refusals {
		if len(y.Refused) < report.MaxQuarantined {
			y.Refused = append(y.Refused, report.Quarantine{
				Round: y.round, Client: excerpt.Client(under(c.Name(), r.Client)), Reason: excerpt.Cut(r.Reason, excerpt.MaxReason),
			})
		}
	}
	if y.Phase.Below == nil {
		y.Phase.Below = &report.Below{}
	}
	b := y.Phase.Below
	b.Collectors++
	b.Clients += s.Counts.Clients
	b.Results += int64(len(s.Reports))
	b.Failures += s.Counts.Failures
	b.Far += s.Counts.Far
	b.Refused += s.Counts.Refused
}

// under returns the name of something that has a name at a collector.
func under(collector, name string) string {
	if name == "" {
		return collector
	}
	return collector + "/" + name
}

// noteBelow says what is notable of the clients below, empty if nothing is.
func noteBelow(b *report.Below, phase strategy.Phase) string {
	if b == nil || b.Failures == 0 && b.Far == 0 && b.Refused == 0 {
		return ""
	}
	return fmt.Sprintf("%v: of %d clients behind %d collectors %d failed or were refused, and %d updates lay far from the model",
		phase, b.Clients, b.Collectors, b.Failures, b.Far)
}

// Collected is the result of a phase at a collector that is a client of another one.
type Collected struct {
	Result
	// Partial is the sum of a fit; its Sum is nil if there were too few updates, as the
	// last note says, and in an evaluation.
	Partial strategy.Partial
	// Summary is what the other one is sent.
	Summary upstream.Summary
}

// Collect has the drawn clients train the model, like Fit, and sums up their updates. The
// configuration is that of the instruction; it takes precedence over ClientConf.
func (c *Conductor) Collect(ctx context.Context, start Start, drawn Draw, config flower.Config,
	attempt *audit.Attempt) (*Collected, error) {
	whole := map[string]any{}
	maps.Copy(whole, c.config.ClientConf)
	maps.Copy(whole, config)
	begun, err := c.begin(start, c.spare)
	if err != nil {
		return nil, fmt.Errorf("begin the sum of round %d: %w", start.Number, err)
	}
	defer begun.Close()
	sums, merges := begun.(strategy.Merging)
	if !merges {
		return nil, fmt.Errorf("begin the sum of round %d: the strategy makes none", start.Number)
	}
	y, err := c.collect(ctx, start, drawn, whole, sums, attempt)
	if err != nil {
		return nil, err
	}
	made := &Collected{}
	err = c.policy.Accept(strategy.Fit, y.Phase.Results, y.Phase.Failures)
	if err == nil {
		made.Partial, err = sums.Sum(ctx)
	}
	if err != nil && !errors.Is(err, strategy.ErrTooFew) {
		return nil, persist.StoppedOr(ctx, fmt.Errorf("sum up round %d: %w", start.Number, err))
	}
	if err != nil {
		y.note("fit: no sum was sent: " + err.Error())
	}
	means, notes := strategy.MeanMetrics(y.reports)
	y.Metrics = bounded(means)
	y.Notes = append(y.Notes, notes...)
	made.Result, made.Summary = y.Result, y.summary()
	for _, v := range readVerdicts(c.strategy) {
		if v.Far {
			made.Summary.Counts.Far++
		}
	}
	return made, nil
}

func readVerdicts(made strategy.Strategy) []strategy.Verdict {
	if judging, ok := made.(audit.Judging); ok {
		return judging.Verdicts()
	}
	return nil
}

// Measure has clients measure a model, like Evaluate, for another collector. The error of
// too few answers matches [strategy.ErrTooFew].
func (c *Conductor) Measure(ctx context.Context, number int, model strategy.Model, drawn Draw, config flower.Config) (*Collected, error) {
	y, err := c.measure(ctx, number, model, drawn, config)
	if err != nil {
		return nil, err
	}
	if err := c.policy.Accept(strategy.Evaluate, y.Phase.Results, y.Phase.Failures); err != nil {
		return nil, err
	}
	losses, _ := strategy.MeanMetrics(y.losses)
	if loss, ok := bounded(losses)["loss"]; ok {
		y.Loss = &loss
	}
	means, notes := strategy.MeanMetrics(y.reports)
	y.Metrics = bounded(means)
	y.Notes = append(y.Notes, notes...)
	made := &Collected{Result: y.Result, Summary: y.summary()}
	for _, r := range y.losses {
		made.Summary.Losses = append(made.Summary.Losses, r.Metrics["loss"].(float64))
	}
	return made, nil
}

// Answer returns the answer to a fit instruction.
func (m *Collected) Answer() *flower.FitRes {
	data := m.Summary.Encode()
	p := flower.FromBytes(upstream.Type, m.Partial.Sum...)
	p.Tensors = append([]flower.Blob{{data}}, p.Tensors...)
	examples := min(m.Partial.Examples, strategy.MaxExamples) // for logs: the summary has the numbers
	return &flower.FitRes{Parameters: p, NumExamples: int64(examples), Metrics: flower.Config{}}
}

// Measured returns the answer to an evaluate instruction.
func (m *Collected) Measured() *flower.EvaluateRes {
	res := &flower.EvaluateRes{NumExamples: 1, Metrics: flower.Config{upstream.Type: m.Summary.Encode()}}
	res.NumExamples = int64(max(1, min(m.Summary.Examples(), strategy.MaxExamples)))
	if m.Loss != nil {
		res.Loss = float32(*m.Loss)
	}
	return res
}

// summary returns what another collector is sent of the answers.
func (y *tally) summary() upstream.Summary {
	s := upstream.Summary{Reports: y.reports}
	s.Counts = upstream.Counts{Clients: int64(y.Phase.Clients), Failures: int64(y.Phase.Failures), Refused: y.refusals}
	if b := y.Phase.Below; b != nil { // a collector is no client there
		s.Counts = upstream.Counts{
			Clients:  s.Counts.Clients - int64(b.Collectors) + b.Clients,
			Failures: s.Counts.Failures + b.Failures,
			Far:      b.Far,
			Refused:  y.refusals + b.Refused,
		}
	}
	for _, q := range y.Refused {
		s.Refusals = append(s.Refusals, upstream.Refusal{Client: q.Client, Reason: q.Reason})
	}
	return s
}

// Owned returns a copy of a model, whose memory may be that of a message.
func Owned(model strategy.Model) (strategy.Model, error) {
	made := make(strategy.Model, len(model))
	for i, layer := range model {
		var err error
		if made[i], err = tensor.New(layer.DType(), layer.Shape(), bytes.Join(layer.Chunks(), nil)); err != nil {
			return nil, err
		}
	}
	return made, nil
}
