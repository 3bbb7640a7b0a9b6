package wasm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/internal/wasmfuel"
)

// Errors of this package.
var (
	// ErrModule matches the error of a module that cannot be used.
	ErrModule = errors.New("wasm: module refused")
	// ErrFailed matches the error of a failed call of a module.
	ErrFailed = errors.New("wasm: function failed")
)

// Options bounds the resources of a module. The zero value and nil mean the defaults.
type Options struct {
	// MaxModule is the greatest size of a module in bytes. Zero means 16 MiB.
	MaxModule int64
	// Memory is the most memory of one instance, in bytes, rounded up to whole pages of 64 KiB.
	// Zero means 64 MiB, and 4 GiB is the most. Compiling a module takes up to 500 MB besides.
	Memory int64
	// Instances is how many instances of the module there are at most, and so how many calls
	// run at a time; others wait. Zero means 4.
	Instances int
	// Time is how long one call may take. Zero means 1 second.
	Time time.Duration
	// Fuel is how many instructions one call may run, as the package documentation counts them.
	// The start of an instance and rml_describe have as much each. Zero means 100,000,000.
	Fuel int64
	// MaxResult is the largest result of one call, in bytes; a value counts its bytes and 16
	// more. Zero means 1 MiB.
	MaxResult int
	// CompileTime is how long compiling, starting and describing the module may take. Compiling may end
	// some seconds later, after the current function. Zero means 30 seconds.
	CompileTime time.Duration
}

const page = 64 << 10

// compilers is how many functions of a module are compiled at a time. With more than one, wazero
// checks the time in between.
const compilers = 2

func (o *Options) withDefaults() (Options, error) {
	var full Options
	if o != nil {
		full = *o
	}
	full.MaxModule = cmp.Or(full.MaxModule, 16<<20)
	full.Memory = cmp.Or(full.Memory, 64<<20)
	full.Instances = cmp.Or(full.Instances, 4)
	full.Time = cmp.Or(full.Time, time.Second)
	full.Fuel = cmp.Or(full.Fuel, 100_000_000)
	full.MaxResult = cmp.Or(full.MaxResult, 1<<20)
	full.CompileTime = cmp.Or(full.CompileTime, 30*time.Second)
	for _, bound := range []struct {
		field string
		value int64
	}{
		{"MaxModule", full.MaxModule}, {"Memory", full.Memory}, {"Instances", int64(full.Instances)}, {"Time", int64(full.Time)},
		{"Fuel", full.Fuel}, {"MaxResult", int64(full.MaxResult)}, {"CompileTime", int64(full.CompileTime)},
	} {
		if bound.value < 0 {
			return full, fmt.Errorf("wasm: Options.%s is %d, and has to be positive", bound.field, bound.value)
		}
	}
	if full.Memory > 4<<30 {
		return full, fmt.Errorf("wasm: Options.Memory is %d, and has to be 4 GiB at most", full.Memory)
	}
	return full, nil
}

// Module is a compiled module with functions for mappings. It is safe for concurrent use. Create one
// with [Compile].
type Module struct {
	options   Options
	runtime   wazero.Runtime
	compiled  wazero.CompiledModule
	functions []rml.Function

	slots   chan struct{} // one token for each call that runs
	closing chan struct{} // closed by Close
	mu      sync.Mutex
	idle    []*guest // instances without a call
	once    sync.Once
	gone    error // of the first Close
}

// Compile checks and compiles a module, and runs it to learn its functions. The error of a module that
// cannot be used matches [ErrModule]; if it fails while it describes its functions it matches
// [ErrFailed] too. Close frees the memory of the module.
func Compile(ctx context.Context, binary []byte, options *Options) (*Module, error) {
	full, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	if int64(len(binary)) > full.MaxModule {
		return nil, fmt.Errorf("%w: it has %d bytes, more than %d", ErrModule, len(binary), full.MaxModule)
	}
	binary, err = wasmfuel.Meter(binary, names())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModule, err)
	}
	m := &Module{options: full, slots: make(chan struct{}, full.Instances), closing: make(chan struct{})}
	limited, cancel := context.WithTimeout(experimental.WithCompilationWorkers(ctx, compilers), full.CompileTime)
	defer cancel()
	err = m.compile(limited, binary)
	if err == nil {
		err = m.describe(limited)
	}
	switch {
	case err == nil:
		return m, nil
	case ctx.Err() != nil:
		err = fmt.Errorf("wasm: compile a module: %w", context.Cause(ctx))
	case limited.Err() != nil:
		err = fmt.Errorf("%w: its compilation took longer than %v", ErrModule, full.CompileTime)
	}
	return nil, errors.Join(err, m.Close())
}

