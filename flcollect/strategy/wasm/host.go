package wasm

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

// hostModule is the module that guests import, with the version of the interface.
const hostModule = "flcollect1"

// Bounds of the texts and settings of a module.
const (
	maxName         = 1000 // bytes
	maxText         = 1 << 20
	maxConfig       = 1000    // settings of clients
	maxSettingBytes = 4 << 20 // bytes of them together
)

// hostFunction is a function that guests import. Its run takes the arguments from
// the stack and leaves the result there; invalid arguments are a fault.
type hostFunction struct {
	name    string
	when    moment
	params  []api.ValueType
	results []api.ValueType
	run     func(g *guest, stack []uint64)
}

// provide instantiates the host module.
func provide(ctx context.Context, runtime wazero.Runtime) error {
	builder := runtime.NewHostModuleBuilder(hostModule)
	for _, f := range hostFunctions() {
		builder.NewFunctionBuilder().WithGoModuleFunction(f, f.params, f.results).Export(f.name)
	}
	_, err := builder.Instantiate(ctx)
	return err
}

// Call implements api.GoModuleFunction.
func (f hostFunction) Call(ctx context.Context, instance api.Module, stack []uint64) {
	g := ctx.Value(guestKey{}).(*guest)
	if g.now&f.when == 0 {
		g.trap("%s was called at a time when it must not be", f.name)
	}
	g.instance = instance
	g.inTime(ctx)
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
	const i32, i64, f64 = api.ValueTypeI32, api.ValueTypeI64, api.ValueTypeF64
	types := func(t ...api.ValueType) []api.ValueType { return t }
	return []hostFunction{
		{"param_number", anywhere, types(i32, i32, f64), types(f64), (*guest).paramNumber},
		{"param_text", anywhere, types(i32, i32, i32, i32), types(i32), (*guest).paramText},
		{"fail", anywhere, types(i32, i32), nil, func(g *guest, s []uint64) { g.reason = g.text(s[0], s[1], maxName) }},

		{"set_default", duringSetup, types(i32, i32, f64), nil, (*guest).setDefault},
		{"gather", duringSetup, nil, nil, func(g *guest, _ []uint64) { g.gather = true }},

		{
			"set_number",
			duringConfigure,
			types(i32, i32, f64),
			nil,
			func(g *guest, s []uint64) { g.set(s, math.Float64frombits(s[2])) },
		},
		{"set_integer", duringConfigure, types(i32, i32, i64), nil, func(g *guest, s []uint64) { g.set(s, int64(s[2])) }},
		{"set_truth", duringConfigure, types(i32, i32, i32), nil, func(g *guest, s []uint64) { g.set(s, uint32(s[2]) != 0) }},
		{
			"set_text",
			duringConfigure,
			types(i32, i32, i32, i32),
			nil,
			func(g *guest, s []uint64) { g.set(s, g.text(s[2], s[3], maxText)) },
		},

		{"round", inRound, nil, types(i32), func(g *guest, s []uint64) { s[0] = uint64(uint32(g.round.Number)) }},
		{"loss", inRound, nil, types(f64), (*guest).loss},
		{"tensors", inRound, nil, types(i32), func(g *guest, s []uint64) { s[0] = uint64(len(g.round.Model)) }},
		{
			"tensor_len",
			inRound,
			types(i32),
			types(i64),
			func(g *guest, s []uint64) { s[0] = uint64(g.round.Model[g.layer(s[0])].Len()) },
		},
		{
			"tensor_rank",
			inRound,
			types(i32),
			types(i32),
			func(g *guest, s []uint64) { s[0] = uint64(len(g.round.Model[g.layer(s[0])].Shape())) },
		},
		{"tensor_axis", inRound, types(i32, i32), types(i64), (*guest).tensorAxis},
		{
			"tensor_type",
			inRound,
			types(i32),
			types(i32),
			func(g *guest, s []uint64) { s[0] = uint64(g.round.Model[g.layer(s[0])].DType()) },
		},
		{"model_f64", inRound, types(i32, i64, i32, i32), nil, func(g *guest, s []uint64) { g.readModel(s, 8) }},
		{"model_f32", inRound, types(i32, i64, i32, i32), nil, func(g *guest, s []uint64) { g.readModel(s, 4) }},
		{"state_len", inRound, nil, types(i64), func(g *guest, s []uint64) { s[0] = uint64(len(g.state)) }},
		{"state_read", inRound, types(i64, i32, i32), nil, (*guest).stateRead},

		{
			"updates",
			duringAdd | duringFinish,
			nil,
			types(i32),
			func(g *guest, s []uint64) { s[0] = uint64(len(g.updates.arrivals)) },
		},
		{
			"update_examples",
			duringAdd | duringFinish,
			types(i32),
			types(i64),
			func(g *guest, s []uint64) { s[0] = uint64(g.arrival(s[0]).examples) },
		},
		{
			"update_client",
			duringAdd | duringFinish,
			types(i32, i32, i32),
			types(i32),
			func(g *guest, s []uint64) { s[0] = g.give(g.arrival(s[0]).client, s[1], s[2]) },
		},
		{"update_metric", duringAdd | duringFinish, types(i32, i32, i32), types(f64), (*guest).updateMetric},
		{
			"update_f64",
			duringAdd | duringFinish,
			types(i32, i32, i64, i32, i32),
			nil,
			func(g *guest, s []uint64) { g.readUpdate(s, 8) },
		},
		{
			"update_f32",
			duringAdd | duringFinish,
			types(i32, i32, i64, i32, i32),
			nil,
			func(g *guest, s []uint64) { g.readUpdate(s, 4) },
		},

		{"result_f64", duringFinish, types(i32, i64, i32, i32), nil, func(g *guest, s []uint64) { g.writeResult(s, 8) }},
		{"result_f32", duringFinish, types(i32, i64, i32, i32), nil, func(g *guest, s []uint64) { g.writeResult(s, 4) }},
		{"state_write", duringFinish, types(i32, i32), nil, (*guest).stateWrite},
	}
}

