package round

import (
	"fmt"
	"math"

	"github.com/iotenablers/enablers/flcollect/secagg"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// fromMean returns a mean in the types of a model with the same shapes. In layers of whole
// numbers it is rounded to the nearest one that the type has. Elsewhere a number that the
// type cannot hold is an error.
func fromMean(mean []tensor.Tensor, form strategy.Model) (strategy.Model, error) {
	model := make(strategy.Model, len(mean))
	for i, layer := range mean {
		dtype := form[i].DType()
		if !dtype.IsInteger() {
			var err error
			if model[i], err = layer.As(dtype); err != nil {
				return nil, fmt.Errorf("convert tensor %d of the mean to %v: %w", i, dtype, err)
			}
			continue
		}
		b := tensor.NewBuilder(dtype, layer.Shape())
		walk(layer, b.Write)
		model[i] = b.Tensor()
	}
	return model, nil
}

// walk calls do with the numbers of a tensor, some at a time, and with the index of the
// first of them.
func walk(t tensor.Tensor, do func(values []float64, from int)) {
	var piece [4096]float64
	for from := 0; from < t.Len(); from += len(piece) {
		values := piece[:min(len(piece), t.Len()-from)]
		t.ReadFloat64s(values, from)
		do(values, from)
	}
}

// precision says how exact a mean is.
func (m *masked) precision(result secagg.Result) []string {
	config := m.settings.Complete()
	notes := []string{fmt.Sprintf("fit: the mean of %d masked updates is exact to %.2g, "+
		"unless clients clipped them, which the server cannot see", len(result.Clients), result.Step)}
	if result.Overweight {
		notes = append(notes, fmt.Sprintf("fit: the clients have %.0f examples on average, more than max_weight, %v",
			result.Weight/float64(len(result.Clients)), config.MaxWeight))
	}
	greatest, integers := 0.0, 0
	for _, layer := range m.start.Model {
		if layer.DType().IsInteger() {
			integers++
		}
		walk(layer, func(values []float64, _ int) {
			for _, v := range values {
				greatest = max(greatest, math.Abs(v))
			}
		})
	}
	// a client of average weight clips a number that its weight takes out of the range
	bound := config.ClippingRange * config.MaxWeight * float64(len(result.Clients)) / result.Weight
	if greatest > bound {
		notes = append(notes, fmt.Sprintf("fit: the model that clients were sent has numbers up to %.3g, "+
			"and clients with the average number of examples clip beyond %.3g: raise clipping_range or max_weight", greatest, bound))
	}
	if integers > 0 {
		notes = append(notes, fmt.Sprintf("fit: %d layers of whole numbers were clipped and rounded by the clients like the others", integers))
	}
	return notes
}
