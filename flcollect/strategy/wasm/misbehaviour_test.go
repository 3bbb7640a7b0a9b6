package wasm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/strategy/wasm"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// Only the calls that loop have a short limit: others, and the compilation, may take longer than that
// on a busy machine.
func TestAggregation_endsALoopByTimeWithoutFuel(t *testing.T) {
	const short, long = 300 * time.Millisecond, time.Hour
	module := stored(t, "bad", &wasm.Options{Fuel: -1, Time: long})
	s, err := module.Strategy(t.Context(), "mine", strategy.Conf{"where": "finish", "what": "loop"})
	require.NoError(t, err)
	round, err := s.Begin(strategy.Round{Number: 1, Model: model32(1), Dir: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, round.Close()) }()
	require.NoError(t, round.Add(t.Context(), strategy.Update{Client: "a", Examples: 1, Model: model32(1)}))
	for where, loop := range map[string]func() error{
		"setup": func() error {
			_, err := module.Strategy(t.Context(), "mine", strategy.Conf{"where": "setup", "what": "loop"})
			return err
		},
		"finish": func() error {
			_, err := round.Finish(t.Context())
			return err
		},
	} {
		module.SetTime(short)
		err := loop()
		module.SetTime(long)
		require.ErrorIs(t, err, wasm.ErrFailed)
		require.ErrorContains(t, err, where+": it ran longer than "+short.String())
		require.NoError(t, run(t, module, nil), "the next round")
	}
}

func TestAggregation_endsALoopByFuel(t *testing.T) {
	err := run(t, stored(t, "bad", &wasm.Options{Time: time.Hour}), strategy.Conf{"where": "add", "what": "loop"})
	require.ErrorIs(t, err, wasm.ErrFailed)
	require.ErrorContains(t, err, "fl_add: it used up its fuel of 1000008000 instructions",
		"for a model and an update of four elements")
}

func TestAggregation_chargesFuelForHostCalls(t *testing.T) {
	module := stored(t, "bad", &wasm.Options{Fuel: 1e6, MaxState: 1 << 40})
	require.ErrorContains(t, run(t, module, strategy.Conf{"where": "finish", "what": "much state"}), "it used up its fuel")
	require.NoError(t, run(t, module, nil), "the next round")
}

// mischief has the instructions to testdata/c/bad.c with the expected errors.
func mischief() map[string]string {
	return map[string]string{
		"begin/loop":           "begin: it used up its fuel of 1000000 instructions",
		"add/loop":             "fl_add: it used up its fuel of 1000000 instructions",
		"finish/loop":          "fl_finish: it used up its fuel of 1000000 instructions",
		"finish/allocate":      "no memory is left",
		"finish/touch":         "out of bounds memory access",
		"finish/trap":          "unreachable",
		"begin/trap":           "unreachable",
		"add/trap":             "unreachable",
		"finish/recurse":       "stack overflow",
		"begin/fail":           "fl_begin: as it was told",
		"add/fail":             "fl_add: as it was told",
		"finish/fail":          "fl_finish: as it was told",
		"finish/silent":        "no reason was given",
		"begin/answer":         "fl_begin answered 77",
		"finish/answer":        "fl_finish answered 77",
		"finish/address":       "bytes at 4294967280 of a memory",
		"finish/long name":     "a text of 65000 bytes, more than 1000",
		"finish/no text":       "not UTF-8",
		"finish/tensor":        "tensor 99 of a model that has 1",
		"finish/tensor -1":     "tensor -1 of a model that has 1",
		"finish/from":          "1 elements from -1 of tensor 0, which has 4",
		"finish/count":         "elements from 0 of tensor 0, which has 4",
		"finish/axis":          "axis 9 of tensor 0, which has 1",
		"add/update":           "update 3 of 1",
		"finish/update":        "update 3 of 0",
		"finish/moment":        "gather was called at a time when it must not be",
		"begin/setting":        "set_number was called at a time when it must not be",
		"finish/state":         "state_read: 8 bytes from 0 of a state of 0",
		"finish/much state":    "more than 1000000 bytes of state",
		"begin/much state":     "state_write was called at a time",
		"finish/default":       "set_default was called at a time",
		"finish/result past":   "7 elements from 0 of tensor 0, which has 4",
		"finish/result twice":  "element 0 of tensor 0 of the result comes after 1 were written",
		"finish/NaN":           "element 0 of tensor 0 of the result is NaN",
		"finish/too great":     "element 0 of tensor 0 of the result is 1e+300, which is no finite float32",
		"finish/nothing":       "0 of the 4 elements of tensor 0 of the result were written",
		"finish/half":          "1 of the 4 elements of tensor 0 of the result were written",
		"setup/trap":           "unreachable",
		"setup/loop":           "fl_setup: it used up its fuel of 1000000 instructions",
		"setup/tensor":         "model_f64 was called at a time",
		"setup/default":        `"eta" is no parameter of sampling and failures`,
		"configure/trap":       "unreachable",
		"configure/loop":       "fl_configure: it used up its fuel of 1000000 instructions",
		"configure/answer":     "fl_configure answered 77",
		"configure/moment":     "gather was called at a time",
		"configure/much state": "state_write was called at a time",
	}
}

