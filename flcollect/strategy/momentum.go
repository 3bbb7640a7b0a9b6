package strategy

import (
	"context"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// momentum is FedAvgM: the mean as a gradient step with momentum (Hsu and others
// 2019, arXiv 1909.06335). With rate 1 and share 0 it is FedAvg.
type momentum struct {
	policy      Policy
	rate, share float64
	velocity    moments
}

// Policy implements [Strategy].
func (m *momentum) Policy() Policy { return m.policy }

// Configure implements [Strategy].
func (*momentum) Configure(Phase, int, map[string]any) {}

// State implements [Strategy].
func (m *momentum) State() []tensor.Tensor { return m.velocity.state() }

// Restore implements [Strategy].
func (m *momentum) Restore(state []tensor.Tensor) error {
	restored, err := restoreMoments(state, 1)
	if err == nil {
		m.velocity = restored[0]
	}
	return err
}

// Begin implements [Strategy].
func (m *momentum) Begin(round Round) (Aggregation, error) {
	if m.rate == 1 && m.share == 0 {
		return newWeightedMean(round, nil), nil
	}
	velocity, err := m.velocity.of(round.Model)
	if err != nil {
		return nil, err
	}
	var before [4096]float64
	step := func(values []float64, layer, from int) {
		x := before[:len(values)]
		round.Model[layer].ReadFloat64s(x, from)
		v := velocity[layer][from : from+len(values)]
		for i := range values {
			v[i] = m.share*v[i] + (x[i] - values[i])
			values[i] = x[i] - m.rate*v[i]
		}
	}
	return stepping{newWeightedMean(round, step), func() { m.velocity = velocity }}, nil
}

// stepping is a mean whose step changes the state for the next round.
type stepping struct {
	*weightedMean
	keep func()
}

// Finish implements [Aggregation].
func (s stepping) Finish(ctx context.Context) (Model, error) {
	model, err := s.weightedMean.Finish(ctx)
	if err == nil {
		s.keep()
	}
	return model, err
}
