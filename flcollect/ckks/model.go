package ckks

import (
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// CheckModel returns nil if a model is one that a client of these parameters has
// encrypted: every layer is a message of [Type], and every ciphertext is fresh and
// has residues only. Otherwise the error names layer, ciphertext and reason. Use
// it for the initial model, which one client sends and all the others receive; its
// numbers cannot be read.
func (p *Parameters) CheckModel(model strategy.Model) error {
	form, ciphertexts, err := p.read(model)
	if err != nil {
		return fmt.Errorf("check model: %w", err)
	}
	var c codec
	defer c.close()
	for place, ciphertext := range ciphertexts {
		_, body, err := p.open(&c, ciphertext)
		if err == nil && !p.residues(body) {
			err = errResidue
		}
		if err != nil {
			return fmt.Errorf("check model: %w", locate(form, place, err))
		}
	}
	return nil
}

// read reads the messages of a model. The ciphertexts are those of all layers, and
// refer to it.
func (p *Parameters) read(model strategy.Model) (form []layer, ciphertexts []blob, err error) {
	if len(model) == 0 {
		return nil, nil, errors.New("it has no layers")
	}
	for k, t := range model {
		if shape := t.Shape(); t.DType() != tensor.Uint8 || len(shape) != 1 {
			return nil, nil, fmt.Errorf("layer %d: type %v and shape %v are not the bytes of a message: it is not "+
				"encrypted", k, t.DType(), shape)
		}
		l, parts, err := p.readMessage(t.Chunks())
		if err != nil {
			return nil, nil, fmt.Errorf("layer %d: %w", k, err)
		}
		form, ciphertexts = append(form, l), append(ciphertexts, parts...)
	}
	return form, ciphertexts, nil
}

// toTensor returns the tensor that holds a message.
func toTensor(message blob) (tensor.Tensor, error) {
	size := 0
	for _, chunk := range message {
		size += len(chunk)
	}
	return tensor.New(tensor.Uint8, []int{size}, message...)
}

// locate returns the layer and the ciphertext of a place among all ciphertexts.
func locate(form []layer, place int, err error) error {
	for k, l := range form {
		if place < l.count {
			return fmt.Errorf("layer %d: ciphertext %d: %w", k, place, err)
		}
		place -= l.count
	}
	return err
}
