package wasmfuel

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// lab is a runtime for modules as they are, or metered, with the host functions of
// the test suite of the specification.
type lab struct {
	wazero.Runtime
	fuel  int64 // that is given at most
	spent bool  // whether it was not enough
}

func newLab(t testing.TB, config wazero.RuntimeConfig, fuel int64) *lab {
	t.Helper()
	l := &lab{
		Runtime: wazero.NewRuntimeWithConfig(t.Context(),
			config.WithCoreFeatures(api.CoreFeaturesV2).WithMemoryLimitPages(256)),
		fuel: fuel,
	}
	t.Cleanup(func() { require.NoError(t, l.Close(context.Background())) })
	const i32, i64, f32, f64 = api.ValueTypeI32, api.ValueTypeI64, api.ValueTypeF32, api.ValueTypeF64
	host := l.NewHostModuleBuilder("spectest")
	for name, params := range map[string][]api.ValueType{
		"print": nil, "print_i32": {i32}, "print_i64": {i64}, "print_f32": {f32}, "print_f64": {f64},
		"print_i32_f32": {i32, f32}, "print_f64_f64": {f64, f64},
	} {
		quiet := api.GoModuleFunc(func(context.Context, api.Module, []uint64) {})
		host.NewFunctionBuilder().WithGoModuleFunction(quiet, params, nil).Export(name)
	}
	_, err := host.Instantiate(t.Context())
	require.NoError(t, err)
	refuel := api.GoModuleFunc(func(_ context.Context, instance api.Module, _ []uint64) {
		gauge := instance.ExportedGlobal(labNames().Fuel).(api.MutableGlobal)
		have := int64(gauge.Get())
		if have >= 0 {
			return
		}
		if l.fuel += have; l.fuel < 0 {
			l.spent = true
			panic("no fuel")
		}
		gauge.Set(0)
	})
	_, err = l.NewHostModuleBuilder(labNames().Fuel).NewFunctionBuilder().WithGoModuleFunction(refuel, nil,
		nil).Export(Refuel).Instantiate(t.Context())
	require.NoError(t, err)
	return l
}

func labNames() Names { return Names{Host: "host", Fuel: "fuel"} }

func meterForLab(module []byte) ([]byte, error) { return Meter(module, labNames()) }

// firstLine leaves out the stack that wazero adds to errors.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSuffix(line, " (recovered by wazero)")
}

// page is the unit of memory.
const page = 64 << 10

// outcome is what a call returned, or how it ended.
func outcome(results []uint64, err error) string {
	if err != nil {
		return firstLine(err)
	}
	text := make([]string, len(results))
	for i, v := range results {
		text[i] = strconv.FormatUint(v, 16)
	}
	return strings.Join(text, " ")
}

// command is one of a script of the specification's test suite.
type command struct {
	Type, Filename string
	Line           int
	Action         struct {
		Type, Module, Field string
		Args                []struct {
			Type     string
			LaneType string `json:"lane_type"`
			Value    any
		}
	}
}

// arguments returns the arguments of a call, false for those that only a host has.
func (c command) arguments(t *testing.T) ([]uint64, bool) {
	var all []uint64
	for _, a := range c.Action.Args {
		switch v := a.Value.(type) {
		case []any:
			width, err := strconv.Atoi(a.LaneType[1:])
			require.NoError(t, err)
			var vector []byte
			for _, lane := range v {
				n, err := strconv.ParseUint(lane.(string), 10, 64)
				require.NoError(t, err)
				vector = append(vector, binary.LittleEndian.AppendUint64(nil, n)[:width/8]...)
			}
			all = append(all, binary.LittleEndian.Uint64(vector), binary.LittleEndian.Uint64(vector[8:]))
		case string:
			if strings.HasSuffix(a.Type, "ref") {
				return nil, false
			}
			n, err := strconv.ParseUint(v, 10, 64)
			require.NoError(t, err)
			all = append(all, n)
		}
	}
	return all, true
}

// suite returns the folder with the specification's test suite that wazero brings.
func suite(t *testing.T) string {
	output, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	require.NoError(t, err)
	dir := filepath.Join(strings.TrimSpace(string(output)), "internal", "integration_test", "spectest", "v2", "testdata")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the runtime is here without its tests: ", err)
	}
	return dir
}

