package round

import (
	"errors"
	"fmt"
	"math"

	"github.com/iotenablers/enablers/flcollect/strategy"
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
	var piece [4096]float64
	for i, t := range model {
		if form != nil {
			if err := t.SameForm(form[i]); err != nil {
				return fmt.Errorf("%w: tensor %d: %w", ErrUnsound, i, err)
			}
		}
		if t.DType().IsInteger() {
			continue
		}
		for from := 0; from < t.Len(); from += len(piece) {
			values := piece[:min(len(piece), t.Len()-from)]
			t.ReadFloat64s(values, from)
			for k, v := range values {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return fmt.Errorf("%w: element %d of tensor %d is %v", ErrUnsound, from+k, i, v)
				}
			}
		}
	}
	return nil
}
