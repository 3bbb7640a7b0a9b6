package strategy

import (
	"fmt"
	"math"
	"sync"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// NormBounding is the Strategy of a *[FieldError] of [NewBounded].
const NormBounding = "norm-bounding"

// counterFactor is the bound of counters in medians, and the least bound: a
// counter grows with the data of its client, and clients may have very different
// amounts of data.
const counterFactor = 1000

// Bounded is a strategy around another one. It bounds the distance of an update
// from the model, so that no single client determines the result (Sun and others
// 2019, arXiv 1911.07963), and reports a [Verdict] on every update. Its methods
// for a round are called as those of a [Strategy]; [Bounded.Verdicts] may be
// called at any time. Make one with [NewBounded].
type Bounded struct {
	inner          Strategy
	clip           bool    // whether updates are clipped
	taper          bool    // whether those further beyond the bound are clipped to less
	limit          float64 // infinite if there is none
	factor, refuse float64 // refuse is infinite if no update is refused
	least          int     // least number of updates for a median

	mu       sync.Mutex // guards the fields below
	median   lengths    // of the last round with enough, zero if there is none
	verdicts *Verdicts  // of the round that was begun last
}

// NewBounded returns norm bounding around a strategy. The norm of an update is its
// Euclidean distance from the model, over all layers that are not integers. The
// fields of conf are:
//
//	norm_bound          the greatest norm: none
//	norm_factor         the greatest norm in medians: 3
//	norm_min_updates    a round of fewer updates has no median: 1
//	norm_clip           whether an update beyond the bound is shortened: true
//	norm_taper          whether it keeps the less, the further it lies: false
//	norm_refuse_factor  an update of more than so many bounds is refused: none is
//
// The bound is the smaller of norm_bound and norm_factor medians. The median is that
// of the norms of the round, or of the last round that had one, whichever is greater,
// so that clients whose updates grow together, as with a new learning rate, stay
// within the bound. Of an even number of norms it is the lower of the two in the
// middle. It holds while more than half of the clients are honest.
//
// An update beyond the bound is clipped to it and keeps its direction. With norm_taper
// its length becomes the bound times the bound's share of its norm, so that an update of
// 100 bounds counts with a hundredth of one: a client that lies in every round would
// otherwise move the model by a whole bound each time. Since the median
// is known at the end of a round, updates that may be beyond it are deferred: they are
// kept in a file in [Round].Dir. Before the first median all updates are deferred, later
// few. Their metrics stay in memory; a deferred update with more than 64 KiB of text in
// them is refused. An update that exceeds norm_bound counts as a failure in the job's
// policy; one that only the median refuses is left out at the end of the round.
//
// Without norm_clip an update beyond the bound is only reported: it is part of the
// result unchanged, and its [Verdict] is Far.
//
// Integer layers, such as the counters of batch normalization, would dominate the
// norm: a client with more data counts further. They have a distance of their own in
// the verdict, Counters, and a bound of their own, 1000 medians and at least 1000,
// beyond which they are reported and clipped separately from the other layers. In a
// model that has only integer layers, these are the trained parameters, and the norm
// is theirs.
//
// Errors are *[FieldError].
func NewBounded(inner Strategy, conf Conf) (*Bounded, error) {
	r := newReader(NormBounding, conf)
	b := readBounds(r, inner)
	switch {
	case b.clip:
	case !math.IsInf(b.refuse, 1):
		r.Fail("norm_refuse_factor", "has no meaning where norm_clip is false")
	case b.taper:
		r.Fail("norm_taper", "has no meaning where norm_clip is false")
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	return b, nil
}

// readBounds returns norm bounding with the parameters that a reader has.
func readBounds(r *reader, inner Strategy) *Bounded {
	return &Bounded{
		inner:  inner,
		clip:   r.Truth("norm_clip", true),
		taper:  r.Truth("norm_taper", false),
		limit:  r.Number("norm_bound", math.Inf(1), 1e-300, anything),
		factor: r.Number("norm_factor", 3, 1, anything),
		refuse: r.Number("norm_refuse_factor", math.Inf(1), 1, anything),
		least:  r.Count("norm_min_updates", 1, 1),

		verdicts: &Verdicts{},
	}
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
	a := &bounding{
		Aggregation: inner,
		rules:       b,
		round:       round,
		counters:    findCounters(round.Model),
		last:        b.median,
		verdicts:    b.verdicts,
	}
	if !b.clip {
		return a, nil
	}
	return &clipping{bounding: a}, nil
}

// Verdicts returns the verdicts on the updates of the round that was begun
// last, in the order of their clients' names.
func (b *Bounded) Verdicts() []Verdict {
	b.mu.Lock()
	verdicts := b.verdicts
	b.mu.Unlock()
	return verdicts.All()
}

// bounds returns the bounds for the given medians.
func (b *Bounded) bounds(median lengths) lengths {
	bound := lengths{norm: b.limit, counters: math.Inf(1)}
	if median.norm > 0 {
		bound.norm = min(b.limit, b.factor*median.norm)
	}
	if median != (lengths{}) {
		bound.counters = counterFactor * max(median.counters, 1)
	}
	return bound
}

// State implements [Strategy]: the medians of the last round, followed by the state
// of the inner strategy. The median of the counters is included if it is not zero.
func (b *Bounded) State() []tensor.Tensor {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := []float64{b.median.norm}
	if b.median.counters > 0 {
		own = append(own, b.median.counters)
	}
	return append([]tensor.Tensor{tensor.FromFloat64s(own)}, b.inner.State()...)
}

// Restore implements [Strategy].
func (b *Bounded) Restore(state []tensor.Tensor) error {
	var own [2]float64
	var inner []tensor.Tensor
	if len(state) > 0 {
		n := state[0].Len()
		if state[0].DType() != tensor.Float64 || n < 1 || n > len(own) {
			return fmt.Errorf("restore %s: tensor 0 holds %d numbers of type %v, not a median", NormBounding, n,
				state[0].DType())
		}
		state[0].ReadFloat64s(own[:n], 0)
		inner = state[1:]
	}
	for _, v := range own {
		if !(v >= 0 && v <= math.MaxFloat64) {
			return fmt.Errorf("restore %s: the median is %v", NormBounding, v)
		}
	}
	if err := b.inner.Restore(inner); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.median = lengths{norm: own[0], counters: own[1]}
	return nil
}
