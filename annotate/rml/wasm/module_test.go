package wasm_test

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/wasm"
)

const ns = "http://example.com/fn#"

// stored returns the module of testdata.
func stored(t testing.TB) []byte {
	t.Helper()
	module, err := os.ReadFile("testdata/functions.wasm")
	require.NoError(t, err)
	return module
}

// compile compiles the module of testdata, which is closed at the end of the test.
func compile(t testing.TB, options wasm.Options) *wasm.Module {
	t.Helper()
	if options.Time == 0 {
		options.Time = time.Minute // a machine may be busy
	}
	options.CompileTime = 10 * time.Minute // the race detector is slow
	module, err := wasm.Compile(t.Context(), stored(t), &options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, module.Close()) })
	return module
}

// function returns a function of a module.
func function(t testing.TB, module *wasm.Module, name string) rml.Function {
	t.Helper()
	for _, f := range module.Functions() {
		if f.IRI == ns+name {
			return f
		}
	}
	require.Fail(t, "no function "+name)
	return rml.Function{}
}

func apply(t testing.TB, module *wasm.Module, name string, values ...string) ([]string, error) {
	t.Helper()
	call := rml.Call{}
	for _, v := range values {
		call.Arguments = append(call.Arguments, []string{v})
	}
	return function(t, module, name).Apply(call)
}

func TestModule_Functions_areAsTheModuleDescribesThem(t *testing.T) {
	module := compile(t, wasm.Options{})
	upper := function(t, module, "upper")
	require.Equal(t, []rml.Parameter{{IRIs: []string{ns + "textParam", ns + "text"}}}, upper.Parameters)
	require.Equal(t, []string{ns + "textOut", ns + "upperOut"}, upper.Outputs)
	require.Empty(t, upper.Datatypes)
	values := function(t, module, "values")
	require.Equal(t, []rml.Parameter{
		{IRIs: []string{ns + "listParam", ns + "list"}, List: true}, {IRIs: []string{ns + "restParam", ns + "rest"}, Optional: true},
	}, values.Parameters)
	require.Equal(t, []string{"http://www.w3.org/2001/XMLSchema#integer"}, values.Datatypes)
	require.Len(t, module.Functions(), 12)
}

func TestModule_Functions_apply(t *testing.T) {
	module := compile(t, wasm.Options{})
	upper := function(t, module, "upper")
	for output, want := range map[string]string{ns + "textOut": "VENUS É", ns + "upperOut": "[VENUS É]"} {
		got, err := upper.Apply(rml.Call{Output: output, Arguments: [][]string{{"Venus É"}}})
		require.NoError(t, err)
		require.Equal(t, []string{want}, got)
	}
	got, err := apply(t, module, "upper", "")
	require.NoError(t, err)
	require.Equal(t, []string{""}, got)
	got, err = function(t, module, "values").Apply(rml.Call{Arguments: [][]string{{"a", "b", "c"}, nil}})
	require.NoError(t, err)
	require.Equal(t, []string{"3", "0"}, got)
}

// source reads one JSON message of the default stream.
const source = `rml:logicalSource [ rml:source [ a <http://carml.taxonic.com/carml/Stream> ] ;
    rml:referenceFormulation rml:JSONPath ; rml:iterator "$" ] ;`

func TestModule_Functions_mapMessages(t *testing.T) {
	mapping, err := rml.Load([]byte(`@prefix rml: <http://w3id.org/rml/> . @prefix fn: <`+ns+`> . @prefix ex: <http://example.com/> .
ex:M `+source+`
  rml:subject ex:s ; rml:predicateObjectMap [ rml:predicate ex:upper ; rml:objectMap [ rml:functionExecution [
    rml:function fn:upper ; rml:input [ rml:parameter fn:text ; rml:inputValueMap [ rml:reference "$.v[*]" ] ] ] ] ],
  [ rml:predicate ex:values ; rml:objectMap [ rml:functionExecution [
    rml:function fn:values ; rml:input [ rml:parameter fn:list ; rml:inputValueMap [ rml:reference "$.v[*]" ] ] ] ] ] .`), nil)
	require.NoError(t, err)
	plan, err := rml.Compile(mapping, &rml.Options{Functions: compile(t, wasm.Options{}).Functions()})
	require.NoError(t, err)
	out, err := plan.NewMapper().Append(nil, []byte(`{"v":["a","b"]}`))
	require.NoError(t, err)
	const s, integer = "<http://example.com/s> <http://example.com/", `"^^<http://www.w3.org/2001/XMLSchema#integer> .`
	require.ElementsMatch(t, []string{
		s + `upper> "A" .`, s + `upper> "B" .`, s + `values> "2` + integer, s + `values> "0` + integer,
	}, strings.Split(strings.TrimSpace(string(out)), "\n"))
}

// raw is the argument of the function raw for a result at a place.
func raw(at, length uint32) string {
	return hex.EncodeToString(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, at), length))
}

