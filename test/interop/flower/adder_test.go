package flower_test

import (
	"context"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// adder is a trainer that adds a number to every weight.
type adder struct{ number float64 }

// Properties implements [flower.Trainer].
func (adder) Properties(context.Context, flower.GetPropertiesIns) (flower.Config, error) {
	return nil, flower.ErrNotImplemented
}

// Parameters implements [flower.Trainer].
func (adder) Parameters(context.Context, flower.GetParametersIns) (flower.Parameters, error) {
	return flower.FromTensors(tensor.FromFloat32s(make([]float32, 30_000), 300, 100), tensor.FromFloat64s(make([]float64, 4))), nil
}

// Fit implements [flower.Trainer].
func (a adder) Fit(_ context.Context, ins flower.FitIns) (*flower.FitRes, error) {
	model, err := ins.Parameters.Decode()
	if err != nil {
		return nil, err
	}
	added := make([]tensor.Tensor, len(model))
	for i, layer := range model {
		values := layer.Float64s()
		for at := range values {
			values[at] += a.number
		}
		built := tensor.NewBuilder(layer.DType(), layer.Shape())
		built.Write(values, 0)
		added[i] = built.Tensor()
	}
	return &flower.FitRes{Parameters: flower.FromTensors(added...), NumExamples: 10}, nil
}

// Evaluate implements [flower.Trainer].
func (adder) Evaluate(context.Context, flower.EvaluateIns) (*flower.EvaluateRes, error) {
	return &flower.EvaluateRes{Loss: 0.5, NumExamples: 10}, nil
}
