package strategy

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// fair is QFedAvg (Li and others 2019, arXiv 1905.10497): clients with a greater
// loss count more. Flower uses one loss for all clients; here it is the client's
// own metric "loss", or the loss of the round if the client sends none.
type fair struct {
	policy  Policy
	q, rate float64
}

// Policy implements [Strategy].
func (f fair) Policy() Policy { return f.policy }

// Configure implements [Strategy].
func (fair) Configure(Phase, int, map[string]any) {}

// State implements [Strategy].
func (fair) State() []tensor.Tensor { return nil }

// Restore implements [Strategy].
func (fair) Restore(state []tensor.Tensor) error { return noState(state) }

// Begin implements [Strategy].
func (f fair) Begin(round Round) (Aggregation, error) {
	return &fairMean{fair: f, round: round, sum: round.NewSum()}, nil
}

// fairMean sums the models times F^q; the gradients follow from it at the end,
// since the model before is the same for all.
type fairMean struct {
	fair
	roster roster
	round  Round

	mu    sync.Mutex
	sum   *Sum // nil once closed
	terms []fairTerm
}

// fairTerm is the contribution of an update: its factor, and h of the paper.
type fairTerm struct{ factor, h float64 }

// Add implements [Aggregation].
func (f *fairMean) Add(_ context.Context, update Update) error {
	if err := Check(update, f.round.Model); err != nil {
		return err
	}
	loss, err := f.loss(update)
	if err != nil {
		return err
	}
	if err := finite(update); err != nil {
		return err
	}
	squared := squaredDistance(f.round.Model, update.Model) / (f.rate * f.rate)
	base := loss + 1e-10
	term := fairTerm{factor: math.Pow(base, f.q)}
	term.h = f.q*math.Pow(base, f.q-1)*squared + term.factor/f.rate
	if !(term.factor <= 1<<62) || !(term.h <= math.MaxFloat64) || term.h <= 0 {
		return refuse(update.Client, "loss %v and squared step %v give the weight %v", loss, squared, term.h)
	}
	if err := f.roster.enter(update.Client); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sum == nil {
		return ErrClosed
	}
	if err := f.sum.Add(update.Model, term.factor); err != nil {
		f.roster.leave(update.Client)
		return refuse(update.Client, "%w", err)
	}
	f.terms = append(f.terms, term)
	return nil
}

// loss returns the loss for the weight of an update.
func (f *fairMean) loss(update Update) (float64, error) {
	loss, ok := Number(update.Metrics["loss"])
	switch {
	case !ok && f.round.Loss == nil:
		return 0, refuse(update.Client, "no metric \"loss\", and the model was not evaluated yet")
	case !ok:
		loss = *f.round.Loss
	}
	if !(loss >= 0 && loss <= math.MaxFloat64) {
		return 0, refuse(update.Client, "the loss is %v", loss)
	}
	return loss, nil
}

// Finish implements [Aggregation].
func (f *fairMean) Finish(context.Context) (Model, error) {
	count, first := f.roster.close()
	if !first {
		return nil, ErrClosed
	}
	if count == 0 {
		return nil, fmt.Errorf("finish round %d: %w: there is none", f.round.Number, ErrTooFew)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sum == nil {
		return nil, ErrClosed
	}
	factors, hs := 0.0, 0.0
	for _, term := range f.sorted() {
		factors, hs = factors+term.factor, hs+term.h
	}
	var before [4096]float64
	return Map(f.round.Model, func(values []float64, layer, from int) {
		x := before[:len(values)]
		f.round.Model[layer].ReadFloat64s(x, from)
		f.sum.Read(values, layer, from)
		for i := range values {
			values[i] = x[i] - (factors*x[i]-values[i])/(f.rate*hs)
		}
	}), nil
}

// sorted returns the terms in an order that does not depend on arrival.
func (f *fairMean) sorted() []fairTerm {
	slices.SortFunc(f.terms, func(a, b fairTerm) int {
		switch {
		case a.h != b.h && a.h < b.h, a.h == b.h && a.factor < b.factor:
			return -1
		case a == b:
			return 0
		}
		return 1
	})
	return f.terms
}

// Close implements [Aggregation].
func (f *fairMean) Close() error {
	f.roster.close()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sum != nil {
		f.sum.Release()
	}
	f.sum = nil
	return nil
}

// squaredDistance returns the sum of the squared differences of two models of
// one form.
func squaredDistance(a, b Model) float64 {
	total := 0.0
	var x, y [1024]float64
	for layer := range a {
		for from := 0; from < a[layer].Len(); from += len(x) {
			n := min(len(x), a[layer].Len()-from)
			a[layer].ReadFloat64s(x[:n], from)
			b[layer].ReadFloat64s(y[:n], from)
			for i, v := range x[:n] {
				d := v - y[i]
				total += d * d
			}
		}
	}
	return total
}
