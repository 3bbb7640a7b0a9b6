package dp

import (
	"fmt"
	"math"
	"slices"
)

// DefaultDelta is the delta where none is given: 1e-5.
const DefaultDelta = 1e-5

// Accountant keeps account of what mechanisms that are applied one after the
// other give away. Each is a Gaussian mechanism on a Poisson sample; their Rényi
// divergences add up at every whole order (Mironov and others 2019, arXiv
// 1908.10530), and the best order gives epsilon. It serves one goroutine at a
// time. Make one with [NewAccountant].
type Accountant struct {
	delta  float64
	orders []int
	spent  []float64 // the divergence of each order
	last   mechanism
}

// mechanism is a Gaussian mechanism on a sample, and what it gives away.
type mechanism struct {
	rate, multiplier float64
	divergences      []float64
}

// NewAccountant returns an accountant that nothing was spent at. Delta is between
// 0 and 1, neither included; 0 means [DefaultDelta].
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

// Spend accounts for a mechanism that was applied so many times: noise of
// multiplier times the sensitivity on what a sample of the rate, 0 to 1,
// contributes. Applied any number of times, the mechanism of the call before
// costs next to nothing. A multiplier of 0 makes epsilon infinite.
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
	for i, d := range a.last.divergences {
		a.spent[i] += float64(times) * d
	}
	return nil
}

// Epsilon returns the epsilon of everything so far, 0 if that is nothing, and
// the order that gave it.
func (a *Accountant) Epsilon() (least float64, order int) {
	least, order = math.Inf(1), a.orders[0]
	for i, d := range a.spent {
		if e := epsilon(a.orders[i], d, a.delta); e < least {
			least, order = e, a.orders[i]
		}
	}
	return least, order
}

// Delta returns the delta that epsilon belongs to.
func (a *Accountant) Delta() float64 { return a.delta }

// Clone returns an accountant that goes on from here by itself.
func (a *Accountant) Clone() *Accountant {
	c := *a
	c.spent = slices.Clone(a.spent)
	return &c
}
