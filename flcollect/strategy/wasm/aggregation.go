package wasm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

// aggregation is the aggregation of a round by a module.
type aggregation struct {
	strategy *Strategy
	guest    *guest
	life     context.Context // ends with Close
	end      context.CancelCauseFunc
	busy     chan struct{} // holds a token while the guest is used

	// The holder of the token may use the fields below.
	spill  *strategy.Spill // nil if the module takes each update as it arrives
	taken  []arrival       // of the updates
	names  map[string]bool // of the clients
	broken error           // ends the round
	closed bool

	once sync.Once
	gone error // of the first Close
}

// arrival is an update without its model.
type arrival struct {
	client   string
	examples int64
	metrics  map[string]float64
}

// Begin implements strategy.Strategy.
func (s *Strategy) Begin(round strategy.Round) (strategy.Aggregation, error) {
	s.mu.Lock()
	state, trouble := s.state, s.trouble
	s.trouble = nil
	s.mu.Unlock()
	if trouble != nil {
		return nil, trouble
	}
	a := &aggregation{strategy: s, busy: make(chan struct{}, 1), names: map[string]bool{}}
	a.life, a.end = context.WithCancelCause(context.Background())
	a.guest = &guest{strategy: s, round: round, state: state}
	err := s.module.start(a.life, a.guest)
	if err == nil && a.guest.has("fl_begin") {
		_, _, err = a.guest.call(a.life, duringBegin, "fl_begin")
	}
	if err == nil && s.gather {
		a.spill, err = strategy.NewSpill(round)
	}
	if err != nil {
		return nil, errors.Join(s.failed("begin a round with", err), a.Close())
	}
	return a, nil
}

// enter acquires the token and returns the context for a call of the guest.
func (a *aggregation) enter(ctx context.Context) (context.Context, func(), error) {
	select {
	case a.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case <-a.life.Done():
		return nil, nil, strategy.ErrClosed
	}
	if a.closed || a.life.Err() != nil {
		<-a.busy
		return nil, nil, strategy.ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(a.life, func() { cancel(strategy.ErrClosed) })
	return ctx, func() { stop(); cancel(nil); <-a.busy }, a.broken
}

// Add implements strategy.Aggregation.
func (a *aggregation) Add(ctx context.Context, update strategy.Update) error {
	if err := strategy.Check(update, a.guest.round.Model); err != nil {
		return err
	}
	ctx, leave, err := a.enter(ctx)
	if leave != nil {
		defer leave()
	}
	if err != nil {
		return err
	}
	if a.names[update.Client] {
		return refused(update.Client, errors.New("the client has sent an update in this round"))
	}
	if a.spill != nil {
		err = a.spill.Add(ctx, update)
	} else {
		err = a.fold(ctx, update)
	}
	if err != nil {
		return err
	}
	a.names[update.Client] = true
	a.taken = append(a.taken, newArrival(update))
	return nil
}

// fold passes an update to the module.
func (a *aggregation) fold(ctx context.Context, update strategy.Update) error {
	if err := finite(update); err != nil {
		return err
	}
	a.guest.updates = updates{arrivals: []arrival{newArrival(update)}, current: update.Model}
	defer func() { a.guest.updates = updates{} }()
	answer, reason, err := a.guest.call(ctx, duringAdd, "fl_add")
	if err != nil {
		a.broken = a.strategy.failed("add an update of "+fmt.Sprintf("%q", update.Client)+" with", err)
		return a.broken
	}
	if answer == answerRefuse {
		return refused(update.Client, errors.New(reason))
	}
	return nil
}

// Finish implements strategy.Aggregation.
func (a *aggregation) Finish(ctx context.Context) (strategy.Model, error) {
	ctx, leave, err := a.enter(ctx)
	if leave != nil {
		defer leave()
	}
	if err != nil {
		return nil, err
	}
	a.closed = true
	if len(a.taken) == 0 {
		return nil, a.strategy.failed("finish the round with", fmt.Errorf("%w: there is none", strategy.ErrTooFew))
	}
	g := a.guest
	if a.spill != nil {
		if _, err := a.spill.Seal(); err != nil {
			return nil, err
		}
		slices.SortFunc(a.taken, func(x, y arrival) int { return strings.Compare(x.client, y.client) })
		g.updates = updates{arrivals: a.taken, spill: a.spill}
	}
	g.result = newResult(g.round.Model)
	answer, reason, err := g.call(ctx, duringFinish, "fl_finish")
	if err == nil && answer == answerRefuse {
		err = fmt.Errorf("%w: %s", strategy.ErrTooFew, reason)
	}
	var model strategy.Model
	if err == nil {
		model, err = g.result.model()
	}
	if err != nil {
		return nil, a.strategy.failed("finish the round with", err)
	}
	if g.wrote {
		a.strategy.keep(g.next)
	}
	return model, nil
}

func (s *Strategy) keep(state []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
}

// Close implements strategy.Aggregation.
func (a *aggregation) Close() error {
	a.once.Do(func() {
		a.end(strategy.ErrClosed)
		a.busy <- struct{}{} // the running call has been cancelled
		defer func() { <-a.busy }()
		a.closed = true
		a.guest.close()
		if a.spill != nil {
			a.gone = a.spill.Close()
		}
	})
	return a.gone
}

func newArrival(update strategy.Update) arrival {
	kept := arrival{client: update.Client, examples: update.Examples, metrics: map[string]float64{}}
	for name, metric := range update.Metrics {
		if v, ok := strategy.Number(metric); ok {
			kept.metrics[name] = v
		}
	}
	return kept
}

// refused returns the error of a bad update.
func refused(client string, reason error) error {
	return fmt.Errorf("add update of %q: %w: %w", client, strategy.ErrQuarantined, reason)
}

// finite returns the error of an update with a number that is not finite.
func finite(update strategy.Update) error {
	var values [1024]float64
	for i, t := range update.Model {
		for from := 0; from < t.Len(); from += len(values) {
			part := values[:min(len(values), t.Len()-from)]
			t.ReadFloat64s(part, from)
			for k, v := range part {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return refused(update.Client, fmt.Errorf("tensor %d: element %d is %v", i, from+k, v))
				}
			}
		}
	}
	return nil
}
