package wasm_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/wasm"
)

// section is a section of a module or the body of a function: what precedes it, its length
// and its content.
func section(before []byte, content ...[]byte) []byte {
	all := slices.Concat(content...)
	return slices.Concat(before, []byte{byte(len(all))}, all)
}

// text is a name with its length.
func text(s string) []byte { return section(nil, []byte(s)) }

// slow returns a module with the function slow. It counts down from two million when it is
// started, and in each call.
func slow() []byte {
	const function = ns + "slow"
	countdown := func(local byte) []byte {
		return []byte{
			0x41, 0x80, 0x89, 0xfa, 0x00, 0x21, local, // i32.const 2000000, local.set
			0x03, 0x40, // loop
			0x20, local, 0x41, 0x01, 0x6b, 0x22, local, // local.get, i32.const 1, i32.sub, local.tee
			0x0d, 0x00, 0x0b, // br_if 0, end
		}
	}
	oneLocal := []byte{1, 1, 0x7f}
	zero := []byte{0x41, 0}
	end := []byte{0x0b}
	return slices.Concat(
		[]byte("\x00asm\x01\x00\x00\x00"),
		section([]byte{1}, []byte{4}, // types: (i32, i32), (), () i32, (i32) i32
			[]byte{0x60, 2, 0x7f, 0x7f, 0}, []byte{0x60, 0, 0}, []byte{0x60, 0, 1, 0x7f}, []byte{0x60, 1, 0x7f, 1, 0x7f}),
		section([]byte{2}, []byte{1}, text("rmlfunction1"), text("function"), []byte{0, 0}),
		section([]byte{3}, []byte{3, 1, 2, 3}),
		section([]byte{5}, []byte{1, 0, 1}), // a page of memory
		section([]byte{7}, []byte{4}, text("memory"), []byte{2, 0}, text("_initialize"), []byte{0, 1},
			text("rml_describe"), []byte{0, 2}, text("rml_apply"), []byte{0, 3}),
		section([]byte{10}, []byte{3},
			section(nil, oneLocal, countdown(0), end),
			section(nil, []byte{0}, zero, []byte{0x41, byte(len(function)), 0x10, 0}, zero, end),
			section(nil, oneLocal, countdown(1), zero, end)),
		section([]byte{11}, []byte{1, 0}, zero, end, text(function)),
	)
}

// A small machine may need more time to start a module than a call may take.
func TestCompile_startsAModuleInTheTimeOfItsCompilation(t *testing.T) {
	module, err := wasm.Compile(t.Context(), slow(), &wasm.Options{Time: time.Nanosecond, CompileTime: 10 * time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, module.Close()) })
	_, err = function(t, module, "slow").Apply(rml.Call{})
	require.ErrorIs(t, err, wasm.ErrFailed)
	require.ErrorContains(t, err, "it ran longer than 1ns")
}

func TestCompile_endsAfterItsTime(t *testing.T) {
	_, err := wasm.Compile(t.Context(), slow(), &wasm.Options{CompileTime: time.Nanosecond})
	require.ErrorIs(t, err, wasm.ErrModule)
	require.ErrorContains(t, err, "its compilation took longer than 1ns")
}
