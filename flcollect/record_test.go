package flcollect

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

func TestTypesOfAConfigurationSurviveTheStorage(t *testing.T) {
	given := Config{
		Strategy: "avg", Rounds: 1, Targets: map[string]float64{"accuracy": 1},
		StrategyConf: strategy.Conf{"eta": 1.0, "tau": 1e-9, "n": 3, "text": "0.5", "none": nil, "number": json.Number("1.50")},
		ClientConf:   []map[string]any{{"i": int64(-1), "f": 2.0, "big": 1e300, "b": false, "s": "x", "u": uint8(7)}, {}},
	}
	stored, data, err := newStoredConfig(given)
	require.NoError(t, err)
	want := given
	want.StrategyConf = strategy.Conf{"eta": 1.0, "tau": 1e-9, "n": int64(3), "text": "0.5", "number": 1.5}
	want.ClientConf = []map[string]any{{"i": int64(-1), "f": 2.0, "big": 1e300, "b": false, "s": "x", "u": int64(7)}, nil}
	require.Equal(t, want, stored.config())
	again, same, err := newStoredConfig(stored.config())
	require.NoError(t, err)
	require.Equal(t, stored, again)
	require.True(t, stored.same(same))
	require.True(t, stored.same(data), "as it was given, 1.50 and all")
	given.ClientConf[0]["f"] = int64(2)
	_, other, err := newStoredConfig(given)
	require.NoError(t, err)
	require.NotEqual(t, string(data), string(other), "2 and 2.0 are not the same to a client")
}

func TestNumbersThatJSONLacksAreRefused(t *testing.T) {
	for _, bad := range []Config{
		{Strategy: "avg", Rounds: 1, StrategyConf: strategy.Conf{"eta": math.NaN()}},
		{Strategy: "avg", Rounds: 1, ClientConf: []map[string]any{{"x": math.Inf(1)}}},
		{Strategy: "avg", Rounds: 1, ClientConf: []map[string]any{{"x": uint64(math.MaxUint64)}}},
		{Strategy: "avg", Rounds: 1, StrategyConf: strategy.Conf{"eta": json.Number("1e999")}},
		{Strategy: "avg", Rounds: 1, Targets: map[string]float64{"a": math.NaN()}},
	} {
		_, _, err := newStoredConfig(bad)
		require.ErrorIs(t, err, ErrInvalid)
	}
}

func TestTheOldestQuarantinesAreForgotten(t *testing.T) {
	var r record
	for i := range MaxQuarantined + 5 {
		r.quarantine([]Quarantine{{Round: i}})
	}
	require.Len(t, r.Quarantined, MaxQuarantined)
	require.Equal(t, 5, r.Quarantined[0].Round)
}

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	require.Equal(t, "ab…", short("abé", 3))
	require.Equal(t, "abé", short("abé", 4))
	require.Equal(t, "\uFFFD", short("\xff", 3))
}

func someCheckpoint(t testing.TB) []byte {
	var file bytes.Buffer
	model := strategy.Model{tensor.FromFloat32s([]float32{1, 2, 3}), tensor.FromInt64s([]int64{4}), tensor.FromFloat64s(nil)}
	require.NoError(t, writeCheckpoint(&file, model, []tensor.Tensor{tensor.FromFloat64s([]float64{0.5})}))
	return file.Bytes()
}

func TestACheckpointIsReadAsItWasWritten(t *testing.T) {
	file := someCheckpoint(t)
	r := checkpointReader{from: bytes.NewReader(file), left: int64(len(file)), sum: sha256.New()}
	model, state, err := r.read()
	require.NoError(t, err)
	require.Equal(t, []float64{1, 2, 3}, model[0].Float64s())
	require.Equal(t, tensor.Int64, model[1].DType())
	require.Zero(t, model[2].Len())
	require.Equal(t, []float64{0.5}, state[0].Float64s())
	want := sha256.Sum256(file)
	require.Equal(t, want[:], r.sum.Sum(nil))
	for cut := range file {
		r := checkpointReader{from: bytes.NewReader(file[:cut]), left: int64(cut), sum: sha256.New()}
		_, _, err := r.read()
		require.ErrorIs(t, err, errDamaged)
	}
}

func FuzzCheckpoint(f *testing.F) {
	f.Add(someCheckpoint(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := checkpointReader{from: bytes.NewReader(data), left: int64(len(data)), sum: sha256.New()}
		model, state, err := r.read()
		if err != nil {
			require.ErrorIs(t, err, errDamaged)
			return
		}
		var again bytes.Buffer
		require.NoError(t, writeCheckpoint(&again, model, state))
		r = checkpointReader{from: &again, left: int64(again.Len()), sum: sha256.New()}
		same, _, err := r.read()
		require.NoError(t, err)
		require.Len(t, same, len(model))
	})
}

func FuzzRecord(f *testing.F) {
	stored, _, err := newStoredConfig(Config{Strategy: "avg", Rounds: 2, ClientConf: []map[string]any{{"lr": 0.1}}})
	require.NoError(f, err)
	data, err := json.Marshal(record{ID: "a", outcome: outcome{Token: "t", Config: stored}, State: Waiting})
	require.NoError(f, err)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := readRecord("a", data)
		if err != nil {
			return
		}
		r.status()
		again, err := json.Marshal(r)
		require.NoError(t, err)
		same, err := readRecord("a", again)
		require.NoError(t, err)
		require.Equal(t, r.Config.config(), same.Config.config())
	})
}
