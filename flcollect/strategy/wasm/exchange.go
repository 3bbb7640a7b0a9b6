package wasm

import (
	"fmt"
	"math"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// piece is how many elements are copied at a time between host and module.
const piece = 8192

// updates are the updates that a module may read: the one that has just
// arrived, or all in a file.
type updates struct {
	arrivals []arrival
	current  strategy.Model
	spill    *strategy.Spill
}

// read copies elements of an update to dst.
func (u updates) read(dst []float64, update, layer, from int) error {
	if u.spill != nil {
		return u.spill.Read(dst, update, layer, from)
	}
	u.current[layer].ReadFloat64s(dst, from)
	return nil
}

// result is a model that is written from the first element of each tensor to the
// last.
type result struct {
	form     strategy.Model
	builders []*tensor.Builder // nil until something is written
	written  []int
}

func newResult(form strategy.Model) *result {
	return &result{form: form, builders: make([]*tensor.Builder, len(form)), written: make([]int, len(form))}
}

// write takes the next elements of a tensor.
func (r *result) write(values []float64, layer int) error {
	t, at := r.form[layer], r.written[layer]
	for k, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) || overflows(v, t.DType()) {
			return fmt.Errorf("element %d of tensor %d of the result is %v, which is no finite %v", at+k, layer, v, t.DType())
		}
	}
	if r.builders[layer] == nil {
		r.builders[layer] = tensor.NewBuilder(t.DType(), t.Shape())
	}
	r.builders[layer].Write(values, at)
	r.written[layer] += len(values)
	return nil
}

// overflows reports whether a finite number has no finite neighbour in the type.
// Whole numbers stop at their bounds.
func overflows(v float64, dtype tensor.DType) bool {
	switch dtype {
	case tensor.Float32:
		return math.IsInf(float64(float32(v)), 0)
	case tensor.Float16:
		return math.Abs(v) >= 65520
	case tensor.BFloat16:
		return math.Abs(v) >= 0x1.ffp127
	}
	return false
}

// model returns the model once all of it was written.
func (r *result) model() (strategy.Model, error) {
	made := make(strategy.Model, len(r.form))
	for i, t := range r.form {
		if r.written[i] != t.Len() {
			return nil, fmt.Errorf("%w: fl_finish: %d of the %d elements of tensor %d of the result were written",
				ErrFailed, r.written[i], t.Len(), i)
		}
		if r.builders[i] == nil {
			r.builders[i] = tensor.NewBuilder(t.DType(), t.Shape())
		}
		made[i] = r.builders[i].Tensor()
	}
	return made, nil
}
