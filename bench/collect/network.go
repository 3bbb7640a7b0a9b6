package main

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/iotenablers/enablers/examples/tumours"
	"github.com/iotenablers/enablers/flcollect/compress"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// hidden is how many hidden units the network has.
const hidden = 256

// network is 30 measurements, tanh units and one score.
type network struct {
	inner, innerBias, outer, outerBias []float64
}

// newNetwork returns the network that every training begins with.
func newNetwork() network {
	from := rand.New(rand.NewPCG(1, 2))
	n := network{make([]float64, hidden*tumours.Features), make([]float64, hidden), make([]float64, hidden), make([]float64, 1)}
	for i := range n.inner {
		n.inner[i] = from.NormFloat64() * 0.1
	}
	for i := range n.outer {
		n.outer[i] = from.NormFloat64() * 0.1
	}
	return n
}

func (n network) tensors() []tensor.Tensor {
	singles := func(values []float64, shape ...int) tensor.Tensor {
		b := tensor.NewBuilder(tensor.Float32, shape)
		b.Write(values, 0)
		return b.Tensor()
	}
	return []tensor.Tensor{singles(n.inner, hidden, tumours.Features), singles(n.innerBias, hidden), singles(n.outer, 1, hidden),
		singles(n.outerBias, 1)}
}

func buildNetwork(model []tensor.Tensor) network {
	return network{model[0].Float64s(), model[1].Float64s(), model[2].Float64s(), model[3].Float64s()}
}

// score returns the score of a tumour, and puts the values of the hidden units into units.
func (n network) score(t tumours.Tumour, units []float64) float64 {
	score := n.outerBias[0]
	for k := range units {
		sum := n.innerBias[k]
		for i, v := range t.Features {
			sum += n.inner[k*tumours.Features+i] * v
		}
		units[k] = math.Tanh(sum)
		score += n.outer[k] * units[k]
	}
	return score
}

// descend takes a step of gradient descent over all tumours.
func (n network) descend(list []tumours.Tumour, rate float64) {
	units := make([]float64, hidden)
	step := network{make([]float64, len(n.inner)), make([]float64, hidden), make([]float64, hidden), make([]float64, 1)}
	for _, t := range list {
		wrong := 1 / (1 + math.Exp(-n.score(t, units)))
		if t.Malignant {
			wrong--
		}
		wrong /= float64(len(list))
		step.outerBias[0] += wrong
		for k, unit := range units {
			step.outer[k] += wrong * unit
			back := wrong * n.outer[k] * (1 - unit*unit)
			step.innerBias[k] += back
			for i, v := range t.Features {
				step.inner[k*tumours.Features+i] += back * v
			}
		}
	}
	for i, layer := range [][]float64{n.inner, n.innerBias, n.outer, n.outerBias} {
		for k, v := range [][]float64{step.inner, step.innerBias, step.outer, step.outerBias}[i] {
			layer[k] -= rate * v
		}
	}
}

// measure returns the loss and the accuracy.
func (n network) measure(list []tumours.Tumour) (loss, accuracy float64) {
	units := make([]float64, hidden)
	for _, t := range list {
		score := n.score(t, units)
		loss += math.Log1p(math.Exp(-math.Abs(score))) + math.Max(score, 0)
		if t.Malignant {
			loss -= score
		}
		if (score > 0) == t.Malignant {
			accuracy++
		}
	}
	return loss / float64(len(list)), accuracy / float64(len(list))
}

// compressing is a Flower client of a party. Without an encoder its updates are whole.
type compressing struct {
	party   tumours.Party
	encoder *compress.Encoder
}

func (c *compressing) Properties(context.Context, flower.GetPropertiesIns) (flower.Config, error) {
	return nil, flower.ErrNotImplemented
}

func (c *compressing) Parameters(context.Context, flower.GetParametersIns) (flower.Parameters, error) {
	return flower.FromTensors(newNetwork().tensors()...), nil
}

func (c *compressing) Fit(_ context.Context, ins flower.FitIns) (*flower.FitRes, error) {
	sent, err := ins.Parameters.Decode()
	if err != nil {
		return nil, err
	}
	n := buildNetwork(sent)
	for range 5 {
		n.descend(c.party.Train, 0.1)
	}
	parameters := flower.FromTensors(n.tensors()...)
	if c.encoder != nil {
		if parameters, err = c.encoder.Encode(n.tensors(), sent); err != nil {
			return nil, err
		}
	}
	return &flower.FitRes{Parameters: parameters, NumExamples: int64(len(c.party.Train))}, nil
}

func (c *compressing) Evaluate(_ context.Context, ins flower.EvaluateIns) (*flower.EvaluateRes, error) {
	sent, err := ins.Parameters.Decode()
	if err != nil {
		return nil, err
	}
	loss, accuracy := buildNetwork(sent).measure(c.party.Test)
	return &flower.EvaluateRes{Loss: float32(loss), NumExamples: int64(len(c.party.Test)),
		Metrics: flower.Config{"accuracy": accuracy}}, nil
}
