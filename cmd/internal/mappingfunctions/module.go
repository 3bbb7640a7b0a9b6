//go:build !no_wasm

package mappingfunctions

import (
	"context"
	"io"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/wasm"
)

// compile compiles a module and returns its functions, and what frees it.
func compile(ctx context.Context, binary []byte) (io.Closer, []rml.Function, error) {
	module, err := wasm.Compile(ctx, binary, nil)
	if err != nil {
		return nil, nil, err
	}
	return module, module.Functions(), nil
}
