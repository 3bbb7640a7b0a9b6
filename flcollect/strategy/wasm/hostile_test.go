package wasm_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/strategy/wasm"
)

// vector is a number and what it counts or measures.
func vector[N int | uint32](n N, body ...[]byte) []byte {
	to := binary.AppendUvarint(nil, uint64(n))
	for _, b := range body {
		to = append(to, b...)
	}
	return to
}

func section(id byte, n int, items ...[]byte) []byte {
	body := vector(n, items...)
	return append([]byte{id}, vector(len(body), body)...)
}

// many repeats bytes.
func many(n int, item ...byte) []byte {
	var all []byte
	for range n {
		all = append(all, item...)
	}
	return all
}

// forged is a module that imports set_text and has so many functions of one body; the
// first is fl_configure, and the others are without parameters. The last but one is
// fl_add, and the last fl_finish.
func forged(functions int, body []byte) []byte {
	const i32 = 0x7f
	kinds := many(functions, 1)
	kinds[0] = 0
	export := func(name string, kind byte, index int) []byte {
		return append(append(vector(len(name), []byte(name)), kind), vector(index)...)
	}
	configure := vector(len(body), body)
	module := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range [][]byte{
		section(1, 3, []byte{0x60, 2, i32, i32, 1, i32}, []byte{0x60, 0, 1, i32}, []byte{0x60, 4, i32, i32, i32, i32, 0}),
		section(2, 1, []byte("\x0aflcollect1\x08set_text\x00\x02")),
		section(3, functions, kinds),
		section(5, 1, []byte{0, 32}),
		section(7, 4, export("memory", 2, 0), export("fl_configure", 0, 1), export("fl_add", 0, functions-1),
			export("fl_finish", 0, functions)),
		section(10, functions, configure, many(functions-1, 4, 0, 0x41, 0, 0x0b)),
	} {
		module = append(module, s...)
	}
	return module
}

// locals is the body of a function with so many variables.
func locals(n int, code ...[]byte) []byte {
	body := append([]byte{1}, append(vector(n), 0x7f)...)
	for _, c := range append(code, []byte{0x41, 0, 0x0b}) {
		body = append(body, c...)
	}
	return body
}

func TestCompile_refusesModulesThatTakeTooLong(t *testing.T) {
	read := func(n int) (code []byte) {
		for k := range n {
			code = append(append(append(code, 0x20), vector(k)...), 0x1a)
		}
		return code
	}
	var (
		nested = append(append(many(1000, 0x03, 0x40), read(4000)...),
			append([]byte{0x41, 0, 0x0d, 0}, many(1000, 0x0b)...)...)
		joins  = append(many(2000, 0x02, 0x40, 0x41, 0, 0x0d, 0, 0x0b), read(1000)...)
		values = append(append(many(2000, 0x20, 0, 0x41, 1, 0x6a), many(2000, 0x03, 0x40, 0x41, 0, 0x0d, 0, 0x0b)...),
			many(2000, 0x1a)...)
	)
	for name, c := range map[string]struct {
		module []byte
		reason string
	}{
		"loops in loops, of many variables": {
			forged(3, locals(4000, nested)),
			"too many branches for so many variables and values",
		},
		"blocks in a row": {
			forged(3, locals(1000, joins)),
			"too many branches for so many variables and values",
		},
		"loops above a high stack": {forged(3, locals(1, values)), "too many branches for so many variables and values"},
		"variables":                {forged(3, locals(4097)), "function 0: it has more than 4096 variables"},
		"variables beyond all numbers": {
			forged(3, append(vector(3, vector(uint32(1<<32-1)), []byte{0x7f}, vector(uint32(1<<32-1)), []byte{0x7f},
				vector(uint32(1<<32-1))), 0x7f, 0x0b)),
			"function 0: it has more than 4096 variables",
		},
		"parameters": {append([]byte("\x00asm\x01\x00\x00\x00"),
			section(1, 1, []byte{0x60}, vector(1001, many(1001, 0x7f)), []byte{0})...),
			"section 1: a type has 1001 parameters or results, more than 1000"},
		"functions": {forged(100_001, locals(1)), "section 3: it has 100001 items, more than 100000"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := wasm.Compile(t.Context(), c.module, &wasm.Options{Time: time.Hour})
			require.ErrorIs(t, err, wasm.ErrModule)
			require.ErrorContains(t, err, c.reason)
		})
	}
}

func TestCompile_acceptsOrdinaryStacksAndVariables(t *testing.T) {
	values := append(append(many(500, 0x20, 0, 0x41, 1, 0x6a), many(100, 0x03, 0x40, 0x41, 0, 0x0d, 0, 0x0b)...),
		many(500, 0x1a)...)
	compile(t, forged(3, locals(500, values)), nil)
}

// The body tells clients 900 texts of 1 MiB, under names of different lengths.
func TestStrategy_boundsTheConfigurationOfClients(t *testing.T) {
	module := compile(t, forged(3, locals(1, []byte{
		0x03, 0x40, // loop
		0x41, 0, 0x20, 2, 0x41, 0, 0x41, 0x80, 0x80, 0xc0, 0, 0x10, 0, // set_text(0, n, 0, 1<<20)
		0x20, 2, 0x41, 1, 0x6a, 0x22, 2, 0x41, 0x84, 7, 0x49, 0x0d, 0, // n++ < 900
		0x0b,
	})), nil)
	s := newStrategy(t, module, nil)
	s.Configure(strategy.Fit, 1, map[string]any{})
	_, err := s.Begin(strategy.Round{Number: 1, Model: model32(0)})
	require.ErrorIs(t, err, wasm.ErrFailed)
	require.ErrorContains(t, err, "fl_configure: more than 4194304 bytes of settings for clients")
}

// The module calls proc_exit(0) in _initialize.
func TestCompile_refusesAModuleThatExitsAtTheStart(t *testing.T) {
	module := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range [][]byte{
		section(1, 3, []byte{0x60, 1, 0x7f, 0}, []byte{0x60, 0, 0}, []byte{0x60, 0, 1, 0x7f}),
		section(2, 1, []byte("\x16wasi_snapshot_preview1\x09proc_exit\x00\x00")),
		section(3, 2, []byte{1, 2}),
		section(5, 1, []byte{0, 1}),
		section(7, 4, []byte("\x06memory\x02\x00"), []byte("\x0b_initialize\x00\x01"), []byte("\x06fl_add\x00\x02"),
			[]byte("\x09fl_finish\x00\x02")),
		section(10, 2, vector(6, []byte{0, 0x41, 0, 0x10, 0, 0x0b}), vector(4, []byte{0, 0x41, 0, 0x0b})),
	} {
		module = append(module, s...)
	}
	_, err := compile(t, module, nil).Strategy(t.Context(), "mine", nil)
	require.ErrorIs(t, err, wasm.ErrFailed)
	require.ErrorContains(t, err, "start: it ended with status 0")
}
