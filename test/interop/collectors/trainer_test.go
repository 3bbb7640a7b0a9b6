package collectors_test

import (
	"context"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// size is how many numbers a model has.
const size = 10_000

// trainer begins with zeros, adds one to every number, and takes its time.
type trainer struct{ pause time.Duration }

func (trainer) Properties(context.Context, flower.GetPropertiesIns) (flower.Config, error) {
	return nil, flower.ErrNotImplemented
}

func (trainer) Parameters(context.Context, flower.GetParametersIns) (flower.Parameters, error) {
	return flower.FromTensors(tensor.FromFloat32s(make([]float32, size))), nil
}

func (r trainer) Fit(ctx context.Context, ins flower.FitIns) (*flower.FitRes, error) {
	model, err := ins.Parameters.Decode()
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(r.pause):
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

func (r trainer) Evaluate(_ context.Context, ins flower.EvaluateIns) (*flower.EvaluateRes, error) {
	model, err := ins.Parameters.Decode()
	if err != nil {
		return nil, err
	}
	return &flower.EvaluateRes{Loss: float32(model[0].Float64s()[0]), NumExamples: 1}, nil
}
