package wasm

import (
	"context"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/iotenablers/enablers/internal/wasmfuel"
)

// fuelName is the name that metering adds to a module.
const fuelName = "rmlfunction-fuel"

func names() wasmfuel.Names { return wasmfuel.Names{Host: hostModule, Fuel: fuelName} }

// sip is how much fuel an instance gets at a time. The host checks in between whether the call has to
// end, so a sip must be used up within a few milliseconds.
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
		g.adopt(instance)
		g.inTime()
		g.refuel()
	})
	_, err := runtime.NewHostModuleBuilder(fuelName).
		NewFunctionBuilder().WithGoModuleFunction(refuel, nil, nil).Export(wasmfuel.Refuel).Instantiate(ctx)
	return err
}

// refuel gives the guest another sip if its fuel is negative.
func (g *guest) refuel() {
	lacks := -int64(g.gauge.Get())
	if lacks <= 0 {
		return
	}
	if lacks > g.tank {
		g.exhausted()
	}
	given := min(g.tank, max(lacks, sip))
	g.tank -= given
	g.gauge.Set(uint64(given - lacks))
}

// burn takes fuel for the work of the host.
func (g *guest) burn(units uint64) {
	if g.tank -= int64(units); g.tank >= 0 {
		return
	}
	g.tank += int64(g.gauge.Get()) // the rest of the sip may be enough
	g.gauge.Set(0)
	if g.tank < 0 {
		g.exhausted()
	}
}

func (g *guest) exhausted() {
	g.trap("it used up its fuel of %d instructions", g.module.options.Fuel)
}

// inTime ends the call if its time is over, or if the context of its caller has ended.
func (g *guest) inTime() {
	if err := g.ended(); err != nil {
		g.trap("ended: %w", err)
	}
	if g.module.isClosed() {
		g.trap("its module was closed")
	}
	if !g.deadline.IsZero() && time.Now().After(g.deadline) {
		g.trap("it ran longer than %v", g.module.options.Time)
	}
}
