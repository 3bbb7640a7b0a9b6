package round

import (
	"fmt"
	"math"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// staleWeight returns the weight of an update with a staleness: (1+s)^-a.
func staleWeight(staleness int, exponent float64) float64 {
	return math.Pow(1+float64(staleness), -exponent)
}

// rebase returns an update that was trained on an older version as one of a newer version:
// the newer version, moved by the weighted difference between the update and the older one.
// Each number is computed with 64 bits and rounded once, to the type of the model. A whole
// number that the type cannot hold is an error that names its layer and element. An update
// of another form is returned as it is: the strategy refuses it.
func rebase(update, older, newer strategy.Model, weight float64) (strategy.Model, error) {
	if len(update) != len(newer) {
		return update, nil
	}
	for i, layer := range update {
		if layer.SameForm(newer[i]) != nil {
			return update, nil
		}
	}
	made := make(strategy.Model, len(newer))
	for i, layer := range newer {
		moved := move(update[i], older[i], layer, weight)
		as, err := moved.As(layer.DType())
		if err != nil {
			return nil, fmt.Errorf("add the change of tensor %d to the newest version: %w", i, err)
		}
		made[i] = as
	}
	return made, nil
}

// move moves a layer. The result has its type, or 64 bits where that is a type of whole
// numbers, which could not show what is out of its range.
func move(update, older, newer tensor.Tensor, weight float64) tensor.Tensor {
	dtype := newer.DType()
	if dtype.IsInteger() && dtype != tensor.Bool { // a truth value is true from 0.5 on
		dtype = tensor.Float64
	}
	made := tensor.NewBuilder(dtype, newer.Shape())
	var u, b, x [4096]float64
	for from := 0; from < newer.Len(); from += len(u) {
		n := min(len(u), newer.Len()-from)
		update.ReadFloat64s(u[:n], from)
		older.ReadFloat64s(b[:n], from)
		newer.ReadFloat64s(x[:n], from)
		for i := range n {
			x[i] += float64(weight * (u[i] - b[i])) // the conversion keeps processors from fusing both operations
		}
		made.Write(x[:n], from)
	}
	return made.Tensor()
}
