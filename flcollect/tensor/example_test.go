package tensor_test

import (
	"bytes"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

func ExampleNew() {
	t, err := tensor.New(tensor.Int16, []int{2, 2}, []byte{1, 0, 2, 0, 3, 0}, []byte{255, 255})
	fmt.Println(t.DType(), t.Shape(), t.Float64s(), err)
	_, err = tensor.New(tensor.Int16, []int{2}, []byte{1})
	fmt.Println(err)
	// Output:
	// int16 [2 2] [1 2 3 -1] <nil>
	// tensor: shape does not fit: shape [2] of int16 needs 2 elements, there are 1 bytes
}

func ExampleNewBuilder() {
	b := tensor.NewBuilder(tensor.Uint8, []int{4})
	b.Write([]float64{-3, 2.5, 1000}, 1)
	fmt.Println(b.Tensor().Float64s())
	// Output: [0 0 2 255]
}

func ExampleDecode() {
	file := bytes.Join(tensor.Encode(tensor.FromFloat32s([]float32{1, 2, 3, 4}, 2, 2)), nil)
	t, err := tensor.Decode(file)
	fmt.Println(t.Shape(), t.Float64s(), err)
	_, err = tensor.Decode(file[:len(file)-1])
	fmt.Println(err)
	// Output:
	// [2 2] [1 2 3 4] <nil>
	// tensor: bad .npy file: tensor: shape does not fit: shape [2 2] of float32 needs 4 elements, there are 15 bytes
}
