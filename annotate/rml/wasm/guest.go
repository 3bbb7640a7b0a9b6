package wasm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"github.com/iotenablers/enablers/annotate/rml"
)

// The results of exported functions.
const (
	answerFine = 0
	answerFail = 1
)

// moment is the kind of call that a guest runs; each host function is allowed in some of them.
type moment uint8

const (
	duringDescribe moment = 1 << iota
	duringApply

	anywhere = 0xff
)

// guest is one instance of a module, with the data of its host functions. It serves one call at a time.
type guest struct {
	module   *Module
	instance api.Module
	gauge    api.MutableGlobal // the fuel that the instance has
	exported api.Function      // rml_apply
	context  context.Context   // with the guest
	stack    [1]uint64

	// Of the call.
	now      moment
	ended    func() error // why the call has to end
	deadline time.Time    // zero for a call whose context has one
	tank     int64        // fuel that the guest has not received yet
	errors   said
	fault    error  // of a host function that does not return
	reason   string // given with fail

	described *description
	call      rml.Call
	output    int // of those that the description lists; -1 if it lists none
	results   []string
	size      int // of the results
}

// guestKey is the key of the guest in the context of a call.
type guestKey struct{}

// apply calls a function of the module.
func (m *Module) apply(function int, outputs []string, call rml.Call) ([]string, error) {
	if err := m.enter(); err != nil {
		return nil, err
	}
	defer func() { <-m.slots }()
	g, err := m.instance()
	if err != nil {
		return nil, err
	}
	g.call = call
	g.output = slices.Index(outputs, call.Output)
	g.results = nil
	g.size = 0
	err = g.run(context.Background(), duringApply, applyName, uint64(function))
	results := g.results
	g.call = rml.Call{}
	g.results = nil
	if err != nil && !errors.As(err, new(answeredError)) {
		g.close()
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.idle = append(m.idle, g)
	if err != nil {
		return nil, err
	}
	return results, nil
}

// enter waits until fewer calls run than there may be instances.
func (m *Module) enter() error {
	select {
	case m.slots <- struct{}{}:
		if !m.isClosed() {
			return nil
		}
		<-m.slots
	case <-m.closing:
	}
	return fmt.Errorf("%w: its module was closed", ErrFailed)
}

func (m *Module) isClosed() bool {
	select {
	case <-m.closing:
		return true
	default:
		return false
	}
}

// instance returns an instance without a call.
func (m *Module) instance() (*guest, error) {
	m.mu.Lock()
	if last := len(m.idle) - 1; last >= 0 {
		g := m.idle[last]
		m.idle = m.idle[:last]
		m.mu.Unlock()
		return g, nil
	}
	m.mu.Unlock()
	return m.start(context.Background())
}

// start instantiates the module.
func (m *Module) start(ctx context.Context) (*guest, error) {
	g := &guest{module: m}
	g.context = context.WithValue(context.Background(), guestKey{}, g)
	g.begin(ctx, 0)
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize").WithStderr(&g.errors)
	instance, err := m.runtime.InstantiateModule(g.context, m.compiled, config)
	if err == nil && instance.IsClosed() { // exit status 0 is not an error
		err = sys.NewExitError(0)
	}
	if err != nil {
		return nil, g.explain("start", err)
	}
	g.adopt(instance)
	g.exported = instance.ExportedFunction(applyName)
	return g, nil
}

// adopt sets the instance of the guest, which functions of the host may see before start does.
func (g *guest) adopt(instance api.Module) {
	if g.instance == nil {
		g.instance = instance
		g.gauge = instance.ExportedGlobal(fuelName).(api.MutableGlobal)
	}
}

// begin prepares the guest for a call. A description has the time of the compilation, which ends the
// context.
func (g *guest) begin(ctx context.Context, during moment) {
	g.now = during
	g.fault = nil
	g.reason = ""
	g.ended = ctx.Err
	g.errors.text = g.errors.text[:0]
	g.deadline = time.Time{}
	if _, bounded := ctx.Deadline(); !bounded {
		g.deadline = time.Now().Add(g.module.options.Time)
	}
	g.tank = g.module.options.Fuel
	if g.gauge != nil {
		given := min(g.tank, sip)
		g.tank -= given
		g.gauge.Set(uint64(given))
	}
}

// answeredError is the error of a call that returned. The instance is in order.
type answeredError struct{ text string }

func (e answeredError) Error() string { return e.text }

// run calls an exported function.
func (g *guest) run(ctx context.Context, during moment, name string, arguments ...uint64) error {
	g.begin(ctx, during)
	defer func() { g.now = 0 }()
	exported := g.exported
	if name != applyName {
		exported = g.instance.ExportedFunction(name)
	}
	copy(g.stack[:], arguments)
	if err := exported.CallWithStack(g.context, g.stack[:]); err != nil {
		return g.explain(name, err)
	}
	switch answer := int32(g.stack[0]); {
	case answer == answerFine:
		return nil
	case answer == answerFail && g.reason != "":
		return fmt.Errorf("%w: %w", ErrFailed, answeredError{g.reason})
	case answer == answerFail:
		return fmt.Errorf("%w: %w", ErrFailed, answeredError{"no reason was given"})
	default:
		return fmt.Errorf("%w: %s answered %d, expected 0 or 1", ErrFailed, name, answer)
	}
}

// explain returns the error of a call that did not return.
func (g *guest) explain(name string, err error) error {
	why := firstLine(err)
	var exit *sys.ExitError
	switch {
	case g.fault != nil:
		why = g.fault.Error()
	case errors.As(err, &exit):
		why = fmt.Sprintf("it ended with status %d", exit.ExitCode())
	}
	if said := g.errors.String(); said != "" {
		why += "; it said: " + said
	}
	return fmt.Errorf("%w: %s: %s", ErrFailed, name, why)
}

// close removes the instance.
func (g *guest) close() { _ = g.instance.Close(context.Background()) } // closing an instance cannot fail

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
