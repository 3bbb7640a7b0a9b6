package collector

import (
	"bytes"
	"context"
	"fmt"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/strategy/pickle"
	"github.com/iotenablers/enablers/internal/wasmfuel"
)

// loadStrategy is a repository.Loader: a WebAssembly module is run, and a pickled
// strategy of Flower is the built-in one of the same name.
func loadStrategy(ctx context.Context, name string, file []byte, conf strategy.Conf) (strategy.Strategy, error) {
	switch {
	case bytes.HasPrefix(file, []byte(wasmfuel.Magic)):
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
