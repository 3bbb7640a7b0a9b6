package ckks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// layer is a TenSEAL message without its ciphertexts: of a CKKSTensor its shape,
// without the first dimension where that lies in the slots, and its length; of a
// CKKSVector how many numbers each ciphertext holds.
type layer struct {
	shape []uint32
	batch uint32
	count int // of ciphertexts
}

func (l layer) equal(other layer) bool {
	return slices.Equal(l.shape, other.shape) && l.batch == other.batch && l.count == other.count
}

// String describes the layer; of the sizes of a long vector it has the first.
func (l layer) String() string {
	if len(l.shape) > 8 {
		return fmt.Sprintf("%d sizes from %d on, batch size %d and %d ciphertexts", len(l.shape), l.shape[:8], l.batch,
			l.count)
	}
	return fmt.Sprintf("shape %v, batch size %d and %d ciphertexts", l.shape, l.batch, l.count)
}

// tensor reports whether the shape is that of a tensor of so many ciphertexts.
func (l layer) tensor() bool {
	elements := uint64(1)
	for _, size := range l.shape {
		// The product is below 2^63. Once it exceeds the count it stays above, because
		// no size is 0.
		if elements = elements * uint64(size); elements == 0 || elements > uint64(l.count) {
			break
		}
	}
	return elements == uint64(l.count)
}

// Fields of CKKSTensorProto and CKKSVectorProto, which has no batch size.
const (
	shapeField      = 1
	ciphertextField = 2
	scaleField      = 3
	batchField      = 4
)

// readMessage reads a CKKSTensor or a CKKSVector. The ciphertexts refer to the
// message.
func (p *Parameters) readMessage(message blob) (layer, []blob, error) {
	w := newWire(message)
	// More numbers would be neither a shape nor sizes of ciphertexts.
	limit := 32 + w.left/uint64(p.leastSize())
	var l layer
	var ciphertexts []blob
	var scale float64
	dimensions := func(w *wire) error {
		if uint64(len(l.shape)) == limit {
			return errors.New("the shape has more numbers than there can be ciphertexts")
		}
		size, err := w.uint32()
		l.shape = append(l.shape, size)
		return err
	}
	for w.left > 0 {
		field, kind, err := w.tag()
		if err != nil {
			return layer{}, nil, err
		}
		switch {
		case field == shapeField && kind == varintType:
			err = dimensions(w)
		case field == shapeField && kind == bytesType:
			var packed blob
			packed, _, err = w.bytes()
			for numbers := newWire(packed); err == nil && numbers.left > 0; {
				err = dimensions(numbers)
			}
		case field == ciphertextField && kind == bytesType:
			var ciphertext blob
			var size int
			ciphertext, size, err = w.bytes()
			if err == nil && size < p.leastSize() {
				err = fmt.Errorf("ciphertext %d has %d bytes, an encryption cannot have fewer than %d", len(ciphertexts), size,
					p.leastSize())
			}
			ciphertexts = append(ciphertexts, ciphertext)
		case field == scaleField && kind == fixed64Type:
			var number uint64
			number, err = w.fixed64()
			scale = math.Float64frombits(number)
		case field == batchField && kind == varintType:
			l.batch, err = w.uint32()
		default:
			err = unexpected(field, kind)
		}
		if err != nil {
			return layer{}, nil, err
		}
	}
	l.count = len(ciphertexts)
	if scale != p.scale {
		return layer{}, nil, fmt.Errorf("the scale of the message is %g (2^%.4g), the job's is 2^%d", scale,
			math.Log2(scale), p.settings.ScaleBits)
	}
	return l, ciphertexts, p.checkLayer(l)
}

// checkLayer returns an error unless the shape fits the ciphertexts, in one of
// the ways of TenSEAL.
func (p *Parameters) checkLayer(l layer) error {
	slots := uint32(p.Slots())
	if l.count == 0 {
		return errors.New("the message has no ciphertexts")
	}
	if l.batch > slots {
		return fmt.Errorf("the batch size is %d, a ciphertext has %d slots", l.batch, slots)
	}
	vector := l.batch == 0 && len(l.shape) == l.count &&
		!slices.ContainsFunc(l.shape, func(size uint32) bool { return size < 1 || size > slots })
	if !l.tensor() && !vector {
		return fmt.Errorf("%s are neither a tensor nor a vector", l)
	}
	return nil
}

// period returns after how many slots the numbers of a ciphertext repeat, by its
// place in the layer. A CKKSTensor has a single number in all slots, or, batched,
// one a slot and zeros after the last. A CKKSVector repeats those it has until the
// slots are full. A message that could be either is a tensor: only a vector of
// less than full ciphertexts, which TenSEAL does not make, looks like one.
func (p *Parameters) period(l layer, place int) int {
	switch {
	case l.batch > 0:
		return p.Slots()
	case l.tensor():
		return 1
	}
	return int(l.shape[place])
}

// write returns the message with the ciphertexts, which are not copied.
func (p *Parameters) write(l layer, ciphertexts []blob) blob {
	var shape []byte
	for _, size := range l.shape {
		shape = binary.AppendUvarint(shape, uint64(size))
	}
	var text []byte
	if len(shape) > 0 {
		text = appendTag(text, shapeField, bytesType)
		text = binary.AppendUvarint(text, uint64(len(shape)))
		text = append(text, shape...)
	}
	var message blob
	for _, ciphertext := range ciphertexts {
		size := 0
		for _, chunk := range ciphertext {
			size += len(chunk)
		}
		text = appendTag(text, ciphertextField, bytesType)
		text = binary.AppendUvarint(text, uint64(size))
		message = append(append(message, text), ciphertext...)
		text = nil
	}
	text = appendTag(text, scaleField, fixed64Type)
	text = binary.LittleEndian.AppendUint64(text, math.Float64bits(p.scale))
	if l.batch != 0 {
		text = appendTag(text, batchField, varintType)
		text = binary.AppendUvarint(text, uint64(l.batch))
	}
	return append(message, text)
}

func appendTag(text []byte, field, kind int) []byte { return append(text, byte(field<<3|kind)) }
