package wasm_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/strategy/strategytest"
	"github.com/iotenablers/enablers/flcollect/strategy/wasm"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// build builds a module of testdata with the go command, and compiles it.
func build(folder string) (*wasm.Module, error) {
	dir, err := os.MkdirTemp("", folder)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, folder+".wasm")
	command := exec.Command("go", "build", "-buildmode=c-shared", "-o", name, ".")
	command.Dir = filepath.Join("testdata", folder)
	command.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w: %s", folder, err, output)
	}
	binary, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return wasm.Compile(context.Background(), binary, &wasm.Options{Time: 10 * time.Minute}) // the race detector is slow
}

// fedavgModule and spyModule are built once, for all tests.
var (
	fedavgModule = sync.OnceValues(func() (*wasm.Module, error) { return build("fedavg") })
	spyModule    = sync.OnceValues(func() (*wasm.Module, error) { return build("spy") })
)

// compile compiles a module, which is closed at the end of the test.
func compile(t *testing.T, binary []byte, options *wasm.Options) *wasm.Module {
	t.Helper()
	module, err := wasm.Compile(t.Context(), binary, options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, module.Close()) })
	return module
}

// stored compiles a module of testdata/c.
func stored(t *testing.T, name string, options *wasm.Options) *wasm.Module {
	t.Helper()
	binary, err := os.ReadFile(filepath.Join("testdata", "c", name+".wasm"))
	require.NoError(t, err)
	return compile(t, binary, options)
}

func newStrategy(t *testing.T, module *wasm.Module, conf strategy.Conf) *wasm.Strategy {
	t.Helper()
	made, err := module.Strategy(t.Context(), "mine", conf)
	require.NoError(t, err)
	return made
}

func inGo(t *testing.T, module func() (*wasm.Module, error)) *wasm.Module {
	t.Helper()
	built, err := module()
	require.NoError(t, err)
	return built
}

func TestStrategy_conformsForAMeanInGo(t *testing.T) {
	module := inGo(t, fedavgModule)
	strategytest.Run(t, func() strategy.Strategy { return newStrategy(t, module, nil) })
}

func model(values ...float64) strategy.Model { return strategy.Model{tensor.FromFloat64s(values)} }

// aggregate runs a round and returns the first tensor of the new model.
func aggregate(t *testing.T, s strategy.Strategy, number int, before strategy.Model,
	updates ...strategy.Update) []float64 {
	t.Helper()
	round, err := s.Begin(strategy.Round{Number: number, Model: before, Dir: t.TempDir()})
	require.NoError(t, err)
	for _, u := range updates {
		require.NoError(t, round.Add(t.Context(), u))
	}
	after, err := round.Finish(t.Context())
	require.NoError(t, err)
	require.NoError(t, round.Close())
	return after[0].Float64s()
}

func TestStrategy_agreesWithTheBuiltInMean(t *testing.T) {
	s := newStrategy(t, inGo(t, fedavgModule), nil)
	native, err := strategy.New("FedAvg", nil)
	require.NoError(t, err)
	updates := []strategy.Update{
		{Client: "b", Examples: 300, Model: model(1, 2, 3)},
		{Client: "a", Examples: 100, Model: model(5, 6, -7)},
	}
	require.InDeltaSlice(t, aggregate(t, native, 1, model(0, 0, 0), updates...),
		aggregate(t, s, 1, model(0, 0, 0), updates...), 1e-12)
	require.Equal(t, native.Policy(), s.Policy())
}

func TestStrategy_carriesTheStateOfMomentumInC(t *testing.T) {
	module := stored(t, "momentum", nil)
	one := newStrategy(t, module, strategy.Conf{"momentum": "0.5", "fraction_fit": 0.25})
	require.Equal(t, 3, one.Policy().Fit.MinClients, "the module's default")
	require.Equal(t, 0.25, one.Policy().Fit.Fraction, "the job's setting")
	require.Equal(t, 2, one.Policy().MinAvailable, "the default of every strategy")
	require.Nil(t, one.State())

	update := func(v float64) strategy.Update {
		return strategy.Update{Client: "a", Examples: 7, Model: model(v)}
	}
	require.Equal(t, []float64{4}, aggregate(t, one, 1, model(0), update(4))) // velocity 4
	require.Equal(t, []float64{10}, aggregate(t, one, 2, model(4), update(8)))
	two := newStrategy(t, module, strategy.Conf{"momentum": 0.5})
	require.NoError(t, two.Restore(one.State()))
	require.Equal(t, []float64{17}, aggregate(t, one, 3, model(10), update(14))) // velocity 6/2 + 4
	require.Equal(t, []float64{17}, aggregate(t, two, 3, model(10), update(14)))
}

