package tumours

import (
	"fmt"
	"math"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// Regression is a model of logistic regression: the probability that a tumour
// is malignant is the logistic function of the weighted sum of its features
// and the bias. The zero value gives every tumour a probability of one half.
type Regression struct {
	Weights [Features]float64
	Bias    float64
}

// Decode returns a regression from the two tensors that [Regression.Tensors]
// returns. The error names what does not fit.
func Decode(model []tensor.Tensor) (Regression, error) {
	var r Regression
	if len(model) != 2 {
		return r, fmt.Errorf("decode regression: %d tensors, expected 2", len(model))
	}
	form := r.Tensors()
	for i, t := range model {
		if err := t.SameForm(form[i]); err != nil {
			return r, fmt.Errorf("decode regression: tensor %d: %w", i, err)
		}
	}
	model[0].ReadFloat64s(r.Weights[:], 0)
	r.Bias = model[1].Float64s()[0]
	return r, nil
}

// Tensors returns the weights in a row and the bias, in the shapes that
// scikit-learn gives coef_ and intercept_.
func (r Regression) Tensors() []tensor.Tensor {
	weights := r.Weights // a copy, which the tensor may keep
	return []tensor.Tensor{
		tensor.FromFloat64s(weights[:], 1, Features),
		tensor.FromFloat64s([]float64{r.Bias}, 1),
	}
}

// Descend takes steps of gradient descent over all the tumours, each as long
// as the rate times the gradient of the mean loss.
func (r *Regression) Descend(tumours []Tumour, rate float64, steps int) {
	for range steps {
		var gradient Regression
		for _, t := range tumours {
			wrong := r.malignant(t) - target(t)
			for i, x := range t.Features {
				gradient.Weights[i] += wrong * x
			}
			gradient.Bias += wrong
		}
		step := rate / float64(len(tumours))
		for i := range r.Weights {
			r.Weights[i] -= step * gradient.Weights[i]
		}
		r.Bias -= step * gradient.Bias
	}
}

// Measure returns the mean loss over the tumours, which is the cross-entropy
// in nats, and the share that the model classifies correctly.
func (r Regression) Measure(tumours []Tumour) (loss, accuracy float64) {
	right := 0
	for _, t := range tumours {
		score := r.score(t)
		if (score > 0) == t.Malignant {
			right++
		}
		// log(1 + e^score) - target*score, without an overflow.
		loss += max(score, 0) + math.Log1p(math.Exp(-math.Abs(score))) - target(t)*score
	}
	n := float64(len(tumours))
	return loss / n, float64(right) / n
}

func (r Regression) malignant(t Tumour) float64 { return 1 / (1 + math.Exp(-r.score(t))) }

func (r Regression) score(t Tumour) float64 {
	score := r.Bias
	for i, x := range t.Features {
		score += r.Weights[i] * x
	}
	return score
}

func target(t Tumour) float64 {
	if t.Malignant {
		return 1
	}
	return 0
}
