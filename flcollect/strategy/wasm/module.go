package wasm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/iotenablers/enablers/internal/wasmfuel"
)

// Errors of this package.
var (
	// ErrModule matches the error of a module that cannot be used.
	ErrModule = errors.New("wasm: module refused")
	// ErrFailed matches the error of a failed call of a module.
	ErrFailed = errors.New("wasm: strategy failed")
)

// Options bounds the resources of modules. The zero value and nil mean the
// defaults.
type Options struct {
	// MaxModule is the greatest size of a module in bytes. Zero means 16 MiB.
	MaxModule int64
	// Memory is the most memory of a module in one round, in bytes, rounded up to
	// whole pages of 64 KiB. Zero means 256 MiB, and 4 GiB is the most. Its stack of
	// calls takes up to 150 MB besides, while it grows, and compiling it up to 500 MB.
	Memory int64
	// Time is how long one call of a module may take, and its compilation, which may
	// end some seconds later, after the current function. Zero means 30 seconds.
	Time time.Duration
	// Fuel is how many instructions one call of a module may run, as the package
	// documentation counts them. Zero means 1,000,000,000, and in rounds 1000 more
	// for each element of the model, and of each update that the call can read. Negative
	// means that only time is limited.
	Fuel int64
	// MaxState is the largest state that a module carries from round to round, in
	// bytes. Zero means 64 MiB.
	MaxState int64
}

const page = 64 << 10

// compilers is how many functions are compiled at a time. With more than one, wazero
// checks the time in between.
const compilers = 2

func (o *Options) withDefaults() (Options, error) {
	var full Options
	if o != nil {
		full = *o
	}
	full.MaxModule = cmp.Or(full.MaxModule, 16<<20)
	full.Memory = cmp.Or(full.Memory, 256<<20)
	full.Time = cmp.Or(full.Time, 30*time.Second)
	full.MaxState = cmp.Or(full.MaxState, 64<<20)
	switch {
	case full.MaxModule < 0:
		return full, fmt.Errorf("wasm: Options.MaxModule is %d, and has to be positive", full.MaxModule)
	case full.Memory < 0 || full.Memory > 4<<30:
		return full, fmt.Errorf("wasm: Options.Memory is %d, and has to be positive and 4 GiB at most", full.Memory)
	case full.Time < 0:
		return full, fmt.Errorf("wasm: Options.Time is %v, and has to be positive", full.Time)
	case full.MaxState < 0:
		return full, fmt.Errorf("wasm: Options.MaxState is %d, and has to be positive", full.MaxState)
	}
	return full, nil
}

// Module is a compiled module. [Module.Strategy] makes a strategy of it. It is
// safe for concurrent use. Make one with [Compile].
type Module struct {
	options  Options
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	exports  map[string]bool
}

// Is reports whether data begins as a WebAssembly module of version 1 does.
func Is(data []byte) bool { return bytes.HasPrefix(data, []byte(wasmfuel.Magic)) }

// Compile checks and compiles a module. It does not run the module. The error of a
// module that cannot be used matches [ErrModule]. The memory is freed when the
// module and its strategies are not used any more, or by Close.
func Compile(ctx context.Context, binary []byte, options *Options) (*Module, error) {
	m := &Module{}
	var err error
	if m.options, err = options.withDefaults(); err != nil {
		return nil, err
	}
	if int64(len(binary)) > m.options.MaxModule {
		return nil, fmt.Errorf("%w: it has %d bytes, more than %d", ErrModule, len(binary), m.options.MaxModule)
	}
	binary, err = wasmfuel.Meter(binary, names())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModule, err)
	}
	if err := m.compile(ctx, binary, m.config()); err != nil {
		return nil, err
	}
	return m, nil
}

// config is the configuration of the runtime. The host ends a call when it requests
// fuel, so wazero need not check the context in every iteration of a loop, which takes
// twice as long.
func (m *Module) config() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().
		WithMemoryLimitPages(uint32((m.options.Memory + page - 1) / page)).
		WithCoreFeatures(features())
}

// compile compiles a metered module.
func (m *Module) compile(ctx context.Context, binary []byte, config wazero.RuntimeConfig) (err error) {
	m.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, m.runtime); err != nil {
		return fmt.Errorf("wasm: prepare the runtime: %w", err)
	}
	if err := errors.Join(provide(ctx, m.runtime), provideFuel(ctx, m.runtime)); err != nil {
		return fmt.Errorf("wasm: prepare the runtime: %w", err)
	}
	limited, cancel := context.WithTimeout(experimental.WithCompilationWorkers(ctx, compilers), m.options.Time)
	defer cancel()
	m.compiled, err = m.runtime.CompileModule(limited, binary)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("wasm: compile a module: %w", context.Cause(ctx))
	case err != nil && limited.Err() != nil:
		return fmt.Errorf("%w: its compilation took longer than %v", ErrModule, m.options.Time)
	case err != nil:
		return fmt.Errorf("%w: %s", ErrModule, firstLine(err))
	}
	return m.check()
}

// features are the WebAssembly features that compilers use. Without reference
// types there is one table, and it does not grow.
func features() api.CoreFeatures {
	return api.CoreFeaturesV2.SetEnabled(api.CoreFeatureReferenceTypes, false)
}

// check checks the exports and imports of the module against the package
// documentation.
func (m *Module) check() error {
	if _, ok := m.compiled.ExportedMemories()["memory"]; !ok {
		return fmt.Errorf("%w: it exports no memory", ErrModule)
	}
	m.exports = map[string]bool{}
	functions := m.compiled.ExportedFunctions()
	for name, parameters := range map[string]int{
		"fl_setup":     0,
		"fl_configure": 2,
		"fl_begin":     0,
		"fl_add":       0,
		"fl_finish":    0,
	} {
		f, ok := functions[name]
		if !ok {
			continue
		}
		results := f.ResultTypes()
		fits := len(f.ParamTypes()) == parameters && len(results) == 1 && results[0] == api.ValueTypeI32
		for _, t := range f.ParamTypes() {
			fits = fits && t == api.ValueTypeI32
		}
		if !fits {
			return fmt.Errorf("%w: %s must take %d i32 and return one", ErrModule, name, parameters)
		}
		m.exports[name] = true
	}
	if !m.exports["fl_finish"] {
		return fmt.Errorf("%w: it exports no fl_finish", ErrModule)
	}
	for _, f := range m.compiled.ImportedFunctions() {
		if from, name, _ := f.Import(); !provided(from, name) {
			return fmt.Errorf("%w: it imports %q of %q, which there is not", ErrModule, name, from)
		}
	}
	return nil
}

// provided reports whether an import is allowed. Imports of WASI are checked when
// the module is instantiated.
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

// Close frees the memory of the module. Its strategies fail from then on. It may
// be called several times.
func (m *Module) Close() error {
	if err := m.runtime.Close(context.Background()); err != nil {
		return fmt.Errorf("wasm: close module: %w", err)
	}
	return nil
}

// firstLine leaves out the stack that wazero adds to errors.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSuffix(line, " (recovered by wazero)")
}
