package jobconfig_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

func TestParse_readsAsync(t *testing.T) {
	half, none := 0.25, 0.0
	for given, want := range map[string]*jobconfig.Async{
		`{"async":{}}`:   {},
		`{"async":null}`: nil,
		`{"async":{"buffer":"3","concurrency":12,"staleness":0.25}}`:                {Buffer: 3, Concurrency: 12, Staleness: &half},
		`{"async":{"buffer":10000,"concurrency":10000,"staleness":0}}`:              {Buffer: 10000, Concurrency: 10000, Staleness: &none},
		`{"num_rounds":2,"async":{"buffer":null,"concurrency":4,"staleness":null}}`: {Concurrency: 4},
	} {
		got, err := jobconfig.Parse(body(t, map[string]string{"server_conf": given}))
		require.NoError(t, err, given)
		require.Equal(t, want, got.Async, given)
		stored, data, err := got.Stored()
		require.NoError(t, err)
		require.Equal(t, want, stored.Copy().Async)
		require.True(t, stored.Same(data))
		again, err := jobconfig.Parse(data)
		require.NoError(t, err)
		require.Equal(t, want, again.Async, "the stored form is that of requests")
	}
}

func TestParse_refusesAsync(t *testing.T) {
	for member, bad := range map[string]map[string]jobconfig.Kind{
		"buffer":      {"0": jobconfig.TooSmall, "10001": jobconfig.TooGreat, `[]`: jobconfig.NotInteger},
		"concurrency": {"-1": jobconfig.TooSmall, "10001": jobconfig.TooGreat, "1.5": jobconfig.NotInteger},
		"staleness":   {"-0.1": jobconfig.TooSmall, "11": jobconfig.TooGreat, `"old"`: jobconfig.NotNumber},
		"size":        {"3": jobconfig.Unknown},
	} {
		for value, kind := range bad {
			requireFault(t, map[string]string{"server_conf": `{"async":{"` + member + `":` + value + `}}`}, kind, "server_conf", "async", member)
		}
	}
	requireFault(t, map[string]string{"server_conf": `{"async":true}`}, jobconfig.NotObject, "server_conf", "async")
}

func TestParse_refusesAsyncWithWhatNeedsRounds(t *testing.T) {
	async := func(member, value string) map[string]string {
		return map[string]string{"server_conf": `{"async":{}}`, member: value}
	}
	requireFault(t, async("privacy-mechanisms", `{"homomorphic":{}}`), jobconfig.Invalid, "server_conf", "async")
	requireFault(t, async("privacy-mechanisms", `{"dp-adaptive":{"num_sampled_clients":100}}`), jobconfig.Invalid, "server_conf", "async")
	requireFault(t, async("strategy", `"QFedAvg"`), jobconfig.Invalid, "strategy")
	requireFault(t, async("strategy_conf", `{"fraction_fit":0.5}`), jobconfig.Invalid, "strategy_conf", "fraction_fit")
	_, err := jobconfig.Parse(body(t, async("strategy_conf", `{"fraction_fit":1}`)))
	require.NoError(t, err, "all clients, as concurrency has it")
}

func requireFault(t *testing.T, changes map[string]string, kind jobconfig.Kind, path ...any) {
	t.Helper()
	_, err := jobconfig.Parse(body(t, changes))
	var wrong *jobconfig.Error
	require.ErrorAs(t, err, &wrong, "%v", changes)
	require.Len(t, wrong.Faults, 1, "%v", changes)
	require.Equal(t, path, wrong.Faults[0].Path)
	require.Equal(t, kind, wrong.Faults[0].Kind, "%v", changes)
}

func TestConfig_Check_refusesAsyncInGo(t *testing.T) {
	negative, nan := -1.0, math.NaN()
	for field, c := range map[string]jobconfig.Config{
		"buffer":      {Async: &jobconfig.Async{Buffer: -1}},
		"concurrency": {Async: &jobconfig.Async{Concurrency: jobconfig.MaxConcurrency + 1}},
		"staleness":   {Async: &jobconfig.Async{Staleness: &negative}},
		"async":       {Async: &jobconfig.Async{}, Homomorphic: &ckks.Settings{}},
	} {
		c.Strategy, c.Rounds = "avg", 1
		_, err := c.Check()
		var wrong *jobconfig.Error
		require.ErrorAs(t, err, &wrong, field)
		require.Equal(t, field, wrong.Faults[0].Path[len(wrong.Faults[0].Path)-1])
	}
	_, err := jobconfig.Config{Strategy: "avg", Rounds: 1, Async: &jobconfig.Async{Staleness: &nan}}.Check()
	require.Error(t, err)
}

func TestAsync_With_takesDefaultsFromTheStrategy(t *testing.T) {
	made, err := strategy.New("FedAvg", strategy.Conf{"min_fit_clients": 7})
	require.NoError(t, err)
	buffer, concurrency, staleness := jobconfig.Async{}.With(made.Policy())
	require.Equal(t, []any{7, 70, 0.5}, []any{buffer, concurrency, staleness})
	none := 0.0
	buffer, concurrency, staleness = jobconfig.Async{Buffer: 5000, Staleness: &none}.With(made.Policy())
	require.Equal(t, []any{5000, jobconfig.MaxConcurrency, 0.0}, []any{buffer, concurrency, staleness})
	policy := jobconfig.Config{Async: &jobconfig.Async{Buffer: 3}}.Demand(made.Policy())
	require.Equal(t, 3, policy.Fit.MinClients)
	require.Equal(t, made.Policy(), jobconfig.Config{}.Demand(made.Policy()))
}

func FuzzParse_async(f *testing.F) {
	f.Add(`{"buffer":3,"concurrency":9,"staleness":0.5}`)
	f.Add(`{"buffer":"3","x":[]}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		config, err := jobconfig.Parse(body(t, map[string]string{"server_conf": `{"async":` + text + `}`}))
		if err != nil {
			return
		}
		_, data, err := config.Stored()
		require.NoError(t, err)
		again, err := jobconfig.Parse(data)
		require.NoError(t, err)
		require.Equal(t, config, again)
	})
}