// compile compiles a metered module. The host ends a call when the module requests fuel, so wazero
// need not check the context in every iteration of a loop.
func (m *Module) compile(ctx context.Context, binary []byte) error {
	config := wazero.NewRuntimeConfig().
		WithMemoryLimitPages(uint32((m.options.Memory + page - 1) / page)).
		// Without reference types there is one table, and it does not grow.
		WithCoreFeatures(api.CoreFeaturesV2.SetEnabled(api.CoreFeatureReferenceTypes, false))
	m.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	_, err := wasi_snapshot_preview1.Instantiate(ctx, m.runtime)
	if err := errors.Join(err, provide(ctx, m.runtime), provideFuel(ctx, m.runtime)); err != nil {
		return fmt.Errorf("wasm: prepare the runtime: %w", err)
	}
	if m.compiled, err = m.runtime.CompileModule(ctx, binary); err != nil {
		return fmt.Errorf("%w: %s", ErrModule, firstLine(err))
	}
	return m.check()
}

// The exported functions that the host calls.
const (
	describeName = "rml_describe"
	applyName    = "rml_apply"
)

// check checks the exports and imports of the module against the package documentation.
func (m *Module) check() error {
	if _, ok := m.compiled.ExportedMemories()["memory"]; !ok {
		return fmt.Errorf("%w: it exports no memory", ErrModule)
	}
	functions := m.compiled.ExportedFunctions()
	for _, f := range []struct {
		name   string
		params []api.ValueType
	}{{describeName, nil}, {applyName, []api.ValueType{api.ValueTypeI32}}} {
		exported, ok := functions[f.name]
		if !ok {
			return fmt.Errorf("%w: it exports no %s", ErrModule, f.name)
		}
		if !slices.Equal(exported.ParamTypes(), f.params) || !slices.Equal(exported.ResultTypes(), []api.ValueType{api.ValueTypeI32}) {
			return fmt.Errorf("%w: %s must take %d i32 and return one", ErrModule, f.name, len(f.params))
		}
	}
	for _, f := range m.compiled.ImportedFunctions() {
		if from, name, _ := f.Import(); !provided(from, name) {
			return fmt.Errorf("%w: it imports %q of %q, which there is not", ErrModule, name, from)
		}
	}
	return nil
}

// describe asks the module for its functions.
func (m *Module) describe(ctx context.Context) error {
	g, err := m.start(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrModule, err)
	}
	g.described = &description{}
	if err := g.run(ctx, duringDescribe, describeName); err != nil {
		g.close()
		return fmt.Errorf("%w: %w", ErrModule, err)
	}
	if m.functions, err = g.described.finish(m); err != nil {
		g.close()
		return fmt.Errorf("%w: %w", ErrModule, err)
	}
	g.described = nil
	m.idle = append(m.idle, g)
	return nil
}

// Functions returns the functions of the module, for rml.Options.Functions. They fail once the module
// is closed.
func (m *Module) Functions() []rml.Function { return slices.Clone(m.functions) }

// Close ends the calls that run, which fail, waits for them, and frees the memory of the module. It may
// be called several times.
func (m *Module) Close() error {
	m.once.Do(func() {
		close(m.closing)
		for range cap(m.slots) {
			m.slots <- struct{}{}
		}
		if err := m.runtime.Close(context.Background()); err != nil {
			m.gone = fmt.Errorf("wasm: close module: %w", err)
		}
	})
	return m.gone
}

// firstLine leaves out the stack that wazero adds to errors.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSuffix(line, " (recovered by wazero)")
}
