package flcollect

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// Conversion says how many layers, of how many updates, were converted to the type
// that the layer has in the job's model.
type Conversion struct {
	// From and To are types as NumPy names them, such as "float64" and "float32".
	From string `json:"from"`
	To   string `json:"to"`
	// Updates is how many updates had such layers, Layers how many layers there
	// were in all of them together.
	Updates int `json:"updates"`
	Layers  int `json:"layers"`
}

// anyType is a strategy that takes layers of some other types than those of the
// model.
type anyType interface {
	Takes(sent, form tensor.DType) bool
}

// converts reports whether a layer of an update is to be converted to the type of
// the layer of the model.
func converts(layer, form tensor.Tensor, takes anyType) bool {
	from, to := layer.DType(), form.DType()
	return from != to && (takes == nil || !takes.Takes(from, to)) && slices.Equal(layer.Shape(), form.Shape())
}

// turn waits until an update may be converted, if there is something to convert, and
// returns what is to be called once the update was added. The uploads that flower
// admits do not bound what is made of them, so few are converted at a time.
func (s *Server) turn(ctx context.Context, update, form strategy.Model, takes anyType) (func(), error) {
	some := false
	for i := range min(len(update), len(form)) {
		some = some || converts(update[i], form[i], takes)
	}
	if !some {
		return func() {}, nil
	}
	select {
	case s.converting <- struct{}{}:
		return func() { <-s.converting }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// conform returns an update in the types of the model that the clients were sent,
// and what was converted for that. The model decides, so it does not matter which
// clients send which types: a Flower client with NumPy trains with 64 bits where
// PyTorch has 32. Numbers are rounded to the nearest; one that the type of the
// model cannot hold is an error that names its layer and element, for cut off it
// would be another number. Layers that differ in shape, or in number, are left to
// the strategy, which refuses them.
func conform(update, form strategy.Model, takes anyType) (strategy.Model, []Conversion, error) {
	if len(update) != len(form) {
		return update, nil, nil
	}
	var made []Conversion
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
		made = addConversions(made, []Conversion{{From: from.String(), To: to.String(), Layers: 1}})
	}
	for i := range made {
		made[i].Updates = 1
	}
	return converted, made, nil
}

// addConversions returns the sum of conversions, in the order of their types.
func addConversions(sum, more []Conversion) []Conversion {
	if len(more) == 0 {
		return sum
	}
	sum = slices.Clone(sum)
	for _, c := range more {
		at, found := slices.BinarySearchFunc(sum, c, func(a, b Conversion) int {
			return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
		})
		if !found {
			sum = slices.Insert(sum, at, Conversion{From: c.From, To: c.To})
		}
		sum[at].Updates += c.Updates
		sum[at].Layers += c.Layers
	}
	return sum
}

// String returns a text such as "float64 to float32 in 4 layers".
func (c Conversion) String() string {
	if c.Layers == 1 {
		return fmt.Sprintf("%s to %s in 1 layer", c.From, c.To)
	}
	return fmt.Sprintf("%s to %s in %d layers", c.From, c.To, c.Layers)
}
