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

func ExampleWriteNPZ() {
	var file bytes.Buffer
	err := tensor.WriteNPZ(&file,
		tensor.Named{Name: "dense/weights", Tensor: tensor.FromFloat32s([]float32{1, 2, 3, 4}, 2, 2)},
		tensor.Named{Name: "dense/bias", Tensor: tensor.FromFloat32s([]float32{0.5, -0.5})})
	fmt.Println(err)
	arrays, err := tensor.ReadNPZ(bytes.NewReader(file.Bytes()), int64(file.Len()), 1<<20)
	for _, array := range arrays {
		fmt.Println(array.Name, array.Tensor.Shape(), array.Tensor.Float64s())
	}
	fmt.Println(err)
	// Output:
	// <nil>
	// dense/weights [2 2] [1 2 3 4]
	// dense/bias [2] [0.5 -0.5]
	// <nil>
}

func ExampleReadNPZ() {
	var file bytes.Buffer
	if err := tensor.WriteNPZ(&file,
		tensor.Named{Name: "weights", Tensor: tensor.FromFloat32s(make([]float32, 1000))}); err != nil {
		panic(err)
	}
	_, err := tensor.ReadNPZ(bytes.NewReader(file.Bytes()), int64(file.Len()), 1000)
	fmt.Println(err)
	// Output: read entry "weights.npy": tensor: over the limit: 4128 bytes, at most 1000 are left
}

func ExampleWritePickle() {
	var file bytes.Buffer
	err := tensor.WritePickle(&file, tensor.FromInt64s([]int64{7}))
	fmt.Printf("protocol %d, the last byte is %q, %v\n", file.Bytes()[1], file.Bytes()[file.Len()-1], err)
	// Output: protocol 4, the last byte is '.', <nil>
}

func ExampleWriteParametersPickle() {
	ciphertext, err := tensor.New(tensor.Uint8, []int{3}, []byte{1, 2}, []byte{3})
	if err != nil {
		fmt.Println(err)
	}
	var file bytes.Buffer
	err = tensor.WriteParametersPickle(&file, "homomorphic", ciphertext)
	fmt.Println(bytes.Contains(file.Bytes(), []byte("flwr.common.typing")),
		bytes.Contains(file.Bytes(), []byte{'C', 3, 1, 2, 3}), err)
	// Output: true true <nil>
}
