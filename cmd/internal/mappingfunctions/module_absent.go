//go:build no_wasm

package mappingfunctions

import (
	"context"
	"errors"
	"io"

	"github.com/iotenablers/enablers/annotate/rml"
)

func compile(context.Context, []byte) (io.Closer, []rml.Function, error) {
	return nil, nil, errors.New("this program was built without WebAssembly, with the tag no_wasm")
}
