package round

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/record"
	"github.com/iotenablers/enablers/flcollect/secagg"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/internal/tracing"
)

// Exchanger is a [Session] whose client answers messages with records, as the ClientApp
// of a SuperNode does. Other clients cannot take part in secure aggregation. It is safe
// for concurrent use.
type Exchanger interface {
	// Node returns the number of the client, by which the others know it. It is unique
	// in a job, and stays the same while the session lasts.
	Node() uint64
	// Exchange sends records in a message of a type, such as [record.Train], and returns
	// those of the answer, which must not be changed, nor used once they were released.
	// Without an error they must be. It returns soon after the context or the session
	// ends. The error of a ClientApp that failed matches a *[record.Error].
	Exchange(ctx context.Context, messageType string, content record.Dict) (answer record.Dict, release func(), err error)
}

// Masks reports whether a client can take part in secure aggregation.
func Masks(c *Client) bool {
	_, able := c.Session.(Exchanger)
	return able
}

// The records in which Flower's clients with fit functions are instructed and answer.
const (
	fitParameters = "fitins.parameters"
	fitConfig     = "fitins.config"
	fitExamples   = "fitres.num_examples"
	fitMetrics    = "fitres.metrics"
	fitStatus     = "fitres.status"
)

// fitIns returns an instruction as records. The model is prepared once for all clients.
func fitIns(ins flower.FitIns) (record.Dict, error) {
	model, err := record.Prepare(record.FromParameters(ins.Parameters))
	if err != nil {
		return nil, err
	}
	return record.Dict{{Name: fitParameters, Value: model}, {Name: fitConfig, Value: record.FromConfig(ins.Config)}}, nil
}

// exchange sends each client the values of a stage, see [secagg.Exchange].
func (m *masked) exchange(ctx context.Context, stage secagg.Stage, requests map[uint64]secagg.Values,
	reply func(client uint64, answer secagg.Values, err error)) error {
	if stage == secagg.StageCollect {
		m.tally.Phase.Sent = m.model * int64(len(requests))
	}
	var group sync.WaitGroup
	for id, request := range requests {
		group.Go(func() {
			c := m.members[id]
			calling, span := m.config.Tracer.Start(ctx, string(stage), tracing.Client)
			if span.On() {
				span.Text("client.address", c.Peer.Addr)
				span.Text("flower.client", excerpt.Client(c.Name()))
			}
			err := m.ask(calling, stage, c, request, func(answer secagg.Values) { reply(id, answer, nil) })
			span.Fail(err)
			span.End()
			if err != nil {
				reply(id, nil, err)
			}
		})
	}
	group.Wait()
	return nil
}

// ask sends a client the values of a stage and passes those of its answer on.
func (m *masked) ask(ctx context.Context, stage secagg.Stage, c *member, request secagg.Values, reply func(secagg.Values)) error {
	content := record.Dict{{Name: secagg.Record, Value: record.FromConfig(flower.Config(request))}}
	if stage == secagg.StageCollect {
		content = append(content, m.fitins...)
	}
	answer, release, err := c.session.Exchange(ctx, record.Train, content)
	var failed *record.Error
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return flower.ErrTimeout
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &failed) && stage == secagg.StageSetup:
		return fmt.Errorf("%w; is secaggplus_mod among the mods of its ClientApp?", err)
	case err != nil:
		return err
	}
	defer release()
	config, there := answer.Config(secagg.Record)
	if !there {
		return fmt.Errorf("the answer has no record %q; is secaggplus_mod among the mods of its ClientApp?", secagg.Record)
	}
	values := make(secagg.Values, len(config))
	for _, v := range config {
		values[v.Name] = v.Value
		if stage != secagg.StageCollect { // they are kept, and their memory is released
			values[v.Name] = owned(v.Value)
		}
	}
	if stage == secagg.StageCollect {
		if err := m.received(c, answer, secagg.Masked(values)); err != nil {
			return err
		}
	}
	reply(values)
	return nil
}

// owned returns a value in memory of its own.
func owned(value any) any {
	switch v := value.(type) {
	case []byte:
		return bytes.Clone(v)
	case [][]byte:
		own := make([][]byte, len(v))
		for i, data := range v {
			own[i] = bytes.Clone(data)
		}
		return own
	case string:
		return strings.Clone(v)
	}
	return value
}

// received notes what a client sent beside its masked vector, and the vector's digest.
func (m *masked) received(c *member, answer record.Dict, vector [][]byte) error {
	p := flower.Parameters{Tensors: make([]flower.Blob, len(vector))}
	for i, data := range vector {
		p.Tensors[i] = flower.Blob{data}
	}
	report, odd := reported(c.Client, answer)
	c.part.Received(&flower.FitRes{Parameters: p, NumExamples: report.Examples})
	m.tally.mu.Lock()
	defer m.tally.mu.Unlock()
	m.tally.Phase.Received += length(p)
	c.report, c.odd = report, odd
	status, _ := answer.Config(fitStatus)
	if code, _ := status.Get("code"); code != nil && code != int64(0) && code != uint64(0) {
		message, _ := status.Get("message")
		return fmt.Errorf("the client answered with the status %v: %v", code, message)
	}
	return nil
}

// reported reads the number of examples and the metrics that a client sent. The error says
// why they are not used.
func reported(c *Client, answer record.Dict) (strategy.Report, error) {
	report := strategy.Report{Client: c.Name()}
	numbers, _ := answer.Metrics(fitExamples)
	switch n, _ := numbers.Get("num_examples"); n := n.(type) {
	case int64:
		report.Examples = n
	case uint64:
		report.Examples = int64(min(n, strategy.MaxExamples+1))
	}
	if report.Examples < 1 || report.Examples > strategy.MaxExamples {
		return report, fmt.Errorf("its metrics are not used: num_examples is %d, must be 1 to %d",
			report.Examples, int64(strategy.MaxExamples))
	}
	config, _ := answer.Config(fitMetrics)
	scalars, _ := config.Scalars()
	metrics, err := averageable(scalars)
	if err != nil {
		return report, fmt.Errorf("its metrics are not used: %w", err)
	}
	report.Metrics = metrics
	return report, nil
}
