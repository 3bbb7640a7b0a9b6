package strategy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// MaxPartialUpdates is how many updates a [Partial] may have, 2^20.
const MaxPartialUpdates = 1 << 20

// Partial is the sum of the updates of several clients, each times its examples, as a
// collector between the clients and this one makes it.
type Partial struct {
	// Client names the collector. It is unique in a round.
	Client string
	// Updates is how many updates the sum has, 1 to [MaxPartialUpdates].
	Updates int64
	// Examples is the sum of their examples, at most [MaxExamples] for each of them.
	Examples uint64
	// Sum is the sum as [Sum.Encode] returns it. It is read only until Merge returns.
	Sum []tensor.Tensor
}

// Merging is an [Aggregation] that also takes sums of updates, and that can end with such
// a sum instead of a model. The model of updates that come in sums, in whatever tree of
// them, has the bits of the model of all updates.
type Merging interface {
	Aggregation
	// Merge adds a sum, as Add adds an update. It counts as one update.
	Merge(ctx context.Context, partial Partial) error
	// Sum returns the sum of all updates so far, and is called in place of Finish. Client is
	// empty. What the strategy makes models of, such as moments, stays as it was. The errors
	// are those of Finish.
	Sum(ctx context.Context) (Partial, error)
}

// Hierarchical is a [Strategy] that may say that its aggregations are [Merging].
type Hierarchical interface {
	Strategy
	// Merges returns nil if they are, and otherwise the reason why not.
	Merges() error
}

// Merges returns nil if the aggregations of a strategy are [Merging], and otherwise the
// reason why not.
func Merges(s Strategy) error {
	if h, ok := s.(Hierarchical); ok {
		return h.Merges()
	}
	return errors.New(needsEach)
}

// needsEach is the reason of strategies that are not Hierarchical.
const needsEach = "it needs the update of every client, and a sum does not have them"

// Merges implements [Hierarchical].
func (mean) Merges() error { return nil }

// Merges implements [Hierarchical].
func (*momentum) Merges() error { return nil }

// Merges implements [Hierarchical].
func (*adaptive) Merges() error { return nil }

// Merges implements [Hierarchical].
func (b *Bounded) Merges() error {
	if b.clip {
		return errors.New("norm bounding that cuts updates needs the update of every client")
	}
	return Merges(b.inner)
}

// Merge implements [Merging].
func (m *weightedMean) Merge(_ context.Context, p Partial) error {
	switch {
	case p.Updates < 1 || p.Updates > MaxPartialUpdates:
		return refuse(p.Client, "the sum has %d updates, must be 1 to %d", p.Updates, MaxPartialUpdates)
	case p.Examples < uint64(p.Updates) || p.Examples > uint64(p.Updates)*MaxExamples:
		return refuse(p.Client, "the sum of %d updates has %d examples, must be 1 to %d for each",
			p.Updates, p.Examples, int64(MaxExamples))
	}
	if err := m.roster.enter(p.Client); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sum == nil {
		return ErrClosed
	}
	if m.weight+p.Examples > math.MaxInt64 {
		m.roster.leave(p.Client)
		return refuse(p.Client, "the examples of the round add up to more than %d", int64(math.MaxInt64))
	}
	limits := make([]float64, len(m.round.Model))
	for i, t := range m.round.Model {
		limits[i] = float64(p.Examples) * greatest(t.DType()) * (1 + 0x1p-40) // terms were rounded
	}
	if err := m.sum.merge(p.Sum, limits); err != nil {
		m.roster.leave(p.Client)
		return refuse(p.Client, "%w", err)
	}
	m.weight += p.Examples
	m.updates += p.Updates
	return nil
}

// greatest returns a bound of the absolute value of numbers that a sum takes.
func greatest(t tensor.DType) float64 {
	switch {
	case t == tensor.Float16:
		return 65504
	case t == tensor.BFloat16:
		return 0xffp120
	case t == tensor.Float32:
		return math.MaxFloat32
	case t == tensor.Bool:
		return 1
	case t.IsInteger():
		return power(int32(8 * t.Size()))
	}
	return endOfTerms
}

// Sum implements [Merging].
func (m *weightedMean) Sum(context.Context) (Partial, error) {
	count, first := m.roster.close()
	if !first {
		return Partial{}, ErrClosed
	}
	if count == 0 {
		return Partial{}, fmt.Errorf("sum up round %d: %w: there is none", m.round.Number, ErrTooFew)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sum == nil {
		return Partial{}, ErrClosed
	}
	if bits.Len64(m.weight) > 63 || m.updates > MaxPartialUpdates {
		return Partial{}, fmt.Errorf("sum up round %d: %d updates with %d examples are too many, at most %d updates",
			m.round.Number, m.updates, m.weight, MaxPartialUpdates)
	}
	return Partial{Updates: m.updates, Examples: m.weight, Sum: m.sum.Encode()}, nil
}

// Merge implements [Merging]. The sum is not measured: its updates were, where it was made.
func (b *bounding) Merge(ctx context.Context, p Partial) error {
	inner, ok := b.Aggregation.(Merging)
	if !ok {
		return refuse(p.Client, needsEach)
	}
	return inner.Merge(ctx, p)
}

// Sum implements [Merging].
func (b *bounding) Sum(ctx context.Context) (p Partial, err error) {
	inner, ok := b.Aggregation.(Merging)
	if !ok {
		return Partial{}, errors.New(needsEach)
	}
	b.conclude(func() error {
		p, err = inner.Sum(ctx)
		return err
	})
	return p, err
}
