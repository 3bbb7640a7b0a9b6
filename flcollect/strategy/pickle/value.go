package pickle

import (
	"fmt"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// Besides those below, values are nil, bool, int64, float64, string and []byte.
type (
	tuple []any
	// list may hold itself.
	list struct{ items []any }
	// dict has the values of its keys that are text; there are no others.
	dict struct{ items map[string]any }
	// global is the name of a class or function.
	global struct{ module, name string }
	// foreign is a name that is not known, and whatever is made with it. It may be
	// there where it does not matter.
	foreign struct {
		name global
		made bool // with the name
	}
	// object is of a class, with its attributes.
	object struct {
		class global
		state *dict // nil until it is built
	}
	// great is a whole number of more than 64 bits.
	great struct{}
	// dtype is a type of NumPy's, such as "f4".
	dtype struct{ letters, order string }
	// array is an array of NumPy's.
	array struct {
		tensor tensor.Tensor
		built  bool
	}
	// mark is what MARK leaves on the stack.
	mark struct{}
)

// String returns the name as Python writes it.
func (g global) String() string { return g.module + "." + g.name }

// describe says what a value is. It does not look into it, for it may hold itself.
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
