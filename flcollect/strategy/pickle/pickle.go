package pickle

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// ErrRefused matches the error of a pickle that is invalid or not supported. The
// message has the byte at which it is invalid, or the unknown name.
var ErrRefused = errors.New("pickle: refused")

// MaxInstructions is the greatest number of instructions in a pickle. A strategy
// has about a hundred, and thirty for each array.
const MaxInstructions = 1 << 18

// Stored is a strategy that was pickled.
type Stored struct {
	// Class is the class in Python, such as "flwr.server.strategy.fedavg.FedAvg".
	Class string
	// Name is that of the built-in strategy, such as "FedAvg".
	Name string
	// Conf has its parameters, by the names of strategy.New.
	Conf strategy.Conf
	// Initial is its initial model, or nil. It may refer to the bytes of the
	// pickle.
	Initial strategy.Model
}

// Is reports whether data begins as pickled objects do: those of protocol 2 to 5,
// and objects of a class in protocol 0 and 1.
func Is(data []byte) bool {
	return len(data) > 1 && data[0] == opProto && data[1] >= 2 && data[1] <= maxProtocol ||
		bytes.HasPrefix(data, []byte("ccopy_reg\n_reconstructor\n"))
}

// Read reads a pickled strategy. The error of an unsupported one matches
// [ErrRefused].
func Read(data []byte) (Stored, error) {
	m := machine{data: data}
	value, err := m.run()
	if err != nil {
		return Stored{}, err
	}
	made, ok := value.(*object)
	if !ok || findFamily(made.class) == nil {
		return Stored{}, fmt.Errorf("%w: it is %s, and no strategy of Flower that is built in here", ErrRefused,
			describe(value))
	}
	stored, err := convert(&m, made)
	if err != nil {
		return Stored{}, fmt.Errorf("%w: %s: %w", ErrRefused, made.class, err)
	}
	return stored, nil
}

// Strategy returns the built-in strategy with the parameters of the pickle,
// overridden by those of the job. The error is that of strategy.New.
func (s Stored) Strategy(conf strategy.Conf) (strategy.Strategy, error) {
	merged := strategy.Conf{}
	for _, from := range []strategy.Conf{s.Conf, conf} {
		for name, value := range from {
			if value != nil {
				merged[name] = value
			}
		}
	}
	return strategy.New(s.Name, merged)
}

// Arrays reads a pickled list or tuple of arrays. They may refer to the bytes that
// were read. The error of anything else matches [ErrRefused].
func Arrays(data []byte) ([]tensor.Tensor, error) {
	m := machine{data: data}
	value, err := m.run()
	if err != nil {
		return nil, err
	}
	var items []any
	switch v := value.(type) {
	case *list:
		items = v.items
	case tuple:
		items = v
	default:
		return nil, fmt.Errorf("%w: it is %s, and no list of arrays", ErrRefused, describe(value))
	}
	arrays := make([]tensor.Tensor, len(items))
	for i, item := range items {
		array, ok := item.(*array)
		if !ok || !array.built {
			return nil, fmt.Errorf("%w: item %d is %s, and no array", ErrRefused, i, describe(item))
		}
		arrays[i] = array.tensor
	}
	return arrays, nil
}
