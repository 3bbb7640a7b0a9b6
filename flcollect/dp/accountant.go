package dp

import (
	"fmt"
	"math"
	"slices"
)

// DefaultDelta is the delta where none is given: 1e-5.
const DefaultDelta = 1e-5

// Accountant computes the privacy loss of mechanisms that are applied one after
// the other. Each is a Gaussian mechanism on a Poisson sample; their Rényi
// divergences add up at every order (Mironov and others 2019, arXiv 1908.10530), and
// the best order gives epsilon, an upper bound. Without any sampling epsilon is exact
// (Balle and Wang 2018, arXiv 1805.06530). It serves one goroutine at a time. Make one
// with [NewAccountant].
type Accountant struct {
	delta   float64
	orders  []float64
	spent   []float64 // the divergence of each order
	square  float64   // of the mu of all mechanisms without sampling
	sampled bool      // whether there were others
	last    mechanism
}

// mechanism is a Gaussian mechanism on a sample, with its privacy loss.
type mechanism struct {
	rate, multiplier float64
	divergences      []float64
}

// NewAccountant returns an accountant without any loss. Delta is between 0 and 1,
// exclusive; 0 means [DefaultDelta].
func NewAccountant(delta float64) (*Accountant, error) {
	if delta == 0 {
		delta = DefaultDelta
	}
	if !(delta > 0 && delta < 1) {
		return nil, fmt.Errorf("account for delta %v: it is not between 0 and 1", delta)
	}
	all := orders()
	return &Accountant{delta: delta, orders: all, spent: make([]float64, len(all))}, nil
}

// Spend accounts for a mechanism that was applied n times: noise of multiplier
// times the sensitivity on the contribution of a sample of the rate, 0 to 1. A
// call with the mechanism of the call before is cheap. A multiplier of 0 makes
// epsilon infinite.
func (a *Accountant) Spend(rate, multiplier float64, times int) error {
	switch {
	case !(rate >= 0 && rate <= 1):
		return fmt.Errorf("spend privacy: sampling rate %v is not between 0 and 1", rate)
	case !(multiplier >= 0 && multiplier <= math.MaxFloat64):
		return fmt.Errorf("spend privacy: noise multiplier %v is not a number of at least 0", multiplier)
	case times < 0:
		return fmt.Errorf("spend privacy: %d times", times)
	case times == 0:
		return nil
	}
	if a.last.divergences == nil || a.last.rate != rate || a.last.multiplier != multiplier {
		a.last = mechanism{rate, multiplier, make([]float64, len(a.orders))}
		for i, order := range a.orders {
			a.last.divergences[i] = divergence(order, rate, multiplier)
		}
	}
	switch rate {
	case 0:
	case 1:
		a.square += float64(times) / multiplier / multiplier
	default:
		a.sampled = true
	}
	for i, d := range a.last.divergences {
		a.spent[i] += float64(times) * d
	}
	return nil
}

// Epsilon returns the epsilon of all mechanisms so far, 0 without any, and the order of
// the Rényi divergence that determines it, 0 where epsilon is exact.
func (a *Accountant) Epsilon() (least, order float64) {
	least, order = math.Inf(1), a.orders[0]
	for i, d := range a.spent {
		if e := epsilon(a.orders[i], d, a.delta); e < least {
			least, order = e, a.orders[i]
		}
	}
	if a.sampled {
		return least, order
	}
	return exactEpsilon(math.Sqrt(a.square), a.delta, least), 0
}

// Delta returns the delta of [Accountant.Epsilon].
func (a *Accountant) Delta() float64 { return a.delta }

// Clone returns an independent copy.
func (a *Accountant) Clone() *Accountant {
	c := *a
	c.spent = slices.Clone(a.spent)
	return &c
}
