package round

import (
	"errors"
	"fmt"
	"math"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// ErrUnsound is matched by the error of a model that must not be trained.
var ErrUnsound = errors.New("unsound model")

// Sound returns nil for a model that has tensors, all of them finite, and the form of
// another, if one is given.
func Sound(model, form strategy.Model) error {
	if len(model) == 0 {
		return fmt.Errorf("%w: it has no tensors", ErrUnsound)
	}
	if form != nil && len(model) != len(form) {
		return fmt.Errorf("%w: it has %d tensors instead of %d", ErrUnsound, len(model), len(form))
	}
	for i, t := range model {
		if form != nil {
			if err := t.SameForm(form[i]); err != nil {
				return fmt.Errorf("%w: tensor %d: %w", ErrUnsound, i, err)
			}
		}
		if t.DType().IsInteger() {
			continue
		}
		if at, v := notFinite(t); at >= 0 {
			return fmt.Errorf("%w: element %d of tensor %d is %v", ErrUnsound, at, i, v)
		}
	}
	return nil
}

// notFinite returns the first element of a tensor that is not finite and its index, which
// is -1 if there is none.
func notFinite(t tensor.Tensor) (at int, value float64) {
	var narrow [4096]float32
	var wide [4096]float64
	for from := 0; from < t.Len(); from += len(wide) {
		n := min(len(wide), t.Len()-from)
		if t.DType() == tensor.Float32 {
			greatest := uint32(0)
			part := t.Float32s(from, n, narrow[:])
			for _, v := range part {
				greatest = max(greatest, math.Float32bits(v)&math.MaxInt32)
			}
			if greatest < 0x7f800000 { // infinite; not-a-numbers are above
				continue
			}
		}
		values := wide[:n]
		t.ReadFloat64s(values, from)
		for k, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return from + k, v
			}
		}
	}
	return -1, 0
}
