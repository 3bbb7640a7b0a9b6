package round

import (
	"context"
	"fmt"
	"math"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// Evaluate has clients measure a model. The result is empty if the policy of the strategy
// has no evaluation.
func (c *Conductor) Evaluate(ctx context.Context, number int, model strategy.Model) (*Result, error) {
	if c.policy.Sample(strategy.Evaluate, 1) == 0 {
		return &Result{}, nil
	}
	drawn, err := c.Gather(ctx, strategy.Evaluate, number)
	if err != nil {
		return nil, err
	}
	clients := drawn.Clients
	if len(clients) == 0 {
		return &Result{}, nil
	}
	config := map[string]any{}
	c.strategy.Configure(strategy.Evaluate, number, config)
	c.config.Local.announce(config)
	y, err := c.measure(ctx, number, model, drawn, config)
	if err != nil {
		return nil, err
	}
	c.summarize(y)
	return &y.Result, nil
}

// summarize computes the loss and the metrics of an evaluation, if it has enough answers.
func (c *Conductor) summarize(y *tally) {
	if err := c.policy.Accept(strategy.Evaluate, y.Phase.Results, y.Phase.Failures); err != nil {
		y.note(err.Error())
		return
	}
	losses, _ := strategy.MeanMetrics(y.losses)
	if loss, ok := bounded(losses)["loss"]; ok {
		y.Loss = &loss
	}
	means, notes := strategy.MeanMetrics(y.reports)
	y.Metrics = bounded(means)
	y.Notes = append(y.Notes, notes...)
}

// measure has the drawn clients measure a model.
func (c *Conductor) measure(ctx context.Context, number int, model strategy.Model, drawn Draw, config map[string]any) (*tally, error) {
	clients := drawn.Clients
	ins := flower.EvaluateIns{Parameters: c.config.Encryption.Encode(model), Config: config}
	y, err := c.ask(ctx, number, strategy.Evaluate, clients, ins.Parameters, func(asking context.Context, i int) (answer, error) {
		return measureAt(asking, number, clients[i], ins)
	})
	if err != nil {
		return nil, err
	}
	y.note(drawn.Note)
	y.note(noteBelow(y.Phase.Below, strategy.Evaluate))
	return y, nil
}

// measureAt has a client measure a model.
func measureAt(ctx context.Context, number int, c *Client, ins flower.EvaluateIns) (answer, error) {
	if c.Edge() {
		return measureBelow(ctx, number, c, ins)
	}
	res, err := c.Session.Evaluate(ctx, ins)
	if err != nil {
		return answer{}, err
	}
	return measured(c, res)
}

// measured checks the answer of a client.
func measured(c *Client, res *flower.EvaluateRes) (answer, error) {
	loss := float64(res.Loss)
	switch {
	case math.IsNaN(loss) || math.IsInf(loss, 0):
		return answer{}, fmt.Errorf("%w: the loss is %v", strategy.ErrQuarantined, loss)
	case res.NumExamples < 1 || res.NumExamples > strategy.MaxExamples:
		return answer{}, fmt.Errorf("%w: num_examples is %d, must be 1 to %d",
			strategy.ErrQuarantined, res.NumExamples, int64(strategy.MaxExamples))
	}
	metrics, err := averageable(res.Metrics)
	if err != nil {
		return answer{}, err
	}
	report := strategy.Report{Client: c.Name(), Examples: res.NumExamples, Metrics: metrics}
	return answer{report: report, loss: &loss}, nil
}
