package load

import (
	"context"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// size is how many numbers a model has.
const size = 10_000

// Trainer is a Flower client that begins with zeros, adds one to every number, and takes its time.
type Trainer struct {
	// Pause is how long it trains.
	Pause time.Duration
	// Job is the job that it is for; empty for any.
	Job string
}

// Properties returns the job, if there is one.
func (r Trainer) Properties(context.Context, flower.GetPropertiesIns) (flower.Config, error) {
	if r.Job == "" {
		return nil, flower.ErrNotImplemented
	}
	return flower.Config{"training_id": r.Job}, nil
}

// Parameters returns the zeros.
func (Trainer) Parameters(context.Context, flower.GetParametersIns) (flower.Parameters, error) {
	return flower.FromTensors(tensor.FromFloat32s(make([]float32, size))), nil
}

// Fit adds one to every number.
func (r Trainer) Fit(ctx context.Context, ins flower.FitIns) (*flower.FitRes, error) {
	model, err := ins.Parameters.Decode()
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(r.Pause):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	trained := strategy.Map(model, func(values []float64, layer, from int) {
		model[layer].ReadFloat64s(values, from)
		for i := range values {
			values[i]++
		}
	})
	return &flower.FitRes{Parameters: flower.FromTensors(trained...), NumExamples: 10}, nil
}

// Evaluate returns the first number as the loss.
func (Trainer) Evaluate(_ context.Context, ins flower.EvaluateIns) (*flower.EvaluateRes, error) {
	model, err := ins.Parameters.Decode()
	if err != nil {
		return nil, err
	}
	return &flower.EvaluateRes{Loss: float32(model[0].Float64s()[0]), NumExamples: 1}, nil
}