func TestStrategy_keepsItsStateAfterAFailedRound(t *testing.T) {
	s := newStrategy(t, stored(t, "momentum", nil), nil)
	require.Equal(t, []float64{4},
		aggregate(t, s, 1, model(0), strategy.Update{Client: "a", Examples: 1, Model: model(4)}))
	before := s.State()
	round, err := s.Begin(strategy.Round{Number: 2, Model: model(4, 4), Dir: t.TempDir()}) // the state does not fit
	require.NoError(t, err)
	require.NoError(t, round.Add(t.Context(), strategy.Update{Client: "a", Examples: 1, Model: model(5, 5)}))
	_, err = round.Finish(t.Context())
	require.ErrorIs(t, err, wasm.ErrFailed)
	require.ErrorContains(t, err, `finish the round with strategy "mine"`)
	require.ErrorContains(t, err, "state_read: 16 bytes from 0 of a state of 8")
	require.NoError(t, round.Close())
	require.Equal(t, before, s.State())
}

func TestAggregation_Add_returnsTheReasonOfTheModule(t *testing.T) {
	s := newStrategy(t, stored(t, "momentum", nil), strategy.Conf{"max_loss": 2})
	round, err := s.Begin(strategy.Round{Number: 1, Model: model(0), Dir: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, round.Close()) }()
	bad := strategy.Update{Client: "mallory", Examples: 9, Model: model(100), Metrics: map[string]any{"loss": 2.5}}
	err = round.Add(t.Context(), bad)
	require.ErrorIs(t, err, strategy.ErrQuarantined)
	require.ErrorContains(t, err, `"mallory"`)
	require.ErrorContains(t, err, "its loss is too high")
	require.NoError(t, round.Add(t.Context(),
		strategy.Update{Client: "alice", Examples: 1, Model: model(3), Metrics: map[string]any{"loss": int64(1)}}))
	after, err := round.Finish(t.Context())
	require.NoError(t, err)
	require.Equal(t, []float64{3}, after[0].Float64s())
}

func TestStrategy_sendsTheModulesConfigurationToClients(t *testing.T) {
	s := newStrategy(t, stored(t, "momentum", nil), nil)
	config := map[string]any{"epochs": int64(5)}
	s.Configure(strategy.Fit, 4, config)
	require.Equal(t, map[string]any{
		"epochs": int64(5),
		"round":  int64(4),
		"rate":   0.25,
		"first":  false,
		"by":     "momentum.c",
	}, config)
	config = map[string]any{}
	s.Configure(strategy.Evaluate, 4, config)
	require.Empty(t, config)
}

func TestModule_refusesUnknownParameters(t *testing.T) {
	module := stored(t, "momentum", nil)
	for field, value := range map[string]any{"momentun": 0.5, "momentum": "much", "fraction_fit": 2} {
		_, err := module.Strategy(t.Context(), "mine", strategy.Conf{field: value})
		var wrong *strategy.FieldError
		require.ErrorAs(t, err, &wrong)
		require.Equal(t, field, wrong.Field)
		require.Equal(t, "mine", wrong.Strategy)
	}
	s, err := module.Strategy(t.Context(), "mine",
		strategy.Conf{"min_completion_rate_fit": 0.75, "accept_failures": "false", "momentum": nil})
	require.NoError(t, err)
	require.Equal(t, 0.75, s.Policy().Fit.MinCompletion)
	require.Zero(t, s.Policy().Evaluate.MinCompletion)
	require.True(t, s.Policy().Fit.RefuseFailures)
}

