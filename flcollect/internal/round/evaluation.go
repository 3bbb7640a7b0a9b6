package round

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// errCutOff is the reason of a client whose evaluation was not waited for. It is no fault.
var errCutOff = errors.New("the evaluation was not waited for")

// Evaluation is the evaluation of a version by the clients whose updates it has.
type Evaluation struct {
	done   chan struct{} // closed once the fields below are set
	cut    chan struct{} // closed when no client is waited for any more
	cutOff func()
	result *Result
	late   int
	err    error
}

// Evaluate has the clients whose updates are part of the version that was made last
// measure it, those that are still connected, as many of them as the policy of the strategy
// samples. They are idle again when they have answered. It returns nil if there is no
// evaluation.
func (s *Stream) Evaluate(number int, model strategy.Model) *Evaluation {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.last == nil {
		return nil
	}
	clients := slices.DeleteFunc(slices.Clone(s.last.contributors), func(c *Client) bool { return c.left() || s.busy[c] })
	rand.Shuffle(len(clients), func(a, b int) { clients[a], clients[b] = clients[b], clients[a] })
	clients = clients[:min(len(clients), s.policy.Sample(strategy.Evaluate, len(clients)))]
	if len(clients) == 0 {
		return nil
	}
	config := map[string]any{}
	s.strategy.Configure(strategy.Evaluate, number, config)
	s.config.Local.announce(config)
	e := &Evaluation{done: make(chan struct{}), cut: make(chan struct{})}
	e.cutOff = sync.OnceFunc(func() { close(e.cut) })
	for _, c := range clients {
		s.busy[c] = true
	}
	s.group.Go(func() {
		defer close(e.done)
		e.run(s, number, model, clients, config)
	})
	return e
}

// run has clients measure a version, and sums up what they answer.
func (e *Evaluation) run(s *Stream, number int, model strategy.Model, clients []*Client, config map[string]any) {
	ins := flower.EvaluateIns{Parameters: s.config.Encryption.Encode(model), Config: config}
	y, err := s.ask(s.life, number, strategy.Evaluate, clients, ins.Parameters, func(_ context.Context, i int) (answer, error) {
		return e.measure(s, number, clients[i], ins)
	})
	if err != nil {
		e.err = err
		return
	}
	s.summarize(y)
	e.result, e.late = &y.Result, y.cut
}

// measure has a client measure a version. Where the evaluation is cut off, the client goes
// on, and its answer counts no more.
func (e *Evaluation) measure(s *Stream, number int, c *Client, ins flower.EvaluateIns) (answer, error) {
	type outcome struct {
		got answer
		err error
	}
	answered := make(chan outcome, 1)
	s.group.Go(func() {
		ctx, cancel := within(s.life, s.config.Timeout)
		defer cancel()
		got, err := measureAt(ctx, number, c, ins)
		answered <- outcome{got, err}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.busy, c)
		s.fillLocked()
		s.signalLocked()
	})
	select {
	case o := <-answered:
		return o.got, o.err
	case <-e.cut:
		return answer{}, errCutOff
	}
}

// Done is closed once all clients have answered or the evaluation is cut off. It is closed
// for nil.
func (e *Evaluation) Done() <-chan struct{} {
	if e == nil {
		done := make(chan struct{})
		close(done)
		return done
	}
	return e.done
}

// CutOff has the evaluation end with the answers that there are.
func (e *Evaluation) CutOff() {
	if e != nil {
		e.cutOff()
	}
}

// Result waits for the result of the evaluation, and returns it with the number of clients
// that were cut off.
func (e *Evaluation) Result() (*Result, int, error) {
	if e == nil {
		return &Result{}, 0, nil
	}
	<-e.done
	return e.result, e.late, e.err
}