// bare returns a module without its custom sections, which metering leaves out. What
// is not a module remains as it is.
func bare(module []byte) []byte {
	sections, err := split(module)
	if err != nil {
		return module
	}
	return join(sections)
}

// bounded reports whether metering refuses a module that is valid for a bound of
// this package.
func bounded(err error) bool {
	for _, bound := range []string{"it imports what is no function", "tables, more than", "elements, more than"} {
		if strings.Contains(err.Error(), bound) {
			return true
		}
	}
	return false
}

// compare runs a script of the suite with its modules as they are and metered, and returns how
// many modules and calls it has compared.
func compare(t *testing.T, dir, script string) (modules, calls int) {
	var content struct{ Commands []command }
	text, err := os.ReadFile(script)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &content))
	plain, counted := newLab(t, wazero.NewRuntimeConfigInterpreter(), 0), newLab(t,
		wazero.NewRuntimeConfigInterpreter(), 1e12)
	var one, two api.Module
	for _, c := range content.Commands {
		where := filepath.Base(script) + ":" + strconv.Itoa(c.Line)
		if strings.HasSuffix(c.Filename, ".wasm") {
			file, err := os.ReadFile(filepath.Join(dir, c.Filename))
			require.NoError(t, err)
			one, two = nil, nil
			first, errOne := plain.InstantiateWithConfig(t.Context(), bare(file), wazero.NewModuleConfig().WithName(""))
			rewritten, errTwo := meterForLab(file)
			if errTwo != nil && bounded(errTwo) {
				continue
			}
			var second api.Module
			if errTwo == nil {
				second, errTwo = counted.InstantiateWithConfig(t.Context(), rewritten, wazero.NewModuleConfig().WithName(""))
			}
			require.Equal(t, errOne == nil, errTwo == nil, "%s %s: %v, %v", where, c.Filename, errOne, errTwo)
			if modules++; errOne == nil && c.Type == "module" {
				one, two = first, second
			}
			continue
		}
		if one == nil || c.Action.Type != "invoke" || c.Action.Module != "" || c.Type == "assert_exhaustion" {
			continue
		}
		if arguments, ok := c.arguments(t); ok {
			want, err := one.ExportedFunction(c.Action.Field).Call(t.Context(), arguments...)
			got, errGot := two.ExportedFunction(c.Action.Field).Call(t.Context(), arguments...)
			require.Equal(t, outcome(want, err), outcome(got, errGot), "%s %s", where, c.Action.Field)
			calls++
		}
	}
	require.False(t, counted.spent)
	return modules, calls
}

func TestMeter_keepsTheResultsOfTheSpecificationTests(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 13 s with the race detector")
	}
	dir := suite(t)
	scripts, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	var modules, calls atomic.Int64
	t.Run("scripts", func(t *testing.T) {
		for _, script := range scripts {
			t.Run(filepath.Base(script), func(t *testing.T) {
				t.Parallel()
				m, c := compare(t, dir, script)
				modules.Add(int64(m))
				calls.Add(int64(c))
			})
		}
	})
	require.Greater(t, modules.Load(), int64(1000))
	require.Greater(t, calls.Load(), int64(10000))
}

// turns is a module with a loop, which takes five instructions a turn, and a function
// for each instruction that is charged by size.
const turns = Magic +
	"\x01\x06\x01\x60\x01\x7f\x01\x7f" + // (i32) -> i32
	"\x03\x05\x04\x00\x00\x00\x00" +
	"\x05\x03\x01\x00\x01" + // a page of memory
	"\x07\x1e\x04\x04loop\x00\x00\x04grow\x00\x01\x04fill\x00\x02\x05early\x00\x03" +
	"\x0a\x41\x04" +
	"\x10\x00\x03\x40\x20\x00\x41\x01\x6b\x22\x00\x0d\x00\x0b\x20\x00\x0b" +
	"\x06\x00\x20\x00\x40\x00\x0b" +
	"\x0d\x00\x41\x00\x41\x07\x20\x00\xfc\x0b\x00\x20\x00\x0b" +
	"\x19\x00\x02\x40\x20\x00\x45\x0d\x00\x41\x05\x0f\x01\x01\x01\x01\x0b\x20\x00\x04\x40\x01\x0b\x41\x06\x0b"