func TestCompile_refusesBytesThatAreNotAModule(t *testing.T) {
	binary, err := os.ReadFile("testdata/c/momentum.wasm")
	require.NoError(t, err)
	magic := "\x00asm\x01\x00\x00\x00"
	many := strings.Repeat("\x03\x40\x0b", 1<<14+1) // loops
	tangle := magic + "\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a\x89\x80\x03\x01\x85\x80\x03\x00" + many + "\x0b"
	for name, c := range map[string]struct {
		binary, says string
		options      *wasm.Options
	}{
		"nothing":            {"", "does not begin", nil},
		"text":               {"(module)", "does not begin", nil},
		"a component":        {"\x00asm\x0d\x00\x01\x00", "does not begin", nil},
		"no section":         {magic, "exports no memory", nil},
		"cut off":            {string(binary[:len(binary)/2]), "cut off", nil},
		"an endless section": {magic + "\x01\xff\xff\xff\xff\x0f", "cut off", nil},
		"a great table":      {magic + "\x04\x07\x01\x70\x00\x81\x80\x80\x40", "more than 1048576", nil},
		"many tables":        {magic + "\x04\x07\x02\x70\x00\x01\x70\x00\x01", "2 tables", nil},
		"an imported memory": {magic + "\x02\x07\x01\x01a\x01b\x02\x00", "no function", nil},
		"a great function":   {magic + "\x0a\x05\x01\x80\x80\x80\x01", "more than 524288", nil},
		"a tangled function": {tangle, "more than 16384 branches", nil},
		"an unknown instruction": {
			magic + "\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a\x05\x01\x03\x00\x06\x0b",
			"instruction 0x6 0 is unknown",
			nil,
		},
		"fuel of its own": {
			magic + "\x06\x06\x01\x7e\x01\x42\x00\x0b\x07\x12\x01\x0eflcollect-fuel\x03\x00",
			"exports \"flcollect-fuel\"",
			nil,
		},
		"the fuel as a global": {
			magic + "\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a\x08\x01\x06\x00\x42\x00\x24\x00\x0b",
			"global 0 of 0",
			nil,
		},
		"what gives fuel": {
			magic + "\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a\x06\x01\x04\x00\x10\x01\x0b",
			"function 1 of 1",
			nil,
		},
		"what gives fuel, imported": {
			magic + "\x01\x04\x01\x60\x00\x00\x02\x19\x01\x0eflcollect-fuel\x06refuel\x00\x00",
			"imports \"flcollect-fuel\"",
			nil,
		},
		"too large":       {string(binary), "more than 100", &wasm.Options{MaxModule: 100}},
		"too much memory": {string(binary), "memory", &wasm.Options{Memory: 1 << 20}},
		"invalid code":    {magic + "\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a\x05\x01\x03\x00\x6a\x0b", "function", nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := wasm.Compile(t.Context(), []byte(c.binary), c.options)
			require.ErrorIs(t, err, wasm.ErrModule)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestCompile_refusesInvalidOptions(t *testing.T) {
	for field, options := range map[string]wasm.Options{
		"MaxModule": {MaxModule: -1}, "Memory": {Memory: 5 << 30}, "Time": {Time: -time.Second}, "MaxState": {MaxState: -1},
	} {
		_, err := wasm.Compile(t.Context(), nil, &options)
		require.ErrorContains(t, err, "Options."+field)
	}
}

func TestStrategy_Restore_refusesInvalidStates(t *testing.T) {
	s := newStrategy(t, stored(t, "momentum", &wasm.Options{MaxState: 4}), nil)
	bytes, err := tensor.New(tensor.Uint8, []int{5}, make([]byte, 5))
	require.NoError(t, err)
	for _, state := range [][]tensor.Tensor{{bytes}, {bytes, bytes}, {tensor.FromFloat32s([]float32{1})}} {
		require.ErrorContains(t, s.Restore(state), `restore strategy "mine"`)
	}
	require.NoError(t, s.Restore(nil))
}

func TestModule_Close_failsItsStrategies(t *testing.T) {
	module := stored(t, "momentum", nil)
	s := newStrategy(t, module, nil)
	require.NoError(t, module.Close())
	_, err := s.Begin(strategy.Round{Number: 1, Model: model(0)})
	require.ErrorIs(t, err, wasm.ErrFailed)
	require.NoError(t, module.Close(), "a second Close")
}

func FuzzCompile(f *testing.F) {
	for _, name := range []string{"momentum", "bad"} {
		binary, err := os.ReadFile("testdata/c/" + name + ".wasm")
		require.NoError(f, err)
		f.Add(binary)
	}
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x04\x04\x01\x70\x00\x01"))
	f.Fuzz(func(t *testing.T, binary []byte) {
		module, err := wasm.Compile(t.Context(), binary, &wasm.Options{Time: 5 * time.Second, Memory: 4 << 20})
		if err != nil {
			require.ErrorIs(t, err, wasm.ErrModule)
			return
		}
		require.NoError(t, module.Close())
	})
}
