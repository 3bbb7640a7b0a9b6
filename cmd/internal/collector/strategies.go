package collector

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/strategy/pickle"
	"github.com/iotenablers/enablers/flcollect/strategy/wasm"
)

// loadStrategy is a repository.Loader: a WebAssembly module is run, and a pickled
// strategy of Flower is the built-in one of the same name.
func loadStrategy(ctx context.Context, name string, file []byte, conf strategy.Conf) (strategy.Strategy, error) {
	switch {
	case wasm.Is(file):
		return loadModule(ctx, name, file, conf)
	case pickle.Is(file):
		stored, err := pickle.Read(file)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", flcollect.ErrNoStrategy, err)
		}
		return stored.Strategy(conf)
	}
	return nil, fmt.Errorf("%w: the file is neither a WebAssembly module nor a pickled strategy", flcollect.ErrNoStrategy)
}

// loadModule makes a strategy of a module. Another try would fail as well, unless
// the caller gave up.
func loadModule(ctx context.Context, name string, file []byte, conf strategy.Conf) (strategy.Strategy, error) {
	module, err := wasm.Compile(ctx, file, nil)
	if err == nil {
		var made *wasm.Strategy
		if made, err = module.Strategy(ctx, name, conf); err == nil {
			return made, nil
		}
		err = errors.Join(err, module.Close())
	}
	if errors.Is(err, wasm.ErrModule) || errors.Is(err, wasm.ErrFailed) {
		return nil, fmt.Errorf("%w: %w", flcollect.ErrNoStrategy, err)
	}
	return nil, err
}