func TestMeter_countsExactlyTheExecutedInstructions(t *testing.T) {
	rewritten, err := meterForLab([]byte(turns))
	require.NoError(t, err)
	again, err := meterForLab([]byte(turns))
	require.NoError(t, err)
	require.Equal(t, rewritten, again)
	for name, c := range map[string]struct {
		function string
		argument uint64
		cost     int64
	}{
		"one turn":                         {"loop", 1, 1 + 5 + 1},
		"a million turns":                  {"loop", 1e6, 1 + 5e6 + 1},
		"a page":                           {"grow", 1, 2 + page/16},
		"pages that there are not":         {"grow", 1 << 20, 2 + 1<<20*page/16},
		"no bytes":                         {"fill", 0, 5},
		"1600 bytes":                       {"fill", 1600, 5 + 100},
		"more bytes than there are":        {"fill", 1<<32 - 1, 5 + (1<<32-1)/16}, // it traps after the charge
		"a branch that is taken":           {"early", 0, 1 + 3 + 2 + 1},
		"a branch that is not, and return": {"early", 1, 1 + 3 + 2},
	} {
		t.Run(name, func(t *testing.T) {
			for missing := range int64(2) {
				l := newLab(t, wazero.NewRuntimeConfig(), c.cost-missing)
				instance, err := l.InstantiateWithConfig(t.Context(), rewritten, wazero.NewModuleConfig())
				require.NoError(t, err)
				_, _ = instance.ExportedFunction(c.function).Call(t.Context(), c.argument)
				require.Equal(t, missing == 1, l.spent)
			}
		})
	}
}

func FuzzMeter(f *testing.F) {
	f.Add([]byte(turns))
	for _, name := range []string{"momentum", "bad"} {
		binary, err := os.ReadFile(filepath.Join("..", "..", "flcollect", "strategy", "wasm", "testdata", "c", name+".wasm"))
		require.NoError(f, err)
		f.Add(binary)
	}
	const enough = 100_000
	plain := newLab(f, wazero.NewRuntimeConfigInterpreter(), 0)
	counted := newLab(f, wazero.NewRuntimeConfigInterpreter(), 0)
	f.Fuzz(func(t *testing.T, module []byte) {
		rewritten, err := meterForLab(module)
		if err != nil {
			return
		}
		again, err := meterForLab(module)
		require.NoError(t, err)
		require.Equal(t, rewritten, again)
		config := wazero.NewModuleConfig().WithName("")
		counted.fuel, counted.spent = enough, false
		two, errTwo := counted.InstantiateWithConfig(t.Context(), rewritten, config)
		if counted.spent {
			return // it might never end without fuel
		}
		one, errOne := plain.InstantiateWithConfig(t.Context(), bare(module), config)
		require.Equal(t, errOne == nil, errTwo == nil, "%v, %v", errOne, errTwo)
		if errOne != nil {
			return
		}
		defer func() { require.NoError(t, errors.Join(one.Close(t.Context()), two.Close(t.Context()))) }()
		functions := one.ExportedFunctionDefinitions()
		for _, name := range slices.Sorted(maps.Keys(functions)) {
			arguments := make([]uint64, words(functions[name].ParamTypes()))
			for i := range arguments {
				arguments[i] = uint64(i)
			}
			got, errTwo := two.ExportedFunction(name).Call(t.Context(), arguments...)
			if counted.spent || (errTwo != nil && strings.Contains(errTwo.Error(), "stack overflow")) {
				return
			}
			want, errOne := one.ExportedFunction(name).Call(t.Context(), arguments...)
			require.Equal(t, outcome(want, errOne), outcome(got, errTwo), name)
		}
	})
}

// words is how many numbers of 64 bits the values have.
func words(types []api.ValueType) int {
	n := len(types)
	for _, t := range types {
		if t == 0x7b { // vectors have two
			n++
		}
	}
	return n
}
