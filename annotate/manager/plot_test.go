package manager_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
)

func received(n uint64) annotate.Stats { return annotate.Stats{Received: n} }

func TestManager_Plot_plotsNoMessagesWhenAChannelIsRemoved(t *testing.T) {
	plot := manager.Measured(
		map[string]annotate.Stats{"a": received(1000), "b": received(5000)},
		map[string]annotate.Stats{"a": received(1010), "b": received(5010)},
		map[string]annotate.Stats{"a": received(1010)},                   // b is removed
		map[string]annotate.Stats{"a": received(1014), "b": received(6)}, // and made again
	)
	rates := plot.Series["all/received"]
	last := []float32{}
	for _, rate := range rates[len(rates)-4:] {
		last = append(last, *rate)
	}
	require.Equal(t, []float32{0, 10, 0, 5}, last)
}

func TestManager_Plot_forgetsThePlotsOfARemovedChannelOnly(t *testing.T) {
	plot := manager.Measured(
		map[string]annotate.Stats{"a": received(1), "a/b": received(1), "c": received(1)},
		map[string]annotate.Stats{"a/b": received(1), "c": received(1)},
	)
	names := slices.Sorted(maps.Keys(plot.Series))
	require.NotContains(t, names, "channel/a/received")
	require.Contains(t, names, "channel/a%2Fb/received")
	require.Contains(t, names, "channel/c/received")
}
