package round

import (
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// ErrOtherKeys is matched by the error of a client whose keys have other parameters than
// those of the job.
var ErrOtherKeys = errors.New("keys of other parameters")

// Encryption is how the updates of a job are encrypted. Nil is a job without encryption,
// and a valid receiver.
type Encryption struct {
	// Parameters are those of the keys; nil until they are known.
	Parameters *ckks.Parameters
	// Source is the client from whose keys the job took them; empty if its
	// configuration names them.
	Source string
}

// Encode returns a model as clients are sent it. Nothing is copied.
func (e *Encryption) Encode(model strategy.Model) flower.Parameters {
	if e != nil {
		return flower.FromBytes(ckks.Type, model...)
	}
	return flower.FromTensors(model...)
}

// Decode returns the parameters that a client sent as a model. Each layer of an encrypted
// one is the bytes of its message. The elements are views.
func (e *Encryption) Decode(p flower.Parameters) (strategy.Model, error) {
	switch {
	case e == nil && p.Type == ckks.Type:
		return nil, fmt.Errorf("the parameters are encrypted, of type %q, and the job does not use encryption", p.Type)
	case e == nil:
		return p.Decode()
	case p.Type != ckks.Type:
		return nil, fmt.Errorf("the parameters are not encrypted: their type is %q, and the job takes %q", p.Type, ckks.Type)
	}
	return p.Bytes()
}

// CheckInitial returns nil for a model with which a job can begin.
func (e *Encryption) CheckInitial(model strategy.Model) error {
	if e == nil {
		return Sound(model, nil)
	}
	if err := e.Parameters.CheckModel(model); err != nil {
		return fmt.Errorf("%w: it does not fit the job's parameters (%v): %w", ErrUnsound, e.Parameters, err)
	}
	return nil
}

// checkNext returns nil for a model with which clients can go on after another. The
// content of an encrypted one cannot be seen, and messages differ in length.
func (e *Encryption) checkNext(model, before strategy.Model) error {
	if e == nil {
		return Sound(model, before)
	}
	if len(model) != len(before) {
		return fmt.Errorf("%w: it has %d tensors instead of %d", ErrUnsound, len(model), len(before))
	}
	for i, layer := range model {
		if layer.DType() != tensor.Uint8 || layer.Len() == 0 {
			return fmt.Errorf("%w: tensor %d is no message", ErrUnsound, i)
		}
	}
	return nil
}

// CheckKeys returns nil if the keys of a client have the parameters of the job. The error
// names both.
func (e *Encryption) CheckKeys(client string, theirs ckks.Keys) error {
	own := e.Parameters.Keys()
	if theirs == own {
		return nil
	}
	if e.Source != "" {
		return fmt.Errorf("%w: client %q encrypts with %s, and client %q with %s: all clients need keys of the same parameters",
			ErrOtherKeys, excerpt.Client(client), theirs, e.Source, own)
	}
	return fmt.Errorf("%w: client %q encrypts with %s, and the job names %s: "+
		"use keys of those parameters, or leave coeff_mod_bit_sizes out of the job",
		ErrOtherKeys, excerpt.Client(client), theirs, e.Parameters)
}

// admit returns nil for the encrypted model of a client whose keys have the parameters of
// the job. Other keys fail the first round: the clients would go on waiting for each
// other. Later they are one client's fault.
func (e *Encryption) admit(client string, model strategy.Model, round int) error {
	theirs, err := ckks.Observe(model)
	if err != nil {
		return nil // the strategy reports it when the update is added
	}
	err = e.CheckKeys(client, theirs)
	if err != nil && round <= 1 {
		return &fatalError{err}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", strategy.ErrQuarantined, err)
	}
	return nil
}