func (g *guest) paramNumber(s []uint64) {
	text, given := g.param(s)
	if !given {
		s[0] = s[2]
		return
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		name := g.text(s[0], s[1], maxName)
		g.fault = &strategy.FieldError{Strategy: g.strategy.name, Field: name, Reason: fmt.Sprintf("%q is not a number", text)}
		panic(g.fault)
	}
	s[0] = math.Float64bits(v)
}

func (g *guest) paramText(s []uint64) {
	text, given := g.param(s)
	if !given {
		s[0] = api.EncodeI32(-1)
		return
	}
	s[0] = g.give(text, s[2], s[3])
}

// param returns a parameter, whose name is in the first two arguments.
func (g *guest) param(s []uint64) (string, bool) {
	name := g.text(s[0], s[1], maxName)
	text, given := g.strategy.conf[name]
	if given && g.asked != nil { // names without a value are not recorded, because their number is unbounded
		g.asked[name] = true
	}
	return text, given
}

func (g *guest) setDefault(s []uint64) {
	name, value := g.text(s[0], s[1], maxName), math.Float64frombits(s[2])
	for _, field := range policyFields() {
		if field == name {
			g.defaults[name] = value
			return
		}
	}
	g.trap("set_default: %q is no parameter of sampling and failures", name)
}

// set stores a setting of clients.
func (g *guest) set(s []uint64, value any) {
	if len(g.config) >= maxConfig {
		g.trap("more than %d settings for clients", maxConfig)
	}
	name := g.text(s[0], s[1], maxName)
	g.settingBytes += len(name)
	if text, ok := value.(string); ok {
		g.settingBytes += len(text)
	}
	if g.settingBytes > maxSettingBytes {
		g.trap("more than %d bytes of settings for clients", maxSettingBytes)
	}
	g.config[name] = value
}

func (g *guest) loss(s []uint64) {
	s[0] = math.Float64bits(math.NaN())
	if g.round.Loss != nil {
		s[0] = math.Float64bits(*g.round.Loss)
	}
}

func (g *guest) tensorAxis(s []uint64) {
	shape, axis := g.round.Model[g.layer(s[0])].Shape(), uint32(s[1])
	if uint64(axis) >= uint64(len(shape)) {
		g.trap("axis %d of tensor %d, which has %d", axis, uint32(s[0]), len(shape))
	}
	s[0] = uint64(shape[axis])
}

func (g *guest) stateRead(s []uint64) {
	from, n := s[0], uint64(uint32(s[2]))
	if from > uint64(len(g.state)) || n > uint64(len(g.state))-from {
		g.trap("state_read: %d bytes from %d of a state of %d", n, int64(from), len(g.state))
	}
	copy(g.bytes(s[1], n), g.state[from:])
}

func (g *guest) stateWrite(s []uint64) {
	data := g.bytes(s[0], uint64(uint32(s[1])))
	if most := g.module.options.MaxState; int64(len(g.next))+int64(len(data)) > most {
		g.trap("state_write: more than %d bytes of state", most)
	}
	if !g.wrote {
		g.wrote, g.next = true, []byte{}
	}
	g.next = append(g.next, data...)
}

func (g *guest) updateMetric(s []uint64) {
	v, ok := g.arrival(s[0]).metrics[g.text(s[1], s[2], maxName)]
	if !ok {
		v = math.NaN()
	}
	s[0] = math.Float64bits(v)
}

// layer checks the number of a tensor.
func (g *guest) layer(argument uint64) int {
	if uint64(uint32(argument)) >= uint64(len(g.round.Model)) {
		g.trap("tensor %d of a model that has %d", int32(argument), len(g.round.Model))
	}
	return int(uint32(argument))
}

// arrival checks the number of an update.
func (g *guest) arrival(argument uint64) arrival {
	if uint64(uint32(argument)) >= uint64(len(g.updates.arrivals)) {
		g.trap("update %d of %d", int32(argument), len(g.updates.arrivals))
	}
	return g.updates.arrivals[uint32(argument)]
}

// bytes returns a view of the guest's memory. It costs fuel by its length.
func (g *guest) bytes(at, n uint64) []byte {
	memory := g.instance.Memory()
	if uint64(uint32(at))+n > uint64(memory.Size()) {
		g.trap("%d bytes at %d of a memory of %d bytes", n, uint32(at), memory.Size())
	}
	g.burn(n / bytesPerFuel)
	view, _ := memory.Read(uint32(at), uint32(n))
	return view
}

// text returns a text in the guest's memory.
func (g *guest) text(at, n uint64, most int) string {
	if uint64(uint32(n)) > uint64(most) {
		g.trap("a text of %d bytes, more than %d", uint32(n), most)
	}
	text := string(g.bytes(at, uint64(uint32(n))))
	if !utf8.ValidString(text) {
		g.trap("a text that is not UTF-8")
	}
	return text
}

// give copies a text to the guest's memory, up to the capacity, and returns the
// length of the text.
func (g *guest) give(text string, at, room uint64) uint64 {
	copy(g.bytes(at, min(uint64(uint32(room)), uint64(len(text)))), text)
	return uint64(len(text))
}
