package strategytest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

// merging checks the strategies that take sums of updates: a tree of them gives the bits
// of all updates, over several rounds, and making a sum leaves what models are made of as it was.
func (s suite) merging(t *testing.T) {
	if err := strategy.Merges(s.fresh()); err != nil {
		made := begin(t, s.fresh(), 1, global())
		if _, takes := made.(strategy.Merging); takes {
			t.Logf("its aggregations could merge, which it does not say: %v", err)
		}
		return
	}
	flat, top := s.fresh(), s.fresh()
	model := global()
	for number := 1; number <= 3; number++ {
		all := updates(number)
		want := aggregate(t, flat, number, model, all)
		root := begin(t, top, number, model).(strategy.Merging)
		require.NoError(t, root.Add(t.Context(), all[0]))
		middle := begin(t, s.fresh(), number, model).(strategy.Merging)
		for k, some := range [][]strategy.Update{all[1:4], all[4:]} {
			lower := s.fresh()
			edge := begin(t, lower, number, model).(strategy.Merging)
			for _, update := range some {
				require.NoError(t, edge.Add(t.Context(), update))
			}
			join(t, edge, middle, fmt.Sprint("edge-", k))
			require.Equal(t, bits(aggregate(t, s.fresh(), number, model, all)), bits(aggregate(t, lower, number, model, all)),
				"Sum changed what the next model is made of")
		}
		join(t, middle, root, "middle")
		got, err := root.Finish(t.Context())
		require.NoError(t, err)
		require.Equal(t, bits(want), bits(got), "round %d: the model of sums has other bits than that of all updates", number)
		model = want
	}
}

// join merges the sum of one aggregation into another.
func join(t *testing.T, from, to strategy.Merging, name string) {
	t.Helper()
	partial, err := from.Sum(t.Context())
	require.NoError(t, err)
	partial.Client = name
	require.NoError(t, to.Merge(t.Context(), partial))
	require.ErrorIs(t, to.Merge(t.Context(), partial), strategy.ErrQuarantined, "a sum that comes twice")
	_, err = from.Sum(t.Context())
	require.ErrorIs(t, err, strategy.ErrClosed)
}
