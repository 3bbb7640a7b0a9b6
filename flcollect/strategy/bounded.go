package strategy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// NormBounding is the Strategy of a *[FieldError] of [NewBounded].
const NormBounding = "norm-bounding"

// Bounded is a strategy around another one that bounds how far from the model an
// update may lie, so that no client moves the result at will (Sun and others
// 2019, arXiv 1911.07963), and that reports what became of every update. Its
// methods for a round are called as [Strategy] says; [Bounded.Verdicts] may be
// called at any time. Make one with [NewBounded].
type Bounded struct {
	inner          Strategy
	limit          float64 // infinite if there is none
	factor, refuse float64 // refuse is infinite if no update is
	least          int     // updates that a median has to be of

	mu       sync.Mutex // guards what follows
	median   float64    // of the norms of the last round with enough, 0 if there is none
	verdicts *Verdicts  // of the round that was begun last
}

// NewBounded returns norm bounding around a strategy. The norm of an update is
// its Euclidean distance from the model, over all layers together. The fields of
// conf are:
//
//	norm_bound          the greatest norm: none
//	norm_factor         the greatest norm in medians of the round before: 3
//	norm_min_updates    a round of fewer updates leaves the median as it was: 1
//	norm_refuse_factor  an update of more than so many bounds is refused: none is
//
// An update beyond the smaller bound is shortened to it, and goes on in its own
// direction. The median needs a round before, so without norm_bound the first
// round has no bound; it holds while more than half of the clients are honest.
// Refusing costs what the job's policy makes of failures. Errors are
// *[FieldError].
func NewBounded(inner Strategy, conf Conf) (*Bounded, error) {
	r := newReader(NormBounding, conf)
	b := &Bounded{
		inner:  inner,
		limit:  r.Number("norm_bound", math.Inf(1), 1e-300, anything),
		factor: r.Number("norm_factor", 3, 1, anything),
		refuse: r.Number("norm_refuse_factor", math.Inf(1), 1, anything),
		least:  r.Count("norm_min_updates", 1, 1),

		verdicts: &Verdicts{},
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	return b, nil
}

// Policy implements [Strategy].
func (b *Bounded) Policy() Policy { return b.inner.Policy() }

// Configure implements [Strategy].
func (b *Bounded) Configure(phase Phase, round int, config map[string]any) {
	b.inner.Configure(phase, round, config)
}

// Begin implements [Strategy].
func (b *Bounded) Begin(round Round) (Aggregation, error) {
	inner, err := b.inner.Begin(round)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.verdicts = &Verdicts{}
	a := &bounding{Aggregation: inner, rules: b, round: round, bound: b.limit, verdicts: b.verdicts}
	if b.median > 0 {
		a.bound = min(a.bound, b.factor*b.median)
	}
	return a, nil
}

// Verdicts returns what became of the updates of the round that was begun last,
// in the order of their clients' names.
func (b *Bounded) Verdicts() []Verdict {
	b.mu.Lock()
	verdicts := b.verdicts
	b.mu.Unlock()
	return verdicts.All()
}

// State implements [Strategy]: the median of the norms of the last round, followed
// by the state of the strategy inside.
func (b *Bounded) State() []tensor.Tensor {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]tensor.Tensor{tensor.FromFloat64s([]float64{b.median})}, b.inner.State()...)
}

// Restore implements [Strategy].
func (b *Bounded) Restore(state []tensor.Tensor) error {
	own := []float64{0}
	var inner []tensor.Tensor
	if len(state) > 0 {
		if state[0].DType() != tensor.Float64 || state[0].Len() != len(own) {
			return fmt.Errorf("restore %s: tensor 0 holds %d numbers of type %v, not a median", NormBounding, state[0].Len(), state[0].DType())
		}
		state[0].ReadFloat64s(own, 0)
		inner = state[1:]
	}
	if !(own[0] >= 0 && own[0] <= math.MaxFloat64) {
		return fmt.Errorf("restore %s: the median is %v", NormBounding, own[0])
	}
	if err := b.inner.Restore(inner); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.median = own[0]
	return nil
}

// bounding is the aggregation of a round with a bound.
type bounding struct {
	Aggregation
	rules    *Bounded
	round    Round
	bound    float64
	verdicts *Verdicts
}

// Add implements [Aggregation].
func (b *bounding) Add(ctx context.Context, update Update) error {
	verdict := Verdict{Client: update.Client, Norm: math.NaN(), Bound: b.bound}
	err := b.add(ctx, update, &verdict)
	switch {
	case errors.Is(err, ErrQuarantined):
		verdict.Outcome, verdict.Reason = Refused, err.Error()
	case err != nil:
		return err
	}
	b.verdicts.Note(verdict)
	return err
}

// add hands on the update, shortened where it has to be.
func (b *bounding) add(ctx context.Context, update Update, verdict *Verdict) error {
	if err := Check(update, b.round.Model); err != nil {
		return err
	}
	verdict.Norm = distance(b.round.Model, update.Model)
	if !(verdict.Norm <= certainly) {
		far := verdict.Norm
		verdict.Norm = math.NaN()
		if err := finite(update); err != nil {
			return err
		}
		verdict.Norm = far
	}
	verdict.Outcome = Kept
	switch share := b.bound / verdict.Norm; {
	case verdict.Norm <= b.bound:
	case !(verdict.Norm <= math.MaxFloat64):
		return fmt.Errorf("add update of %q: its distance from the model of the round is %v", update.Client, verdict.Norm)
	case share*b.rules.refuse < 1:
		return refuse(update.Client, "its norm is %.4g, more than %v times the bound %.4g", verdict.Norm, b.rules.refuse, b.bound)
	default:
		verdict.Outcome = Clipped
		verdict.Reason = fmt.Sprintf("its norm is %.4g, the bound %.4g", verdict.Norm, b.bound)
		update.Model = shorten(b.round.Model, update.Model, share)
	}
	return b.Aggregation.Add(ctx, update)
}

// Finish implements [Aggregation].
func (b *bounding) Finish(ctx context.Context) (Model, error) {
	model, err := b.Aggregation.Finish(ctx)
	if err != nil {
		return nil, err
	}
	var norms []float64
	for _, v := range b.verdicts.All() {
		if v.Outcome != Refused {
			norms = append(norms, v.Norm)
		}
	}
	slices.Sort(norms)
	if n := len(norms); n >= b.rules.least {
		b.rules.mu.Lock()
		defer b.rules.mu.Unlock()
		b.rules.median = norms[(n-1)/2]/2 + norms[n/2]/2
	}
	return model, nil
}

// shorten returns the model that lies at a share of the way from base to model.
func shorten(base, model Model, share float64) Model {
	var before [4096]float64
	return Map(base, func(values []float64, layer, from int) {
		x := before[:len(values)]
		base[layer].ReadFloat64s(x, from)
		model[layer].ReadFloat64s(values, from)
		for i := range values {
			values[i] = x[i] + share*(values[i]-x[i])
		}
	})
}