func TestModule_Functions_failWhereAModuleMisbehaves(t *testing.T) {
	module := compile(t, wasm.Options{Fuel: 3_000_000, Memory: 4 << 20, MaxResult: 10_000, Instances: 1})
	for name, c := range map[string]struct {
		function  string
		arguments []string
		says      string
	}{
		"a loop":                      {"loop", nil, "rml_apply: it used up its fuel of 3000000 instructions"},
		"a trap":                      {"trap", nil, "rml_apply: wasm error: unreachable"},
		"memory beyond its bound":     {"grow", nil, "rml_apply: wasm error: unreachable"},
		"a failure":                   {"refuse", nil, "wasm: function failed: it does not like the argument"},
		"an unknown answer":           {"answer", nil, "rml_apply answered 7, expected 0 or 1"},
		"too many results":            {"many", nil, "rml_apply: its result has more than 10000 bytes"},
		"an argument it has not":      {"outside", nil, "rml_apply: parameter 0 of a function that has 0"},
		"describing at another time":  {"late", nil, "rml_apply: function was called at a time when it must not be"},
		"a result outside its memory": {"raw", []string{raw(2<<16-2, 3)}, "3 bytes at 131070 of a memory of 131072 bytes"},
		"a result around its memory":  {"raw", []string{raw(1<<32-1, 3)}, "3 bytes at 4294967295 of a memory of 131072 bytes"},
		"a long result":               {"raw", []string{raw(0, 1<<32-1)}, "its result has more than 10000 bytes"},
		"a result that is no text":    {"raw", []string{"00010010" + "00000001" + "\xff"}, "a text that is not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := apply(t, module, c.function, c.arguments...)
			require.ErrorIs(t, err, wasm.ErrFailed)
			require.ErrorContains(t, err, c.says)
			require.Empty(t, got)
			got, err = apply(t, module, "upper", "still")
			require.NoError(t, err, "the next call")
			require.Equal(t, []string{"STILL"}, got)
		})
	}
}

func TestModule_Functions_runOutOfTime(t *testing.T) {
	module := compile(t, wasm.Options{Time: 50 * time.Millisecond, Fuel: 1 << 60})
	_, err := apply(t, module, "loop")
	require.ErrorIs(t, err, wasm.ErrFailed)
	require.ErrorContains(t, err, "it ran longer than 50ms")
}

// A mapper names the function whose module failed.
func TestModule_Functions_nameTheFunctionThatFailed(t *testing.T) {
	mapping, err := rml.Load([]byte(`@prefix rml: <http://w3id.org/rml/> . @prefix fn: <`+ns+`> . @prefix ex: <http://example.com/> .
ex:M `+source+`
  rml:subject ex:s ;
  rml:predicateObjectMap [ rml:predicate ex:p ; rml:objectMap [ rml:functionExecution [ rml:function fn:trap ] ] ] .`), nil)
	require.NoError(t, err)
	plan, err := rml.Compile(mapping, &rml.Options{Functions: compile(t, wasm.Options{}).Functions()})
	require.NoError(t, err)
	out, err := plan.NewMapper().Append(nil, []byte(`{}`))
	var failed *rml.MessageError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, wasm.ErrFailed)
	require.ErrorContains(t, err, "apply <"+ns+"trap>: wasm: function failed: rml_apply: wasm error: unreachable")
	require.Empty(t, out)
}

// An instance is used again after a call that returned, and replaced after one that did not.
func TestModule_Functions_replaceInstancesThatFailed(t *testing.T) {
	module := compile(t, wasm.Options{Instances: 1})
	for _, step := range []struct{ function, want string }{
		{"count", "1"}, {"count", "2"}, {"refuse", ""}, {"count", "3"}, {"trap", ""}, {"count", "1"},
	} {
		got, err := apply(t, module, step.function)
		require.Equal(t, step.want == "", err != nil)
		require.Equal(t, step.want, strings.Join(got, ""))
	}
}

func TestModule_Functions_areSafeForConcurrentUse(t *testing.T) {
	module := compile(t, wasm.Options{Instances: 3, Memory: 2 << 20})
	upper, trap := function(t, module, "upper"), function(t, module, "trap")
	failures := make(chan error, 8)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 200 {
				if i%50 == 49 {
					if _, err := trap.Apply(rml.Call{}); err == nil {
						failures <- fmt.Errorf("the trap returned")
						return
					}
				}
				got, err := upper.Apply(rml.Call{Arguments: [][]string{{fmt.Sprintf("w%di%d", worker, i)}}})
				if want := fmt.Sprintf("W%dI%d", worker, i); err != nil || len(got) != 1 || got[0] != want {
					failures <- fmt.Errorf("%v, %w, expected %s", got, err, want)
					return
				}
			}
		})
	}
	all.Wait()
	close(failures)
	require.NoError(t, <-failures)
}

