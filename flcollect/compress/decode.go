package compress

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// ErrFormat is matched by the error of an update that has not the form of its type. The
// message names the layer and the reason.
var ErrFormat = errors.New("compress: bad update")

// piece is how many elements are decoded at a time.
const piece = 1024

// Decode returns a compressed update as whole layers. The model is the one that the
// client was sent. Layers that the client did not compress are views of its bytes, and
// may have another type than those of the model; all others have that type, and memory of
// their own. Errors match [ErrFormat].
func Decode(p flower.Parameters, model []tensor.Tensor) ([]tensor.Tensor, error) {
	kind := Encoded(p)
	switch {
	case kind == "":
		return nil, fmt.Errorf("%w: the type is %q, expected %q or %q", ErrFormat, p.Type, Int8Type, TopKType)
	case len(p.Tensors) != len(model):
		return nil, fmt.Errorf("%w: %d layers, the model has %d", ErrFormat, len(p.Tensors), len(model))
	}
	update := make([]tensor.Tensor, len(model))
	for i, blob := range p.Tensors {
		layer, err := decode(kind, blob, model[i])
		if err != nil {
			return nil, fmt.Errorf("%w: layer %d: %w", ErrFormat, i, err)
		}
		update[i] = layer
	}
	return update, nil
}

// decode reads a layer.
func decode(kind Kind, blob flower.Blob, form tensor.Tensor) (tensor.Tensor, error) {
	first, rest, err := tensor.DecodeFirst(blob...)
	if err != nil {
		return tensor.Tensor{}, err
	}
	if flower.Blob(rest).Len() == 0 {
		if !slices.Equal(first.Shape(), form.Shape()) {
			return tensor.Tensor{}, fmt.Errorf("the shape is %v, that of the model %v", first.Shape(), form.Shape())
		}
		return first, nil
	}
	if form.DType().IsInteger() {
		return tensor.Tensor{}, fmt.Errorf("a difference, and the model has %v", form.DType())
	}
	second, err := tensor.Decode(rest...)
	switch {
	case err != nil:
		return tensor.Tensor{}, fmt.Errorf("second part: %w", err)
	case kind == Int8:
		return dequantize(first, second, form)
	}
	return scatter(first, second, form)
}

// isFloat reports whether a type is one that scales and values may have.
func isFloat(d tensor.DType) bool {
	return d == tensor.Float16 || d == tensor.Float32 || d == tensor.Float64
}

// dequantize adds scale·q to the layer of the model.
func dequantize(scales, q, form tensor.Tensor) (tensor.Tensor, error) {
	shape, rows := form.Shape(), 1
	switch at := scales.Shape(); {
	case !isFloat(scales.DType()):
		return tensor.Tensor{}, fmt.Errorf("the scale is of %v, expected floating-point numbers", scales.DType())
	case q.DType() != tensor.Int8:
		return tensor.Tensor{}, fmt.Errorf("the quantized difference is of %v, expected int8", q.DType())
	case !slices.Equal(q.Shape(), shape):
		return tensor.Tensor{}, fmt.Errorf("the shape is %v, that of the model %v", q.Shape(), shape)
	case len(at) == 0:
	case len(shape) > 0 && slices.Equal(at, shape[:1]):
		rows = shape[0]
	default:
		return tensor.Tensor{}, fmt.Errorf("the scale has the shape %v, expected () or one number for each row of %v", at, shape)
	}
	b := tensor.NewBuilder(form.DType(), shape)
	if form.Len() == 0 {
		return b.Tensor(), nil
	}
	width := form.Len() / rows
	var scale [1]float64
	var values, steps [piece]float64
	for row := range rows {
		scales.ReadFloat64s(scale[:], row)
		if v := scale[0]; !(v >= 0) || math.IsInf(v, 0) {
			return tensor.Tensor{}, fmt.Errorf("scale %d is %v, expected a finite number from 0 on", row, v)
		}
		for from, end := row*width, (row+1)*width; from < end; from += piece {
			n := min(piece, end-from)
			form.ReadFloat64s(values[:n], from)
			q.ReadFloat64s(steps[:n], from)
			for i, step := range steps[:n] {
				values[i] += scale[0] * step
			}
			if err := fits(values[:n], form.DType(), from); err != nil {
				return tensor.Tensor{}, err
			}
			b.Write(values[:n], from)
		}
	}
	return b.Tensor(), nil
}

// fits returns an error if the type does not hold one of the values, which begin at an
// element.
func fits(values []float64, dtype tensor.DType, from int) error {
	for i, v := range values {
		if !dtype.Holds(v) {
			return fmt.Errorf("%w: element %d becomes %v, which %v does not hold", tensor.ErrRange, from+i, v, dtype)
		}
	}
	return nil
}

// scatter adds values at some elements of the layer of the model.
func scatter(indices, values, form tensor.Tensor) (tensor.Tensor, error) {
	switch {
	case indices.DType() != tensor.Uint32:
		return tensor.Tensor{}, fmt.Errorf("the indices are of %v, expected uint32", indices.DType())
	case !isFloat(values.DType()):
		return tensor.Tensor{}, fmt.Errorf("the values are of %v, expected floating-point numbers", values.DType())
	case len(indices.Shape()) != 1 || !slices.Equal(indices.Shape(), values.Shape()):
		return tensor.Tensor{}, fmt.Errorf("the shapes of indices and values are %v and %v, expected one axis of one length",
			indices.Shape(), values.Shape())
	case indices.Len() > form.Len():
		return tensor.Tensor{}, fmt.Errorf("%d indices, the layer has %d elements", indices.Len(), form.Len())
	}
	b := copied(form)
	var at, more [piece]float64
	var sum [1]float64
	last := -1
	for from := 0; from < indices.Len(); from += piece {
		n := min(piece, indices.Len()-from)
		indices.ReadFloat64s(at[:n], from)
		values.ReadFloat64s(more[:n], from)
		for i := range n {
			index := int64(at[i])
			if index <= int64(last) || index >= int64(form.Len()) {
				return tensor.Tensor{}, fmt.Errorf("index %d is %d, expected an ascending order below %d", from+i, index, form.Len())
			}
			last = int(index)
			form.ReadFloat64s(sum[:], last)
			sum[0] += more[i]
			if err := fits(sum[:], form.DType(), last); err != nil {
				return tensor.Tensor{}, err
			}
			b.Write(sum[:], last)
		}
	}
	return b.Tensor(), nil
}

// copied returns a builder that has the elements of a tensor of floating-point numbers.
func copied(t tensor.Tensor) *tensor.Builder {
	b := tensor.NewBuilder(t.DType(), t.Shape())
	var values [piece]float64
	for from := 0; from < t.Len(); from += piece {
		part := values[:min(piece, t.Len()-from)]
		t.ReadFloat64s(part, from)
		b.Write(part, from)
	}
	return b
}
