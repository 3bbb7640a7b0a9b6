package pickle

import (
	"fmt"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// Besides those below, values are nil, bool, int64, float64, string and []byte.
type (
	tuple []any
	// list may contain itself.
	list struct{ items []any }
	// dict has the values of its keys that are text; there are no others.
	dict struct{ items map[string]any }
	// global is the name of a class or function.
	global struct{ module, name string }
	// foreign is an unknown name, or the result of calling it. It is allowed where
	// it has no effect.
	foreign struct {
		name global
		made bool // with the name
	}
	// object is an object of a class, with its attributes.
	object struct {
		class global
		state *dict // nil until it is built
	}
	// great is an integer of more than 64 bits.
	great struct{}
	// dtype is a type of NumPy's, such as "f4".
	dtype struct{ letters, order string }
	// array is an array of NumPy's.
	array struct {
		tensor tensor.Tensor
		built  bool
	}
	// mark is the value that MARK pushes.
	mark struct{}
)

// String returns the name as Python writes it.
func (g global) String() string { return g.module + "." + g.name }

// describe describes a value without its elements, because a value may contain
// itself.
func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case bool, int64, float64:
		return fmt.Sprint(v)
	case string:
		return "a text"
	case []byte:
		return "bytes"
	case tuple:
		return "a tuple"
	case *list:
		return "a list"
	case *dict:
		return "a dict"
	case global:
		return "the name " + v.String()
	case foreign:
		if v.made {
			return fmt.Sprintf("what %.200s makes", v.name)
		}
		return fmt.Sprintf("the unknown name %.200s", v.name)
	case great:
		return "a whole number of more than 64 bits"
	case *object:
		return "an object of " + v.class.String()
	case dtype, *dtype:
		return "a dtype"
	case *array:
		return "an array"
	}
	return "nothing"
}