func TestModule_Close_endsItsCalls(t *testing.T) {
	module := compile(t, wasm.Options{Fuel: 1 << 60, Instances: 1})
	loop := function(t, module, "loop")
	ended := make(chan error, 2)
	for range 2 { // one runs, or begins to, and one waits
		go func() {
			_, err := loop.Apply(rml.Call{})
			ended <- err
		}()
	}
	require.NoError(t, module.Close())
	for range 2 {
		require.ErrorContains(t, <-ended, "its module was closed")
	}
	require.NoError(t, module.Close(), "a second Close")
	_, err := apply(t, module, "upper", "a")
	require.ErrorIs(t, err, wasm.ErrFailed)
}

func TestCompile_refusesModulesThatItCannotUse(t *testing.T) {
	const magic = "\x00asm\x01\x00\x00\x00"
	good := string(stored(t))
	replaced := func(old, by string) string {
		require.Len(t, by, len(old))
		require.Contains(t, good, old)
		return strings.ReplaceAll(good, old, by)
	}
	for name, c := range map[string]struct {
		module  string
		options wasm.Options
		says    string
	}{
		"nothing":                  {"", wasm.Options{}, "does not begin"},
		"text":                     {"(module)", wasm.Options{}, "does not begin"},
		"no section":               {magic, wasm.Options{}, "exports no memory"},
		"half":                     {good[:len(good)/2], wasm.Options{}, "cut off"},
		"too large":                {good, wasm.Options{MaxModule: 100}, "more than 100"},
		"too much memory":          {good, wasm.Options{Memory: 1 << 16}, "memory"},
		"no rml_apply":             {replaced("rml_apply", "rml_appla"), wasm.Options{}, "it exports no rml_apply"},
		"an import of another":     {replaced("output_asked", "output_given"), wasm.Options{}, `it imports "output_given"`},
		"an older interface":       {replaced("rmlfunction1", "rmlfunction0"), wasm.Options{}, `of "rmlfunction0"`},
		"no IRI":                   {replaced("com/fn#upper", "com/fn upper"), wasm.Options{}, "not an absolute IRI"},
		"a function twice":         {replaced("http://example.com/fn#loop", "http://example.com/fn#trap"), wasm.Options{}, "is described twice"},
		"a parameter twice":        {replaced("fn#rest", "fn#list"), wasm.Options{}, "names two parameters of <http://example.com/fn#values>"},
		"too little fuel to start": {good, wasm.Options{Fuel: 500}, "it used up its fuel of 500 instructions"},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.CompileTime = 10 * time.Minute
			_, err := wasm.Compile(t.Context(), []byte(c.module), &c.options)
			require.ErrorIs(t, err, wasm.ErrModule)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestCompile_refusesInvalidOptions(t *testing.T) {
	for field, options := range map[string]wasm.Options{
		"MaxModule": {MaxModule: -1}, "Memory": {Memory: 5 << 30}, "Time": {Time: -1}, "Fuel": {Fuel: -1}, "MaxResult": {MaxResult: -1},
		"Instances": {Instances: -1}, "CompileTime": {CompileTime: -1},
	} {
		_, err := wasm.Compile(t.Context(), nil, &options)
		require.ErrorContains(t, err, "Options."+field)
	}
}

func TestCompile_endsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := wasm.Compile(ctx, stored(t), nil)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, wasm.ErrModule)
}

// FuzzCompile compiles modules and calls their functions within narrow bounds.
func FuzzCompile(f *testing.F) {
	f.Add(stored(f))
	f.Fuzz(func(t *testing.T, binary []byte) {
		module, err := wasm.Compile(t.Context(), binary, &wasm.Options{
			Memory: 1 << 20, Fuel: 200_000, MaxResult: 1000, Instances: 1, Time: time.Second, CompileTime: 5 * time.Second,
		})
		if err != nil {
			require.ErrorIs(t, err, wasm.ErrModule)
			return
		}
		for _, function := range module.Functions() {
			call := rml.Call{}
			for range function.Parameters {
				call.Arguments = append(call.Arguments, []string{"0000000000000001"})
			}
			checkResult(t, function, call, 1000)
		}
		require.NoError(t, module.Close())
	})
}

// FuzzResult has a module return texts from any place of its memory, which holds any text.
func FuzzResult(f *testing.F) {
	f.Add(uint32(1<<16+16), uint32(4), []byte("text"))
	f.Add(uint32(1<<16), uint32(1<<16), []byte("\xff"))
	f.Add(uint32(1<<17-1), uint32(2), []byte(nil))
	f.Add(uint32(0), uint32(1<<32-1), []byte(nil))
	module := compile(f, wasm.Options{Instances: 1})
	f.Fuzz(func(t *testing.T, at, length uint32, memory []byte) {
		checkResult(t, function(t, module, "raw"), rml.Call{Arguments: [][]string{{raw(at, length) + string(memory)}}}, 1<<20)
	})
}

// checkResult requires texts within the bound, or an error that says that the module failed.
func checkResult(t *testing.T, function rml.Function, call rml.Call, most int) {
	values, err := function.Apply(call)
	if err != nil {
		require.ErrorIs(t, err, wasm.ErrFailed)
		return
	}
	for _, v := range values {
		require.True(t, utf8.ValidString(v))
		most -= len(v) + 16
	}
	require.GreaterOrEqual(t, most, 0)
}
