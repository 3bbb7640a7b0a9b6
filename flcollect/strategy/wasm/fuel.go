package wasm

import (
	"context"
	"fmt"
	"math"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/iotenablers/enablers/internal/wasmfuel"
)

// fuelName is the name that metering adds to a module.
const fuelName = "flcollect-fuel"

func names() wasmfuel.Names { return wasmfuel.Names{Host: hostModule, Fuel: fuelName} }

// What a call may use if [Options].Fuel is zero.
const (
	defaultFuel     = 1_000_000_000
	fuelPerElement  = 1000
	unlimitedFuel   = math.MaxInt64
	maxElementsFuel = unlimitedFuel / 4 // bounds the fuel for elements
)

// sip is how much fuel a module gets at a time. The host checks in between whether the
// call has to end, so a sip must be used up within a few milliseconds.
const sip = 1 << 20

// The cost of host functions: of each call, and of the data that they copy.
const (
	callFuel     = 100
	bytesPerFuel = 16
)

// provideFuel instantiates the module that metered modules import.
func provideFuel(ctx context.Context, runtime wazero.Runtime) error {
	refuel := api.GoModuleFunc(func(ctx context.Context, instance api.Module, _ []uint64) {
		g := ctx.Value(guestKey{}).(*guest)
		g.instance = instance
		g.inTime(ctx)
		if instance.IsClosed() {
			g.trap("its module was closed")
		}
		g.refuel()
	})
	_, err := runtime.NewHostModuleBuilder(fuelName).
		NewFunctionBuilder().WithGoModuleFunction(refuel, nil, nil).Export(wasmfuel.Refuel).Instantiate(ctx)
	return err
}

// fuelUp sets the fuel of the guest for one call.
func (g *guest) fuelUp() {
	g.tank = g.module.options.Fuel
	switch {
	case g.tank < 0:
		g.tank = unlimitedFuel
	case g.tank == 0:
		g.tank = defaultFuel + g.elementFuel()
	}
	g.full = g.tank
	if g.instance != nil {
		g.gauge().Set(0) // the first instruction requests a sip
	}
}

// elementFuel is the additional fuel of a call for the elements of the model and of
// the updates that it can read.
func (g *guest) elementFuel() int64 {
	elements := int64(0)
	for _, t := range g.round.Model {
		elements += int64(t.Len())
	}
	models := int64(1 + len(g.updates.arrivals))
	if elements > maxElementsFuel/fuelPerElement/models {
		return maxElementsFuel
	}
	return elements * models * fuelPerElement
}

// gauge is the variable with the remaining fuel of the guest's sip.
func (g *guest) gauge() api.MutableGlobal {
	return g.instance.ExportedGlobal(fuelName).(api.MutableGlobal)
}

// refuel gives the guest another sip if its fuel is negative.
func (g *guest) refuel() {
	gauge := g.gauge()
	lacks := -int64(gauge.Get())
	if lacks <= 0 {
		return
	}
	if lacks > g.tank {
		g.exhausted()
	}
	given := min(g.tank, max(lacks, sip))
	g.tank -= given
	gauge.Set(uint64(given - lacks))
}

// burn takes fuel for the work of the host.
func (g *guest) burn(units uint64) {
	if g.tank -= int64(units); g.tank >= 0 {
		return
	}
	gauge := g.gauge() // the rest of the sip may be enough
	g.tank += int64(gauge.Get())
	gauge.Set(0)
	if g.tank < 0 {
		g.exhausted()
	}
}

func (g *guest) exhausted() {
	g.trap("it used up its fuel of %d instructions", g.full)
}

// inTime ends the call if its time is over, or if the context of its caller has
// ended.
func (g *guest) inTime(ctx context.Context) {
	if ctx.Err() != nil {
		panic(fmt.Errorf("ended: %w", context.Cause(ctx)))
	}
}
