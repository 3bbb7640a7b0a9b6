package compress_test

import (
	"fmt"

	"github.com/iotenablers/enablers/flcollect/compress"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// A client sends a tenth of the elements. What it leaves out goes with a later update.
func ExampleNewEncoder() {
	sent := []tensor.Tensor{tensor.FromFloat32s(make([]float32, 100), 10, 10)}
	values := make([]float32, 100)
	for i := range values {
		values[i] = float32(i)
	}
	trained := []tensor.Tensor{tensor.FromFloat32s(values, 10, 10)}

	e, err := compress.NewEncoder(compress.Config{Kind: compress.TopK, Share: 0.1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		p, err := e.Encode(trained, sent)
		if err != nil {
			fmt.Println(err)
			return
		}
		update, err := compress.Decode(p, sent)
		if err != nil {
			fmt.Println(err)
			return
		}
		v := update[0].Float64s()
		fmt.Println(p.Type, v[79], v[89], v[90], v[99])
	}
	// Output:
	// enablers.topk/1 0 0 90 99
	// enablers.topk/1 0 178 0 0
}
