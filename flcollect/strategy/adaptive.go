package strategy

import (
	"math"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// adaptive is the FedOpt family (Reddi and others 2020, arXiv 2003.00295). Both moments
// begin at zero, and are corrected for it only where corrected is set.
type adaptive struct {
	policy                 Policy
	eta, tau, beta1, beta2 float64
	corrected              bool
	second                 secondMoment
	firstMoments, seconds  moments
}

// secondMoment returns the new second moment from the old one, the square of the
// change and beta 2.
type secondMoment func(v, square, beta2 float64) float64

func adam(v, square, beta2 float64) float64 { return beta2*v + (1-beta2)*square }

func adagrad(v, square, _ float64) float64 { return v + square }

func yogi(v, square, beta2 float64) float64 {
	switch {
	case v > square:
		return v - (1-beta2)*square
	case v < square:
		return v + (1-beta2)*square
	}
	return v
}

// Policy implements [Strategy].
func (a *adaptive) Policy() Policy { return a.policy }

// Configure implements [Strategy].
func (*adaptive) Configure(Phase, int, map[string]any) {}

// State implements [Strategy].
func (a *adaptive) State() []tensor.Tensor {
	return append(a.firstMoments.state(), a.seconds.state()...)
}

// Restore implements [Strategy].
func (a *adaptive) Restore(state []tensor.Tensor) error {
	restored, err := restoreMoments(state, 2)
	if err == nil {
		a.firstMoments, a.seconds = restored[0], restored[1]
	}
	return err
}

// Begin implements [Strategy].
func (a *adaptive) Begin(round Round) (Aggregation, error) {
	first, err := a.firstMoments.of(round.Model)
	if err != nil {
		return nil, err
	}
	second, err := a.seconds.of(round.Model)
	if err != nil {
		return nil, err
	}
	eta := a.rate(round.Number)
	var before [4096]float64
	step := func(values []float64, layer, from int) {
		x := before[:len(values)]
		round.Model[layer].ReadFloat64s(x, from)
		m, v := first[layer][from:from+len(values)], second[layer][from:from+len(values)]
		for i := range values {
			change := values[i] - x[i]
			m[i] = a.beta1*m[i] + (1-a.beta1)*change
			v[i] = a.second(v[i], change*change, a.beta2)
			values[i] = x[i]
			if m[i] != 0 { // without a change, 0/0 where tau is 0
				values[i] += eta * m[i] / (math.Sqrt(v[i]) + a.tau)
			}
		}
	}
	return stepping{newWeightedMean(round, step), func() { a.firstMoments, a.seconds = first, second }}, nil
}

// rate returns the learning rate of a round. With the bias correction it is that of
// Flower since 1.13, whose exponent is one more than that of Kingma and Ba (2014, arXiv
// 1412.6980), and counts the rounds of the job, also those that aggregated nothing.
func (a *adaptive) rate(round int) float64 {
	if !a.corrected {
		return a.eta
	}
	t := float64(round) + 1
	return a.eta * math.Sqrt(1-math.Pow(a.beta2, t)) / (1 - math.Pow(a.beta1, t))
}
