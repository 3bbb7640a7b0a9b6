package strategy

import (
	"context"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// robust is a strategy whose rule uses all updates of a round at once.
type robust struct {
	policy Policy
	rule   rule
}

// rule computes the new model of the sealed updates of a round.
type rule interface {
	// least returns how many updates the rule needs.
	least() int
	// aggregate writes the new values of every element.
	aggregate(ctx context.Context, s *Spill, count int, set func(values []float64, layer, from int)) error
}

// Policy implements [Strategy].
func (r robust) Policy() Policy { return r.policy }

// Configure implements [Strategy].
func (robust) Configure(Phase, int, map[string]any) {}

// State implements [Strategy].
func (robust) State() []tensor.Tensor { return nil }

// Restore implements [Strategy].
func (robust) Restore(state []tensor.Tensor) error { return noState(state) }

// Begin implements [Strategy].
func (r robust) Begin(round Round) (Aggregation, error) {
	spill, err := NewSpill(round)
	if err != nil {
		return nil, err
	}
	return robustly{rule: r.rule, round: round, Spill: spill}, nil
}

// robustly is the aggregation of a round with such a rule.
type robustly struct {
	*Spill
	rule  rule
	round Round
}

// Finish implements [Aggregation].
func (r robustly) Finish(ctx context.Context) (Model, error) {
	count, err := r.Seal()
	if err != nil {
		return nil, err
	}
	if least := max(r.rule.least(), 1); count < least {
		return nil, fmt.Errorf("finish round %d: %w: %d, the rule needs %d", r.round.Number, ErrTooFew, count, least)
	}
	builders := make([]*tensor.Builder, len(r.round.Model))
	for i, t := range r.round.Model {
		builders[i] = tensor.NewBuilder(t.DType(), t.Shape())
	}
	set := func(values []float64, layer, from int) { builders[layer].Write(values, from) }
	if err := r.rule.aggregate(ctx, r.Spill, count, set); err != nil {
		return nil, fmt.Errorf("finish round %d: %w", r.round.Number, err)
	}
	model := make(Model, len(builders))
	for i, b := range builders {
		model[i] = b.Tensor()
	}
	return model, nil
}

// numbers returns 0 to n-1.
func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Compares reports whether a strategy compares the updates of a round with each other
// or weighs them by metrics, so that the mean of the updates is not enough for it. It
// is correct for the built-in strategies; for others, and for those around another one,
// it is false.
func Compares(s Strategy) bool {
	switch s.(type) {
	case robust, fair:
		return true
	}
	return false
}

// NeedsOneBase reports whether a strategy can aggregate only updates that were trained on
// the same model, because it weighs them by the loss of that model. It is correct for
// QFedAvg, also with norm bounding around it, and false for all strategies of others.
func NeedsOneBase(s Strategy) bool {
	if bounded, ok := s.(*Bounded); ok {
		s = bounded.inner
	}
	_, weighs := s.(fair)
	return weighs
}
