package supernode

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/record"
)

// Member is the place of a node in a run. It is safe for concurrent use; a node works on
// one message at a time, and the others wait. Make one with [Run.Join].
//
// The context of a method bounds the wait for the answer. When it ends, the message is
// withdrawn and the member stays: what the node still sends of its answer is dropped.
type Member struct {
	run  *Run
	node *Node
	ctx  context.Context
	end  context.CancelCauseFunc
}

// Node returns the node.
func (m *Member) Node() *Node { return m.node }

// Done is closed when the member has left: by [Member.Leave], or since the node is gone
// or the run is closed.
func (m *Member) Done() <-chan struct{} { return m.ctx.Done() }

// Err returns why the member has left, or nil before.
func (m *Member) Err() error { return context.Cause(m.ctx) }

// Leave ends the node's part in the run. Its messages fail. The node stays active.
func (m *Member) Leave() {
	m.end(fmt.Errorf("%w: it has left the run", flower.ErrGone))
	m.forget()
}

// Reconnect is [Member.Leave]: a SuperNode stays connected for other runs, whatever the
// seconds. It is what a session of package flower has at the end of a job.
func (m *Member) Reconnect(context.Context, int64) error {
	m.Leave()
	return nil
}

// forget removes the member from its run.
func (m *Member) forget() {
	m.run.s.mu.Lock()
	defer m.run.s.mu.Unlock()
	if m.run.members[m.node.id] == m {
		delete(m.run.members, m.node.id)
	}
}

// Reply is the answer to an exchange.
type Reply struct {
	// Content holds the records. The data of its arrays refers to received memory.
	Content record.Dict
	// Metadata is that of the message.
	Metadata record.Metadata

	release func()
}

// Release frees the memory of the reply. Its arrays must not be used afterwards. Every
// reply must be released, or others are not admitted. A second call does nothing.
func (r *Reply) Release() {
	if r.release != nil {
		r.release()
		r.release = nil
	}
}

// Exchange sends a message and returns its answer, which must be released. The type is
// [record.Train], [record.Evaluate] or [record.Query], or one with an action, such as
// "query.shapes". A failure of the app is a [*record.Error]; [ErrLost] means that the
// SuperNode does not get as far as an answer.
func (m *Member) Exchange(ctx context.Context, messageType string, content record.Dict) (*Reply, error) {
	got, err := m.exchange(ctx, messageType, content, 0)
	if err != nil {
		return nil, m.failed(messageType, err)
	}
	return got, nil
}

// exchange sends a message whose answer has about as many bytes as expected.
func (m *Member) exchange(ctx context.Context, messageType string, content record.Dict, expect int64) (*Reply, error) {
	message := record.Message{Content: content, Metadata: record.Metadata{
		RunID: m.run.config.ID, Source: record.ServerNode, Destination: m.node.id,
		TTL: m.run.s.config.TTL.Seconds(), Type: messageType,
		CreatedAt: float64(time.Now().UnixMicro()) / 1e6,
	}}
	if round := m.run.round.Load(); round != 0 {
		message.Metadata.GroupID = strconv.FormatInt(round, 10)
	}
	d, err := newDispatch(m.run, message, expect)
	if err != nil {
		return nil, err
	}
	if err := m.node.send(d); err != nil {
		return nil, err
	}
	got, err := m.node.wait(ctx, d, m.ctx.Done(), m.Err)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w: %w", flower.ErrTimeout, err)
		}
		return nil, err
	}
	answer, err := got.read()
	if err == nil && answer.Error != nil {
		err = m.hint(answer.Error)
	}
	if err != nil {
		got.release()
		return nil, err
	}
	return &Reply{answer.Content, answer.Metadata, got.release}, nil
}

// hint adds to the error of an app what may be wrong with the run.
func (m *Member) hint(of *record.Error) error {
	switch {
	case m.run.config.Records == Arrays && strings.Contains(of.Reason, "fitins."),
		m.run.config.Records == Arrays && strings.Contains(of.Reason, "evaluateins."):
		return fmt.Errorf("%w; the app has a client_fn, so the job's records must be %q", of, FitIns)
	case m.run.config.Records == FitIns && strings.Contains(of.Reason, "KeyError: 'arrays'"):
		return fmt.Errorf("%w; the app uses the Message API, so the job's records must be %q", of, Arrays)
	}
	return of
}

// failed names the member in an error.
func (m *Member) failed(verb string, err error) error {
	return fmt.Errorf("%s at %q: %w", verb, m.node.String(), err)
}

// Fit has the node train, and returns the answer, which must be released.
//
// With [Arrays], the answer has one ArrayRecord with the layers of the run, and one
// MetricRecord with "num-examples"; the other metrics are those of the answer, lists aside,
// which are left out and logged. With [FitIns], an answer whose status is not OK is a
// [*flower.StatusError].
func (m *Member) Fit(ctx context.Context, ins flower.FitIns) (*flower.FitRes, error) {
	got, err := m.instruct(ctx, record.Train, "fitins", ins.Parameters, ins.Config, true)
	if err == nil {
		var res *flower.FitRes
		if res, err = m.run.fitRes(got.Content); err == nil {
			res.OnRelease(got.Release)
			return res, nil
		}
		got.Release()
	}
	return nil, m.failed("fit", err)
}

// Evaluate has the node measure a model.
//
// With [Arrays], the answer has one MetricRecord with "num-examples" and the loss, under
// the name "eval_loss", "eval-loss", "loss", "test_loss" or "val_loss"; the first that it
// has counts, and the other metrics are those of the answer.
func (m *Member) Evaluate(ctx context.Context, ins flower.EvaluateIns) (*flower.EvaluateRes, error) {
	got, err := m.instruct(ctx, record.Evaluate, "evaluateins", ins.Parameters, ins.Config, false)
	if err == nil {
		defer got.Release()
		var res *flower.EvaluateRes
		if res, err = m.run.evaluateRes(got.Content); err == nil {
			return res, nil
		}
	}
	return nil, m.failed("evaluate", err)
}

// instruct sends an instruction with a model.
func (m *Member) instruct(
	ctx context.Context, kind, prefix string, p flower.Parameters, config flower.Config, trains bool,
) (*Reply, error) {
	model, size, release, err := m.run.model(p)
	if err != nil {
		return nil, err
	}
	defer release()
	expect := int64(0)
	if trains {
		expect = size + size/64
	}
	return m.exchange(ctx, kind, m.run.instruction(prefix, model, config), expect)
}

// Parameters requests the client's model, which must be released. The Message API has no
// such call, so it is an error with [Arrays].
func (m *Member) Parameters(ctx context.Context, ins flower.GetParametersIns) (*flower.ParametersRes, error) {
	if m.run.config.Records == Arrays {
		return nil, m.failed("get parameters", errors.New("the Message API has no get_parameters; give the job an initial model"))
	}
	got, err := m.exchange(ctx, record.GetParameters,
		record.Dict{{Name: "getparametersins.config", Value: record.FromConfig(ins.Config)}}, leastAnswer)
	if err == nil {
		var res *flower.ParametersRes
		if res, err = parametersRes(got.Content); err == nil {
			res.OnRelease(got.Release)
			return res, nil
		}
		got.Release()
	}
	return nil, m.failed("get parameters", err)
}
