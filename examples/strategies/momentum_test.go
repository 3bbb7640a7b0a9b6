package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/strategy/strategytest"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

func TestMomentum_conforms(t *testing.T) {
	strategytest.Run(t, func() strategy.Strategy {
		s, err := newMomentum(nil)
		require.NoError(t, err)
		return s
	})
}

func TestMomentum_givesTheSameModelsInEveryLanguage(t *testing.T) {
	fromGo, err := builtFromGo(t.Context())
	require.NoError(t, err)
	fromC, err := builtFromC(t.Context())
	require.NoError(t, err)
	conf := func() strategy.Conf { return strategy.Conf{"momentum": 0.5, "min_fit_clients": 2} }
	program, err := newMomentum(conf())
	require.NoError(t, err)
	rules := []strategy.Strategy{program}
	for _, file := range [][]byte{fromGo, fromC} {
		made, err := load(t.Context(), "momentum", file, conf())
		require.NoError(t, err)
		rules = append(rules, made)
	}
	for _, rule := range rules {
		require.Equal(t, 2, rule.Policy().Fit.MinClients)
		model := strategy.Model{tensor.FromFloat64s([]float64{0, 1})}
		for number, want := range [][]float64{{3, 4}, {4.5, 5.5}, {3.75, 4.75}} {
			round, err := rule.Begin(strategy.Round{Number: number + 1, Model: model, Dir: t.TempDir()})
			require.NoError(t, err)
			for client, values := range map[string][]float64{"a": {0, 1}, "b": {4.5, 5.5}} {
				examples := int64(10)
				if client == "b" {
					examples = 20
				}
				require.NoError(t, round.Add(t.Context(), strategy.Update{Client: client, Examples: examples,
					Model: strategy.Model{tensor.FromFloat64s(values)}}))
			}
			model, err = round.Finish(t.Context())
			require.NoError(t, err)
			require.NoError(t, round.Close())
			require.InDeltaSlice(t, want, model[0].Float64s(), 1e-12)
		}
	}
}

func TestLoad_refusesAFileThatIsNotAModule(t *testing.T) {
	_, err := load(t.Context(), "text", []byte("def aggregate_fit"), nil)
	require.ErrorIs(t, err, flcollect.ErrNoStrategy)
	_, err = newMomentum(strategy.Conf{"momentum": "much"})
	var field *strategy.FieldError
	require.ErrorAs(t, err, &field)
}
