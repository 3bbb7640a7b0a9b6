package wasm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

// The results of exported functions.
const (
	answerFine   = 0
	answerFail   = 1
	answerRefuse = 2 // of fl_add and fl_finish
)

// moment is the kind of call that a guest runs; each host function is allowed
// in some of them.
type moment uint8

const (
	duringSetup moment = 1 << iota
	duringConfigure
	duringBegin
	duringAdd
	duringFinish

	inRound  = duringBegin | duringAdd | duringFinish
	anywhere = 0xff
)

// guest is one instance of a module, with the data of its host functions. It
// serves one call at a time.
type guest struct {
	module   *Module
	strategy *Strategy
	instance api.Module
	errors   said
	now      moment
	fault    error  // of a host function that does not return
	reason   string // given with fail
	tank     int64  // fuel that the guest has not received yet
	full     int64  // the fuel at the beginning of the call

	// Of setup.
	asked    map[string]bool
	defaults strategy.Conf
	gather   bool
	// Of configure.
	config       map[string]any
	settingBytes int // bytes of the settings
	// Of a round.
	round   strategy.Round
	updates updates
	state   []byte // of the round before
	result  *result
	next    []byte // the state for the round after
	wrote   bool   // whether there is any
}

// guestKey is the key of the guest in the context of a call.
type guestKey struct{}

// start instantiates the module.
func (m *Module) start(ctx context.Context, g *guest) error {
	g.module = m
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize").WithStderr(&g.errors)
	g.fuelUp()
	ctx, cancel := m.limit(ctx, g)
	defer cancel()
	instance, err := m.runtime.InstantiateModule(ctx, m.compiled, config)
	if err != nil {
		return g.explain(ctx, "start", err)
	}
	if instance.IsClosed() { // exit status 0 is not an error
		return g.explain(ctx, "start", sys.NewExitError(0))
	}
	g.instance = instance
	return nil
}

// limit returns the context for one call.
func (m *Module) limit(ctx context.Context, g *guest) (context.Context, context.CancelFunc) {
	late := fmt.Errorf("it ran longer than %v", m.options.Time)
	return context.WithDeadlineCause(context.WithValue(ctx, guestKey{}, g), time.Now().Add(m.options.Time), late)
}

// has reports whether the module exports a function.
func (g *guest) has(name string) bool { return g.module.exports[name] }

// call calls an exported function, which must exist, and returns its result: fine or
// refuse, with the reason. Every other result is an error.
func (g *guest) call(ctx context.Context, during moment, name string, arguments ...uint64) (uint32, string, error) {
	g.now, g.fault, g.reason = during, nil, ""
	g.fuelUp()
	defer func() { g.now = 0 }()
	ctx, cancel := g.module.limit(ctx, g)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return 0, "", context.Cause(ctx)
	}
	results, err := g.instance.ExportedFunction(name).Call(ctx, arguments...)
	if err != nil {
		return 0, "", g.explain(ctx, name, err)
	}
	answer := uint32(results[0])
	switch {
	case answer == answerFine:
	case answer == answerRefuse && during&(duringAdd|duringFinish) != 0:
	case answer == answerFail:
		return 0, "", fmt.Errorf("%w: %s: %s", ErrFailed, name, g.given())
	default:
		return 0, "", fmt.Errorf("%w: %s answered %d", ErrFailed, name, int32(answer))
	}
	return answer, g.given(), nil
}

func (g *guest) given() string {
	if g.reason == "" {
		return "no reason was given"
	}
	return g.reason
}

// explain returns the error of a call that did not return.
func (g *guest) explain(ctx context.Context, name string, err error) error {
	why := firstLine(err)
	var exit *sys.ExitError
	var field *strategy.FieldError
	switch {
	case errors.As(g.fault, &field):
		return field
	case g.fault != nil:
		why = g.fault.Error()
	case ctx.Err() != nil && context.Cause(ctx) != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return context.Cause(ctx) // the context of the caller has ended
	case ctx.Err() != nil:
		why = context.Cause(ctx).Error()
	case errors.As(err, &exit):
		why = fmt.Sprintf("it ended with status %d", exit.ExitCode())
	}
	if said := g.errors.String(); said != "" {
		why += "; it said: " + said
	}
	return fmt.Errorf("%w: %s: %s", ErrFailed, name, why)
}

// close removes the instance. It may be called several times.
func (g *guest) close() {
	if g.instance != nil {
		_ = g.instance.Close(context.Background()) // closing an instance cannot fail
		g.instance = nil
	}
}

// said keeps the beginning of the module's standard error, for error messages.
type said struct{ text []byte }

const maxSaid = 1000 // bytes

// Write implements io.Writer.
func (t *said) Write(p []byte) (int, error) {
	t.text = append(t.text, p[:min(len(p), maxSaid-len(t.text))]...)
	return len(p), nil
}

// String returns the text on one line.
func (t *said) String() string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(t.text), "?")), " ")
}
