package wasm

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// hostModule is the module that guests import, with the version of the interface.
const hostModule = "rmlfunction1"

// maxReason is the longest reason of a failure, in bytes.
const maxReason = 1000

// valueOverhead is what a value of a result counts for besides its bytes.
const valueOverhead = 16

// hostFunction is a function that guests import. Its parameters and its result are i32. Its run takes
// the arguments from the stack and leaves the result there; invalid arguments are a fault.
type hostFunction struct {
	name    string
	when    moment
	params  int
	returns bool
	run     func(g *guest, stack []uint64)
}

// provide instantiates the host module.
func provide(ctx context.Context, runtime wazero.Runtime) error {
	builder := runtime.NewHostModuleBuilder(hostModule)
	for _, f := range hostFunctions() {
		params, results := make([]api.ValueType, f.params), []api.ValueType(nil)
		for i := range params {
			params[i] = api.ValueTypeI32
		}
		if f.returns {
			results = []api.ValueType{api.ValueTypeI32}
		}
		builder.NewFunctionBuilder().WithGoModuleFunction(f, params, results).Export(f.name)
	}
	_, err := builder.Instantiate(ctx)
	return err
}

// provided reports whether an import is allowed. Imports of WASI are checked when the module is
// instantiated.
func provided(from, name string) bool {
	if from == hostModule {
		for _, f := range hostFunctions() {
			if f.name == name {
				return true
			}
		}
	}
	return from == wasi_snapshot_preview1.ModuleName || from == fuelName // which only metering imports
}

// Call implements api.GoModuleFunction.
func (f hostFunction) Call(ctx context.Context, instance api.Module, stack []uint64) {
	g := ctx.Value(guestKey{}).(*guest)
	g.adopt(instance)
	if g.now&f.when == 0 {
		g.trap("%s was called at a time when it must not be", f.name)
	}
	g.burn(callFuel)
	f.run(g, stack)
}

// trap ends the call of the guest. wazero turns the panic into an error.
func (g *guest) trap(format string, arguments ...any) {
	g.fault = fmt.Errorf(format, arguments...)
	panic(g.fault)
}

// hostFunctions are all of them, as the package documentation describes them.
func hostFunctions() []hostFunction {
	describe := func(name string, params int, run func(d *description, iri string, flags uint32) error) hostFunction {
		return hostFunction{name, duringDescribe, params, false, func(g *guest, s []uint64) {
			flags := uint32(0)
			if params > 2 {
				flags = uint32(s[2])
			}
			if err := run(g.described, g.text(s[0], s[1], maxIRI), flags); err != nil {
				g.trap("%s: %w", name, err)
			}
		}}
	}
	return []hostFunction{
		{"fail", anywhere, 2, false, func(g *guest, s []uint64) { g.reason = g.text(s[0], s[1], maxReason) }},

		describe("function", 2, (*description).function),
		describe("parameter", 3, (*description).parameter),
		describe("name", 2, (*description).name),
		describe("output", 2, (*description).output),
		describe("datatype", 2, (*description).datatype),

		{"values", duringApply, 1, true, func(g *guest, s []uint64) { s[0] = uint64(len(g.argument(s[0]))) }},
		{"value", duringApply, 4, true, (*guest).value},
		{"output_asked", duringApply, 0, true, func(g *guest, s []uint64) { s[0] = api.EncodeI32(int32(g.output)) }},
		{"result", duringApply, 2, false, (*guest).result},
	}
}

// argument returns the values of a parameter.
func (g *guest) argument(parameter uint64) []string {
	if uint64(uint32(parameter)) >= uint64(len(g.call.Arguments)) {
		g.trap("parameter %d of a function that has %d", int32(parameter), len(g.call.Arguments))
	}
	return g.call.Arguments[uint32(parameter)]
}

// value copies a value to the memory of the guest.
func (g *guest) value(s []uint64) {
	values := g.argument(s[0])
	if uint64(uint32(s[1])) >= uint64(len(values)) {
		g.trap("value %d of parameter %d, which has %d", int32(s[1]), uint32(s[0]), len(values))
	}
	text := values[uint32(s[1])]
	copy(g.bytes(s[2], min(uint64(uint32(s[3])), uint64(len(text)))), text)
	s[0] = uint64(uint32(len(text)))
}

// result takes a value of the result.
func (g *guest) result(s []uint64) {
	most := g.module.options.MaxResult
	g.size += valueOverhead + int(uint32(s[1]))
	if g.size > most {
		g.trap("its result has more than %d bytes, of which a value takes its length and %d", most, valueOverhead)
	}
	g.results = append(g.results, g.text(s[0], s[1], most))
}

// bytes returns a view of the guest's memory. It costs fuel by its length.
func (g *guest) bytes(at, n uint64) []byte {
	memory := g.instance.Memory()
	view, ok := memory.Read(uint32(at), uint32(n))
	if !ok {
		g.trap("%d bytes at %d of a memory of %d bytes", uint32(n), uint32(at), memory.Size())
	}
	g.burn(n / bytesPerFuel)
	return view
}

// text returns a text in the guest's memory.
func (g *guest) text(at, n uint64, most int) string {
	n = uint64(uint32(n))
	if n > uint64(most) {
		g.trap("a text of %d bytes, more than %d", n, most)
	}
	text := string(g.bytes(at, n))
	if !utf8.ValidString(text) {
		g.trap("a text that is not UTF-8")
	}
	return text
}
