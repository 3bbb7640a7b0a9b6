package strategy

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// mean is FedAvg: the mean of the models, weighted by their examples (McMahan
// and others 2017, arXiv 1602.05629). With another policy it is
// FaultTolerantFedAvg.
type mean struct{ policy Policy }

// Policy implements [Strategy].
func (m mean) Policy() Policy { return m.policy }

// Configure implements [Strategy].
func (mean) Configure(Phase, int, map[string]any) {}

// State implements [Strategy].
func (mean) State() []tensor.Tensor { return nil }

// Restore implements [Strategy].
func (mean) Restore(state []tensor.Tensor) error { return noState(state) }

// Begin implements [Strategy].
func (mean) Begin(round Round) (Aggregation, error) { return newWeightedMean(round, nil), nil }

func noState(state []tensor.Tensor) error {
	if len(state) > 0 {
		return fmt.Errorf("restore strategy: %d tensors, the strategy keeps none", len(state))
	}
	return nil
}

// prox is FedProx: FedAvg with a proximal term in the configuration of clients,
// which keeps them near the model of the round (Li and others 2018, arXiv
// 1812.06127).
type prox struct {
	mean
	mu float64
}

// Configure implements [Strategy].
func (p prox) Configure(phase Phase, _ int, config map[string]any) {
	if phase == Fit {
		config["proximal_mu"] = p.mu
	}
}

// weightedMean aggregates the weighted mean. Its step, if any, turns values of the
// mean into those of the new model.
type weightedMean struct {
	roster roster
	round  Round
	step   func(values []float64, layer, from int)

	mu     sync.Mutex
	sum    *Sum   // nil once closed
	weight uint64 // exact for 2^23 clients of the most examples

	updates int64 // of clients, also those in sums
}

func newWeightedMean(round Round, step func(values []float64, layer, from int)) *weightedMean {
	return &weightedMean{round: round, step: step, sum: round.NewSum()}
}

// Add implements [Aggregation].
func (m *weightedMean) Add(_ context.Context, update Update) error {
	return m.add(update, func(sum *Sum, factor float64) error { return sum.Add(update.Model, factor) })
}

// addMeasured implements measuring.
func (m *weightedMean) addMeasured(_ context.Context, update Update, counters []bool) (far lengths, err error) {
	err = m.add(update, func(sum *Sum, factor float64) (err error) {
		far, err = sum.addMeasured(update.Model, factor, m.round.Model, counters)
		return err
	})
	return far, err
}

// add adds an update with a function that is given the sum and the weight.
func (m *weightedMean) add(update Update, add func(sum *Sum, factor float64) error) error {
	if err := Check(update, m.round.Model); err != nil {
		return err
	}
	if err := m.roster.enter(update.Client); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sum == nil {
		return ErrClosed
	}
	if err := add(m.sum, float64(update.Examples)); err != nil {
		m.roster.leave(update.Client)
		if errors.Is(err, errEndless) { // the model of the round is to blame
			return fmt.Errorf("add update of %q: %w", update.Client, err)
		}
		return refuse(update.Client, "%w", err)
	}
	m.weight += uint64(update.Examples)
	m.updates++
	return nil
}

// Finish implements [Aggregation].
func (m *weightedMean) Finish(context.Context) (Model, error) {
	count, first := m.roster.close()
	if !first {
		return nil, ErrClosed
	}
	if count == 0 {
		return nil, fmt.Errorf("finish round %d: %w: there is none", m.round.Number, ErrTooFew)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sum == nil {
		return nil, ErrClosed
	}
	if m.step == nil {
		return m.sum.Mean(float64(m.weight))
	}
	return Map(m.round.Model, func(values []float64, layer, from int) {
		m.sum.Read(values, layer, from)
		for i := range values {
			values[i] /= float64(m.weight)
		}
		m.step(values, layer, from)
	}), nil
}

// Close implements [Aggregation].
func (m *weightedMean) Close() error {
	m.roster.close()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sum != nil {
		m.sum.Release()
	}
	m.sum = nil
	return nil
}
