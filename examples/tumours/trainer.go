package tumours

import (
	"context"
	"fmt"
	"math"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// Settings of a fit instruction without them.
const (
	DefaultEpochs       = 5   // steps, each over all the tumours of the party
	DefaultLearningRate = 0.1 // the length of a step
)

const mostEpochs = 10_000 // that a server may demand

// Trainer has a party take part in the training of a [Regression]. It is the
// trainer of a Flower client; its methods are called one at a time. Make one
// with [NewTrainer].
//
// A fit instruction may set epochs and learning_rate. The answers to both
// instructions have the metric accuracy, and that to a fit also loss, on the
// tumours that were trained with.
type Trainer struct{ party Party }

var _ flower.Trainer = (*Trainer)(nil)

// NewTrainer returns the trainer of a party.
func NewTrainer(party Party) *Trainer { return &Trainer{party: party} }

// Properties implements flower.Trainer.
func (t *Trainer) Properties(context.Context, flower.GetPropertiesIns) (flower.Config, error) {
	return flower.Config{"party": t.party.Name}, nil
}

// Parameters implements flower.Trainer. Every party begins with the same: zeros.
func (t *Trainer) Parameters(context.Context, flower.GetParametersIns) (flower.Parameters, error) {
	return flower.FromTensors(Regression{}.Tensors()...), nil
}

// Fit implements flower.Trainer.
func (t *Trainer) Fit(ctx context.Context, ins flower.FitIns) (*flower.FitRes, error) {
	epochs, rate, err := settings(ins.Config)
	if err != nil {
		return nil, fmt.Errorf("fit %q: %w", t.party.Name, err)
	}
	model, err := received(ins.Parameters)
	if err != nil {
		return nil, fmt.Errorf("fit %q: %w", t.party.Name, err)
	}
	for range epochs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		model.Descend(t.party.Train, rate, 1)
	}
	loss, accuracy := model.Measure(t.party.Train)
	return &flower.FitRes{
		Parameters:  flower.FromTensors(model.Tensors()...),
		NumExamples: int64(len(t.party.Train)),
		Metrics:     flower.Config{"loss": loss, "accuracy": accuracy},
	}, nil
}

// Evaluate implements flower.Trainer.
func (t *Trainer) Evaluate(_ context.Context, ins flower.EvaluateIns) (*flower.EvaluateRes, error) {
	model, err := received(ins.Parameters)
	if err != nil {
		return nil, fmt.Errorf("evaluate %q: %w", t.party.Name, err)
	}
	loss, accuracy := model.Measure(t.party.Test)
	return &flower.EvaluateRes{
		Loss:        float32(loss),
		NumExamples: int64(len(t.party.Test)),
		Metrics:     flower.Config{"accuracy": accuracy},
	}, nil
}

// received decodes the model of an instruction.
func received(parameters flower.Parameters) (Regression, error) {
	model, err := parameters.Decode()
	if err != nil {
		return Regression{}, err
	}
	return Decode(model)
}

// settings returns the settings of the descent in a fit instruction.
func settings(config flower.Config) (epochs int64, rate float64, err error) {
	epochs, rate = DefaultEpochs, DefaultLearningRate
	if given, ok := config["epochs"]; ok {
		if epochs, ok = given.(int64); !ok || epochs < 1 || epochs > mostEpochs {
			return 0, 0, fmt.Errorf("epochs: expected a whole number from 1 to %d, got %v", mostEpochs, given)
		}
	}
	if given, ok := config["learning_rate"]; ok {
		if rate, ok = given.(float64); !ok || !(rate > 0) || math.IsInf(rate, 1) {
			return 0, 0, fmt.Errorf("learning_rate: expected a number above 0, got %v", given)
		}
	}
	return epochs, rate, nil
}
