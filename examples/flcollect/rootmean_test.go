package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/strategy/strategytest"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

func fresh(t *testing.T) strategy.Strategy {
	t.Helper()
	s, err := newRootMean(nil)
	require.NoError(t, err)
	return s
}

func TestRootMean_conforms(t *testing.T) {
	strategytest.Run(t, func() strategy.Strategy { return fresh(t) })
}

func TestRootMean_weighsByTheRootOfTheExamples(t *testing.T) {
	model := func(value float64) strategy.Model { return strategy.Model{tensor.FromFloat64s([]float64{value})} }
	round, err := fresh(t).Begin(strategy.Round{Number: 1, Model: model(0)})
	require.NoError(t, err)
	require.NoError(t, round.Add(t.Context(), strategy.Update{Client: "large", Examples: 400, Model: model(1)}))
	require.NoError(t, round.Add(t.Context(), strategy.Update{Client: "small", Examples: 4, Model: model(12)}))
	mean, err := round.Finish(t.Context())
	require.NoError(t, err)
	require.Equal(t, []float64{(20*1 + 2*12) / 22.0}, mean[0].Float64s())
	require.NoError(t, round.Close())
}

func TestRootMean_refusesUnknownParameters(t *testing.T) {
	_, err := newRootMean(strategy.Conf{"eta": 0.1})
	var wrong *strategy.FieldError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "eta", wrong.Field)
}
