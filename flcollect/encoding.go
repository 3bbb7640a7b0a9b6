package flcollect

import (
	"fmt"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// encode returns a model as clients are sent it. Nothing is copied.
func (t *training) encode(model strategy.Model) flower.Parameters {
	if t.encrypts() {
		return flower.FromBytes(ckks.Type, model...)
	}
	return flower.FromTensors(model...)
}

// decode returns what a client sent as a model; of an encrypted one each layer is
// the bytes of its message. The elements are views.
func (t *training) decode(p flower.Parameters) (strategy.Model, error) {
	switch {
	case !t.encrypts() && p.Type == ckks.Type:
		return nil, fmt.Errorf("the parameters are encrypted, of type %q, and the job does not use encryption", p.Type)
	case !t.encrypts():
		return p.Decode()
	case p.Type != ckks.Type:
		return nil, fmt.Errorf("the parameters are not encrypted: their type is %q, and the job takes %q", p.Type, ckks.Type)
	}
	return p.Bytes()
}

// begins returns nil for a model that a job can begin with.
func (t *training) begins(model strategy.Model) error {
	if !t.encrypts() {
		return sound(model, nil)
	}
	if err := t.sealed.CheckModel(model); err != nil {
		return fmt.Errorf("%w: it does not fit the job's parameters (%v): %w", errUnsound, t.sealed, err)
	}
	return nil
}

// follows returns nil for a model that clients can go on with after another. What
// is in an encrypted one cannot be seen, and messages differ in length.
func (t *training) follows(model, before strategy.Model) error {
	if !t.encrypts() {
		return sound(model, before)
	}
	if len(model) != len(before) {
		return fmt.Errorf("%w: it has %d tensors instead of %d", errUnsound, len(model), len(before))
	}
	for i, layer := range model {
		if layer.DType() != tensor.Uint8 || layer.Len() == 0 {
			return fmt.Errorf("%w: tensor %d is no message", errUnsound, i)
		}
	}
	return nil
}
