package strategy

import (
	"fmt"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// moments are 64-bit numbers for every element of a model, which an optimiser
// carries from round to round. Nil before the first round.
type moments [][]float64

// of returns the moments for a model, which are zero at first. It returns an
// error if the model has another form.
func (m moments) of(model Model) (moments, error) {
	if m == nil {
		made := make(moments, len(model))
		for i, t := range model {
			made[i] = make([]float64, t.Len())
		}
		return made, nil
	}
	if len(m) != len(model) {
		return nil, fmt.Errorf("begin round: the strategy's state has %d layers, the model %d", len(m), len(model))
	}
	for i, t := range model {
		if len(m[i]) != t.Len() {
			return nil, fmt.Errorf("begin round: layer %d of the strategy's state has %d elements, that of the model %d", i,
				len(m[i]), t.Len())
		}
	}
	return m, nil
}

// state returns the moments as tensors.
func (m moments) state() []tensor.Tensor {
	var state []tensor.Tensor
	for _, layer := range m {
		state = append(state, tensor.FromFloat64s(layer))
	}
	return state
}

// restoreMoments splits the tensors of a state into n moments.
func restoreMoments(state []tensor.Tensor, kinds int) ([]moments, error) {
	restored := make([]moments, kinds)
	if len(state) == 0 {
		return restored, nil
	}
	if len(state)%kinds != 0 {
		return nil, fmt.Errorf("restore strategy: %d tensors are not %d for every layer", len(state), kinds)
	}
	for i, t := range state {
		if t.DType() != tensor.Float64 {
			return nil, fmt.Errorf("restore strategy: tensor %d is of type %v", i, t.DType())
		}
		k := i / (len(state) / kinds)
		restored[k] = append(restored[k], t.Float64s())
	}
	return restored, nil
}
