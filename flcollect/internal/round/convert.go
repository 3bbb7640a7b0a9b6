package round

import (
	"context"
	"fmt"
	"slices"

	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// anyType is a strategy that takes layers of some types other than those of the model.
type anyType interface {
	Takes(sent, form tensor.DType) bool
}

// converts reports whether a layer of an update is to be converted to the type of
// the layer of the model.
func converts(layer, form tensor.Tensor, takes anyType) bool {
	from, to := layer.DType(), form.DType()
	return from != to && (takes == nil || !takes.Takes(from, to)) && slices.Equal(layer.Shape(), form.Shape())
}

// convertsAny reports whether a layer of an update is to be converted.
func convertsAny(update, form strategy.Model, takes anyType) bool {
	for i := range min(len(update), len(form)) {
		if converts(update[i], form[i], takes) {
			return true
		}
	}
	return false
}

// turn waits until an update may be copied, if it is to be, and returns the function to
// call once it was added. The limit on uploads of package flower does not bound the copies,
// so only a few updates are converted, or moved to another version, at a time.
func (c *Conductor) turn(ctx context.Context, copies bool) (done func(), err error) {
	if !copies {
		return func() {}, nil
	}
	select {
	case c.config.Converting <- struct{}{}:
		return func() { <-c.config.Converting }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// conform returns an update in the types of the model that the clients were sent, and
// what was converted. The model decides, so the types that clients send do not matter: a
// Flower client with NumPy trains with 64 bits where PyTorch has 32. Numbers are rounded
// to the nearest. A number that the type of the model cannot hold is an error that names
// its layer and element, because cut off it would be another number. Layers that differ
// in shape, or in number, are left to the strategy, which refuses them.
func conform(update, form strategy.Model, takes anyType) (strategy.Model, []report.Conversion, error) {
	if len(update) != len(form) {
		return update, nil, nil
	}
	var made []report.Conversion
	converted := update
	for i, layer := range update {
		from, to := layer.DType(), form[i].DType()
		if !converts(layer, form[i], takes) {
			continue
		}
		as, err := layer.As(to)
		if err != nil {
			return nil, nil, fmt.Errorf("convert tensor %d from %v to %v: %w", i, from, to, err)
		}
		if len(made) == 0 {
			converted = slices.Clone(update)
		}
		converted[i] = as
		made = report.AddConversions(made, []report.Conversion{{From: from.String(), To: to.String(), Layers: 1}})
	}
	for i := range made {
		made[i].Updates = 1
	}
	return converted, made, nil
}
