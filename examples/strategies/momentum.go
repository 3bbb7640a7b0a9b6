package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// momentum is server momentum in Go: the model moves on by what the mean of the
// clients moves it, and by a share of how it moved in the round before.
type momentum struct {
	policy strategy.Policy
	share  float64

	mu       sync.Mutex
	velocity []tensor.Tensor // nil before the first round
}

var _ strategy.Strategy = (*momentum)(nil)

// newMomentum returns one with the parameters of a job: "momentum", and those of
// FedAvg, which set how many clients take part.
func newMomentum(conf strategy.Conf) (strategy.Strategy, error) {
	share := 0.9
	if given := conf["momentum"]; given != nil {
		var err error
		if share, err = strconv.ParseFloat(fmt.Sprint(given), 64); err != nil || share < 0 || share >= 1 {
			return nil, &strategy.FieldError{Strategy: "momentum", Field: "momentum", Reason: "has to be a number from 0 up to 1"}
		}
		delete(conf, "momentum")
	}
	average, err := strategy.New("FedAvg", conf)
	if err != nil {
		return nil, err
	}
	return &momentum{policy: average.Policy(), share: share}, nil
}

// Policy implements strategy.Strategy.
func (m *momentum) Policy() strategy.Policy { return m.policy }

// Configure implements strategy.Strategy: clients get no further settings.
func (m *momentum) Configure(strategy.Phase, int, map[string]any) {}

// State implements strategy.Strategy. It is stored with each round, so a job that
// goes on after a crash has it.
func (m *momentum) State() []tensor.Tensor {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.velocity)
}

// Restore implements strategy.Strategy.
func (m *momentum) Restore(state []tensor.Tensor) error {
	for i, t := range state {
		if t.DType() != tensor.Float64 {
			return fmt.Errorf("restore strategy: tensor %d is of %v", i, t.DType())
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.velocity = slices.Clone(state)
	return nil
}

// Begin implements strategy.Strategy. The mean is that of FedAvg, which is exact
// and checks the updates.
func (m *momentum) Begin(round strategy.Round) (strategy.Aggregation, error) {
	average, err := strategy.New("FedAvg", nil)
	if err != nil {
		return nil, err
	}
	mean, err := average.Begin(round)
	if err != nil {
		return nil, err
	}
	return &step{Aggregation: mean, strategy: m, model: round.Model}, nil
}

// step is the aggregation of a round.
type step struct {
	strategy.Aggregation
	strategy *momentum
	model    strategy.Model
}

// Finish implements strategy.Aggregation.
func (s *step) Finish(ctx context.Context) (strategy.Model, error) {
	mean, err := s.Aggregation.Finish(ctx)
	if err != nil {
		return nil, err
	}
	m := s.strategy
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.velocity != nil && len(m.velocity) != len(mean) {
		return nil, fmt.Errorf("finish the round: %d tensors of a model of %d move", len(m.velocity), len(mean))
	}
	velocity, moved := make([]tensor.Tensor, len(mean)), make(strategy.Model, len(mean))
	for i, t := range mean {
		next, before, change := t.Float64s(), s.model[i].Float64s(), make([]float64, t.Len())
		if m.velocity != nil {
			if m.velocity[i].Len() != t.Len() {
				return nil, fmt.Errorf("finish the round: %d elements of tensor %d of %d move",
					m.velocity[i].Len(), i, t.Len())
			}
			change = m.velocity[i].Float64s()
		}
		for k := range next {
			change[k] = m.share*change[k] + next[k] - before[k]
			next[k] = before[k] + change[k]
		}
		velocity[i] = tensor.FromFloat64s(change)
		made := tensor.NewBuilder(t.DType(), t.Shape())
		made.Write(next, 0)
		moved[i] = made.Tensor()
	}
	m.velocity = velocity
	return moved, nil
}
