package record

import (
	"fmt"
	"strconv"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// emptyTensor is the name of the array by which Flower marks parameters without tensors.
const emptyTensor = "_empty"

// Array is an encoded array.
type Array struct {
	// DType is the element type as NumPy writes it, such as "float32". It is empty if the array came
	// from [FromParameters].
	DType string
	// Shape is the length of each axis. It is empty for a scalar, and if the array came from
	// [FromParameters].
	Shape []int
	// SType is the encoding of Data, such as [flower.NumPy].
	SType string
	// Data is the encoded array: for [flower.NumPy], a .npy file with shape and type. It must not be
	// changed.
	Data flower.Blob
}

// FromTensors returns the tensors as NumPy arrays with names, as a ClientApp of the Message API expects
// a model. Without names, the arrays are named "0", "1" and so on, as Flower does. The elements are not
// copied. It is an error if there are names, but not one for each tensor, or a name occurs twice.
func FromTensors(names []string, tensors ...tensor.Tensor) (Arrays, error) {
	if len(names) != 0 && len(names) != len(tensors) {
		return nil, fmt.Errorf("name arrays: %d names for %d tensors", len(names), len(tensors))
	}
	arrays := make(Arrays, len(tensors))
	for i, t := range tensors {
		arrays[i] = Named[Array]{strconv.Itoa(i), Array{
			DType: t.DType().String(), Shape: t.Shape(), SType: flower.NumPy, Data: tensor.Encode(t),
		}}
		if len(names) != 0 {
			arrays[i].Name = names[i]
		}
	}
	if err := unique(arrays); err != nil {
		return nil, fmt.Errorf("name arrays: %w", err)
	}
	return arrays, nil
}

// FromParameters returns the tensors as Flower carries parameters of a NumPyClient: named "0", "1" and
// so on, with neither shape nor element type. They are not copied.
func FromParameters(p flower.Parameters) Arrays {
	if len(p.Tensors) == 0 {
		return Arrays{{emptyTensor, Array{SType: p.Type}}}
	}
	arrays := make(Arrays, len(p.Tensors))
	for i, blob := range p.Tensors {
		arrays[i] = Named[Array]{strconv.Itoa(i), Array{SType: p.Type, Data: blob}}
	}
	return arrays
}

// Parameters returns the arrays in their order, without copying them. It is an error if they differ in
// SType. An array named "_empty", by which Flower marks a model without tensors, is left out.
func (a Arrays) Parameters() (flower.Parameters, error) {
	var p flower.Parameters
	for i, array := range a {
		if i == 0 {
			p.Type = array.Value.SType
		}
		if array.Value.SType != p.Type {
			return flower.Parameters{}, fmt.Errorf("array %q is encoded as %q, array %q as %q",
				array.Name, array.Value.SType, a[0].Name, p.Type)
		}
		if array.Name != emptyTensor {
			p.Tensors = append(p.Tensors, array.Value.Data)
		}
	}
	return p, nil
}

// Names returns the names of the arrays in their order.
func (a Arrays) Names() []string {
	names := make([]string, len(a))
	for i, array := range a {
		names[i] = array.Name
	}
	return names
}

// Size returns the number of bytes of the encoded arrays.
func (a Arrays) Size() int64 {
	var size int64
	for _, array := range a {
		size += int64(array.Value.Data.Len())
	}
	return size
}
