//go:build !no_wasm

package collector

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/strategy/wasm"
)

// loadModule returns the strategy of a module. Another try would fail as well, unless
// the caller gave up.
func loadModule(ctx context.Context, name string, file []byte, conf strategy.Conf) (strategy.Strategy, error) {
	module, err := wasm.Compile(ctx, file, nil)
	if err == nil {
		var instance *wasm.Strategy
		if instance, err = module.Strategy(ctx, name, conf); err == nil {
			return instance, nil
		}
		err = errors.Join(err, module.Close())
	}
	if errors.Is(err, wasm.ErrModule) || errors.Is(err, wasm.ErrFailed) {
		return nil, fmt.Errorf("%w: %w", flcollect.ErrNoStrategy, err)
	}
	return nil, err
}
