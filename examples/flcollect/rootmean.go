package main

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// rootMean is an aggregation strategy of our own: the mean of the models
// weighted by the square root of their examples, so that a party with a
// hundred times as many decides ten times as much, and not a hundred times.
type rootMean struct{ policy strategy.Policy }

var _ strategy.Strategy = rootMean{}

// newRootMean takes the parameters of FedAvg, which set how many clients take
// part.
func newRootMean(conf strategy.Conf) (strategy.Strategy, error) {
	average, err := strategy.New("avg", conf)
	if err != nil {
		return nil, err
	}
	return rootMean{policy: average.Policy()}, nil
}

// Policy implements strategy.Strategy.
func (s rootMean) Policy() strategy.Policy { return s.policy }

// Configure implements strategy.Strategy: clients get no further settings.
func (rootMean) Configure(strategy.Phase, int, map[string]any) {}

// State implements strategy.Strategy: nothing is carried from round to round.
func (rootMean) State() []tensor.Tensor { return nil }

// Restore implements strategy.Strategy.
func (rootMean) Restore(state []tensor.Tensor) error {
	if len(state) > 0 {
		return fmt.Errorf("restore strategy: %d tensors, expected none", len(state))
	}
	return nil
}

// Begin implements strategy.Strategy.
func (rootMean) Begin(round strategy.Round) (strategy.Aggregation, error) {
	return &rootSum{round: round, sum: round.NewSum(), clients: map[string]bool{}}, nil
}

// rootSum is the aggregation of a round. The sum is exact and the weights are
// whole numbers, so the order in which clients answer cannot be seen.
type rootSum struct {
	round strategy.Round

	mu      sync.Mutex
	sum     *strategy.Sum
	clients map[string]bool
	weight  float64
	closed  bool
}

// Add implements strategy.Aggregation.
func (a *rootSum) Add(_ context.Context, update strategy.Update) error {
	if err := strategy.Check(update, a.round.Model); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return strategy.ErrClosed
	}
	if a.clients[update.Client] {
		return fmt.Errorf("add update of %q: %w: a second one in this round", update.Client, strategy.ErrQuarantined)
	}
	weight := math.Floor(math.Sqrt(float64(update.Examples)))
	if err := a.sum.Add(update.Model, weight); err != nil {
		return fmt.Errorf("add update of %q: %w: %w", update.Client, strategy.ErrQuarantined, err)
	}
	a.clients[update.Client] = true
	a.weight += weight
	return nil
}

// Finish implements strategy.Aggregation.
func (a *rootSum) Finish(context.Context) (strategy.Model, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, strategy.ErrClosed
	}
	a.closed = true
	if len(a.clients) == 0 {
		return nil, fmt.Errorf("finish round %d: %w", a.round.Number, strategy.ErrTooFew)
	}
	return a.sum.Mean(a.weight)
}

// Close implements strategy.Aggregation.
func (a *rootSum) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.sum.Release()
	return nil
}
