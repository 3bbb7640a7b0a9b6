package dp

import (
	"fmt"
	"math"
	"slices"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// endOfTerms is 2^128, where the numbers that strategy.Sum takes end.
const endOfTerms = 0x1p128

// refuse returns the error of a bad update.
func refuse(client string, format string, args ...any) error {
	return fmt.Errorf("add update of %q: %w: %w", client, strategy.ErrQuarantined, fmt.Errorf(format, args...))
}

// checkForm returns an error for an update that does not have the form of the
// model. When Flower's clients scale a difference, integers become Float64, and
// noise turns every layer into Float64; both are accepted.
func checkForm(update strategy.Update, model strategy.Model, noised bool) error {
	form := slices.Clone(model)
	for i := range min(len(model), len(update.Model)) {
		t := update.Model[i]
		if takes(t.DType(), model[i].DType(), noised) && slices.Equal(t.Shape(), model[i].Shape()) {
			form[i] = t
		}
	}
	return strategy.Check(update, form)
}

// distance returns the Euclidean distance of an update from the model, over all
// layers together. It returns an error for an update with a number that is not
// finite.
func distance(update strategy.Update, model strategy.Model) (float64, error) {
	total := 0.0
	var x, y [1024]float64
	for layer, t := range update.Model {
		for from := 0; from < t.Len(); from += len(x) {
			n := min(len(x), t.Len()-from)
			t.ReadFloat64s(y[:n], from)
			model[layer].ReadFloat64s(x[:n], from)
			part := 0.0
			for i, v := range y[:n] {
				if !(math.Abs(v) < endOfTerms) {
					return 0, refuse(update.Client, "tensor %d: element %d is %v", layer, from+i, v)
				}
				d := v - x[i]
				part += d * d
			}
			total += part
		}
	}
	if !(total <= math.MaxFloat64) {
		return 0, fmt.Errorf("add update of %q: the model of the round is not finite", update.Client)
	}
	return math.Sqrt(total), nil
}

// normBit reads whether a client's update was within the clip norm.
func normBit(update strategy.Update) (bool, error) {
	given, sent := update.Metrics[normBitMetric]
	if !sent {
		return false, refuse(update.Client, "no metric %q: is it a client of differential privacy?", normBitMetric)
	}
	switch v, ok := strategy.Number(given); {
	case ok && v == 1:
		return true, nil
	case ok && v == 0:
		return false, nil
	}
	return false, refuse(update.Client, "metric %q is %v, no truth value", normBitMetric, given)
}

// elements returns the number of elements of a model.
func elements(model strategy.Model) int {
	count := 0
	for _, t := range model {
		count += t.Len()
	}
	return count
}

// Takes reports whether updates may have layers of a type where the model has
// another: 64-bit floats if the client adds the noise, because rounding would
// reveal it, and for integers, which clipping turns into fractions.
func (a *Adaptive) Takes(sent, form tensor.DType) bool {
	return takes(sent, form, !a.serverSide)
}

// NoiseFromClients reports whether clients add the noise, and not the server.
func (a *Adaptive) NoiseFromClients() bool { return !a.serverSide }

// NoiseFromClients reports whether the settings, those of [New], have clients add the
// noise. Settings that New refuses do not.
func NoiseFromClients(conf strategy.Conf) bool {
	s, err := readSettings(conf)
	return err == nil && !s.serverSide
}

func takes(sent, form tensor.DType, noised bool) bool {
	return sent == tensor.Float64 && (noised || form.IsInteger())
}
