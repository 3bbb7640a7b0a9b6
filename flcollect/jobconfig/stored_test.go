package jobconfig_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

func TestConfig_Stored_keepsTheTypesOfValues(t *testing.T) {
	given := jobconfig.Config{
		Strategy: "avg", Rounds: 1, Targets: map[string]float64{"accuracy": 1},
		StrategyConf: strategy.Conf{"eta": 1.0, "tau": 1e-9, "n": 3, "text": "0.5", "none": nil, "number": json.Number("1.50")},
		ClientConf:   []map[string]any{{"i": int64(-1), "f": 2.0, "big": 1e300, "b": false, "s": "x", "u": uint8(7)}, {}},
	}
	stored, data, err := given.Stored()
	require.NoError(t, err)
	want := given
	want.StrategyConf = strategy.Conf{"eta": 1.0, "tau": 1e-9, "n": int64(3), "text": "0.5", "number": 1.5}
	want.ClientConf = []map[string]any{{"i": int64(-1), "f": 2.0, "big": 1e300, "b": false, "s": "x", "u": int64(7)}, nil}
	require.Equal(t, want, stored.Copy())
	again, same, err := stored.Copy().Stored()
	require.NoError(t, err)
	require.Equal(t, stored, again)
	require.True(t, stored.Same(same))
	require.True(t, stored.Same(data), "as it was given, 1.50 and all")
	given.ClientConf[0]["f"] = int64(2)
	_, other, err := given.Stored()
	require.NoError(t, err)
	require.NotEqual(t, string(data), string(other), "2 and 2.0 are not the same to a client")
}

func TestConfig_Stored_refusesNumbersThatJSONLacks(t *testing.T) {
	for _, bad := range []jobconfig.Config{
		{Strategy: "avg", Rounds: 1, StrategyConf: strategy.Conf{"eta": math.NaN()}},
		{Strategy: "avg", Rounds: 1, ClientConf: []map[string]any{{"x": math.Inf(1)}}},
		{Strategy: "avg", Rounds: 1, ClientConf: []map[string]any{{"x": uint64(math.MaxUint64)}}},
		{Strategy: "avg", Rounds: 1, StrategyConf: strategy.Conf{"eta": json.Number("1e999")}},
		{Strategy: "avg", Rounds: 1, Targets: map[string]float64{"a": math.NaN()}},
	} {
		_, _, err := bad.Stored()
		require.ErrorIs(t, err, jobconfig.ErrInvalid)
	}
}
