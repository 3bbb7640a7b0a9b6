package compress

import (
	"fmt"
	"slices"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// Kind is a way to compress an update.
type Kind string

// The kinds.
const (
	// Float16 sends the layers as float16, with the type [flower.NumPy].
	Float16 Kind = "float16"
	// Int8 sends the difference to the model as int8 with scales, with [Int8Type].
	Int8 Kind = "int8"
	// TopK sends the greatest elements of the difference, with [TopKType].
	TopK Kind = "topk"
)

// The types of parameters that this package defines.
const (
	Int8Type = "enablers.int8/1"
	TopKType = "enablers.topk/1"
)

// Kinds returns all kinds, sorted.
func Kinds() []Kind { return []Kind{Float16, Int8, TopK} }

// Known reports whether there is such a kind.
func (k Kind) Known() bool { return slices.Contains(Kinds(), k) }

// Encoded returns the kind of parameters that [Decode] reads, empty for those of other
// types.
func Encoded(p flower.Parameters) Kind {
	switch p.Type {
	case Int8Type:
		return Int8
	case TopKType:
		return TopK
	}
	return ""
}

// Halved reports whether an update has layers of [tensor.Float16] where the model has
// more precise numbers, so that its kind is [Float16].
func Halved(update, model []tensor.Tensor) bool {
	for i := range min(len(update), len(model)) {
		form := model[i].DType()
		if update[i].DType() == tensor.Float16 && (form == tensor.Float32 || form == tensor.Float64) {
			return true
		}
	}
	return false
}

// check returns an error unless there is such a kind.
func (k Kind) check() error {
	if !k.Known() {
		return fmt.Errorf("compress: unknown kind %q, known are %v", string(k), Kinds())
	}
	return nil
}