// run makes a strategy and conducts one round of it, up to the first error.
func run(t *testing.T, module *wasm.Module, conf strategy.Conf) error {
	t.Helper()
	s, err := module.Strategy(t.Context(), "mine", conf)
	if err != nil {
		return err
	}
	s.Configure(strategy.Fit, 1, map[string]any{})
	round, err := s.Begin(strategy.Round{Number: 1, Model: model32(1, 2, 3, 4), Dir: t.TempDir()})
	if err != nil {
		return err
	}
	defer func() { require.NoError(t, round.Close()) }()
	for k := range 2 {
		if err := round.Add(t.Context(),
			strategy.Update{Client: fmt.Sprint(k), Examples: 1, Model: model32(1, 2, 3, 4)}); err != nil {
			again := round.Add(t.Context(), strategy.Update{Client: "other", Examples: 1, Model: model32(1, 2, 3, 4)})
			require.Equal(t, err, again, "the round is over for the others too")
			_, finish := round.Finish(t.Context())
			require.Equal(t, err, finish)
			return err
		}
	}
	_, err = round.Finish(t.Context())
	return err
}

func TestAggregation_failsOnlyTheRoundOfAFaultyModule(t *testing.T) {
	patient := stored(t, "bad", &wasm.Options{Memory: 16 << 20, MaxState: 1e6})
	thrifty := stored(t, "bad", &wasm.Options{Fuel: 1e6, Time: time.Hour})
	for name, says := range mischief() {
		t.Run(name, func(t *testing.T) {
			where, what, _ := strings.Cut(name, "/")
			module := patient
			if what == "loop" {
				module = thrifty
			}
			err := run(t, module, strategy.Conf{"where": where, "what": what})
			require.ErrorIs(t, err, wasm.ErrFailed)
			require.NotErrorIs(t, err, strategy.ErrQuarantined)
			require.ErrorContains(t, err, `strategy "mine"`)
			require.ErrorContains(t, err, says)
			require.NotContains(t, err.Error(), "\n")
			require.NoError(t, run(t, patient, strategy.Conf{"where": "nowhere", "what": ""}), "the module works as before")
		})
	}
}

func TestModule_hasNoAccessToTheMachine(t *testing.T) {
	t.Setenv("SECRET", "1")
	if testing.Short() {
		t.Skip("compiles a module in Go, which takes 15 s with the race detector")
	}
	module := inGo(t, spyModule)
	var said [2]string
	for k := range said {
		err := run(t, module, nil)
		require.ErrorIs(t, err, wasm.ErrFailed)
		said[k] = err.Error()
		require.Regexp(t, `fl_finish: read false list false write false environment 0 arguments 0 year 2022 random `+
			`[0-9a-f]+$`, said[k])
	}
	require.Equal(t, said[0], said[1], "the clock and the randomness are the same each time")
	require.NoFileExists(t, "spy.txt")
}

func TestAggregation_includesTheModulesOutputInTheError(t *testing.T) {
	err := run(t, inGo(t, spyModule), strategy.Conf{"panic": 1})
	require.ErrorIs(t, err, wasm.ErrFailed)
	require.ErrorContains(t, err, "it said: panic: as it was told")
	require.NotContains(t, err.Error(), "\n")
}

func TestAggregation_reportsTooFewUpdates(t *testing.T) {
	err := run(t, stored(t, "bad", nil), strategy.Conf{"where": "finish", "what": "too few"})
	require.ErrorIs(t, err, strategy.ErrTooFew)
	require.ErrorContains(t, err, "it wants more")
}

func model32(values ...float32) strategy.Model {
	return strategy.Model{tensor.FromFloat32s(values)}
}

// inLoop begins a round whose fl_finish does not end by itself, and returns how it
// ends.
func inLoop(ctx context.Context, t *testing.T) (strategy.Aggregation, <-chan error) {
	t.Helper()
	s := newStrategy(t, stored(t, "bad", &wasm.Options{Time: time.Hour, Fuel: -1}),
		strategy.Conf{"where": "finish", "what": "loop"})
	round, err := s.Begin(strategy.Round{Number: 1, Model: model32(1), Dir: t.TempDir()})
	require.NoError(t, err)
	require.NoError(t, round.Add(t.Context(), strategy.Update{Client: "a", Examples: 1, Model: model32(1)}))
	ended := make(chan error, 1)
	go func() {
		_, err := round.Finish(ctx)
		ended <- err
	}()
	return round, ended
}

func TestModule_Close_endsARunningCall(t *testing.T) {
	round, ended := inLoop(t.Context(), t)
	require.NoError(t, round.Close())
	require.ErrorIs(t, <-ended, strategy.ErrClosed)
	require.NoError(t, round.Close())
}

func TestAggregation_endsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	round, ended := inLoop(ctx, t)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.NoError(t, round.Close())
}
