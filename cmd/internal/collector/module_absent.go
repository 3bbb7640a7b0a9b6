//go:build no_wasm

package collector

import (
	"context"
	"fmt"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

func loadModule(context.Context, string, []byte, strategy.Conf) (strategy.Strategy, error) {
	return nil, fmt.Errorf("%w: the file is a WebAssembly module, and this program was built without them, with the tag no_wasm",
		flcollect.ErrNoStrategy)
}
