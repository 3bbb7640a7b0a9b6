package ckks

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// Keys are the parameters of a client's keys that a fresh ciphertext shows.
// They are comparable: keys whose ciphertexts can be added are equal.
type Keys struct {
	degree, count int // count is that of the moduli of fresh ciphertexts
	id            parmsID
	scale         float64
}

// prefixSize is how much of a ciphertext's content names its parameters.
const prefixSize = scaleAt + 8

// mostModuli bounds the moduli that a context or a ciphertext may have: 881 bits
// and primes above 2N leave no more.
const mostModuli = 64

// Observe returns the parameters of the keys that a model was encrypted with,
// from the first ciphertext of the first layer. It returns an error if the model
// is not encrypted.
func Observe(model strategy.Model) (Keys, error) {
	k, err := observe(model)
	if err != nil {
		return Keys{}, fmt.Errorf("read the parameters of a ciphertext: %w", err)
	}
	return k, nil
}

func observe(model strategy.Model) (Keys, error) {
	if len(model) == 0 {
		return Keys{}, errors.New("it has no layers")
	}
	if shape := model[0].Shape(); model[0].DType() != tensor.Uint8 || len(shape) != 1 {
		return Keys{}, fmt.Errorf("layer 0: type %v and shape %v are not the bytes of a message", model[0].DType(), shape)
	}
	ciphertext, err := firstCiphertext(model[0].Chunks())
	if err != nil {
		return Keys{}, fmt.Errorf("layer 0: %w", err)
	}
	content, err := readPrefix(ciphertext)
	if err != nil {
		return Keys{}, fmt.Errorf("layer 0: ciphertext 0: %w", err)
	}
	number := func(at int) uint64 { return binary.LittleEndian.Uint64(content[at:]) }
	degree, count := number(degreeAt), number(countAt)
	if _, ok := security(int(min(degree, math.MaxInt32))); !ok {
		return Keys{}, fmt.Errorf("layer 0: ciphertext 0: degree %d is not a power of two from 1024 to 32768", degree)
	}
	if count < 1 || count > mostModuli {
		return Keys{}, fmt.Errorf("layer 0: ciphertext 0: %d moduli are not from 1 to %d", count, mostModuli)
	}
	return Keys{int(degree), int(count), parmsID(content[:32]), math.Float64frombits(number(scaleAt))}, nil
}

// firstCiphertext returns the first ciphertext of a message.
func firstCiphertext(message blob) (blob, error) {
	for w := newWire(message); w.left > 0; {
		field, kind, err := w.tag()
		if err != nil {
			return nil, err
		}
		switch kind {
		case varintType:
			_, err = w.varint()
		case fixed64Type:
			_, err = w.fixed64()
		case bytesType:
			var value blob
			if value, _, err = w.bytes(); err == nil && field == ciphertextField {
				return value, nil
			}
		default:
			err = unexpected(field, kind)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the message has no ciphertexts")
}

// readPrefix returns the first bytes of a ciphertext's content, and decompresses
// no more than it needs for them.
func readPrefix(ciphertext blob) ([]byte, error) {
	readers := make([]io.Reader, len(ciphertext))
	for i, chunk := range ciphertext {
		readers[i] = bytes.NewReader(chunk)
	}
	object := io.MultiReader(readers...)
	head := make([]byte, headerSize)
	if _, err := io.ReadFull(object, head); err != nil {
		return nil, errors.New("it is too short for an object of SEAL")
	}
	h, err := readHeader(head)
	if err != nil {
		return nil, err
	}
	content := object
	switch h.mode {
	case zlibMode:
		inflated, err := zlib.NewReader(object)
		if err != nil {
			return nil, fmt.Errorf("decompress its zlib: %w", err)
		}
		defer func() { _ = inflated.Close() }()
		content = inflated
	case zstdMode:
		expanded, err := zstd.NewReader(object, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return nil, fmt.Errorf("decompress its zstd: %w", err)
		}
		defer expanded.Close()
		content = expanded
	}
	prefix := make([]byte, prefixSize)
	if _, err := io.ReadFull(content, prefix); err != nil {
		return nil, fmt.Errorf("read its parameters: %w", err)
	}
	return prefix, nil
}

// Keys returns the parameters as their ciphertexts show them.
func (p *Parameters) Keys() Keys {
	return Keys{p.settings.PolyModulusDegree, len(p.data), p.id, p.scale}
}

// Keys returns the parameters that ciphertexts of the context show.
func (c *Context) Keys() Keys {
	data := dataModuli(c.Moduli)
	return Keys{c.Degree, len(data), identify(c.Degree, data), c.Scale}
}

// Settings returns the settings that make the moduli of the context, or an error if
// no sizes do, as for primes that were chosen by hand.
func (c *Context) Settings() (Settings, error) {
	sizes := make([]int, len(c.Moduli))
	for i, q := range c.Moduli {
		sizes[i] = bits.Len64(q)
	}
	made, err := moduli(c.Degree, sizes)
	if err != nil || !slices.Equal(made, c.Moduli) {
		return Settings{}, fmt.Errorf("moduli %d are not those that SEAL makes of %v bits for degree %d", c.Moduli,
			sizes, c.Degree)
	}
	scale, err := scaleBits(c.Scale)
	if err != nil && c.Scale != 0 {
		return Settings{}, err
	}
	return Settings{Scheme: "CKKS", PolyModulusDegree: c.Degree, CoeffModBitSizes: sizes, ScaleBits: scale}, nil
}

// Settings returns settings whose ciphertexts are those of the keys. Ciphertexts
// have no modulus of the keys, which comes last: its size may be another than that
// of the clients, which changes nothing here. The error is that of moduli that do not
// come from sizes such as [60 40 40], [40 20 40] or [60 50 50 60], with one size
// between the first and the last.
func (k Keys) Settings() (Settings, error) {
	sizes, ok := k.sizes()
	if !ok {
		return Settings{}, fmt.Errorf("the sizes of its moduli cannot be determined from ciphertexts (%s)", k)
	}
	scale, err := scaleBits(k.scale)
	if err != nil {
		return Settings{}, err
	}
	return Settings{Scheme: "CKKS", PolyModulusDegree: k.degree, CoeffModBitSizes: sizes, ScaleBits: scale}, nil
}

// scaleBits returns the binary logarithm of a scale.
func scaleBits(scale float64) (int, error) {
	fraction, exponent := math.Frexp(scale)
	if fraction != 0.5 || exponent < 2 {
		return 0, fmt.Errorf("its scale %g is not a power of two", scale)
	}
	return exponent - 1, nil
}

// String returns the parameters as in "degree 8192, moduli of [60 40 40] bits,
// scale 2^40".
func (k Keys) String() string {
	scale := fmt.Sprintf("%g", k.scale)
	if n, err := scaleBits(k.scale); err == nil {
		scale = fmt.Sprintf("2^%d", n)
	}
	if sizes, ok := k.sizes(); ok {
		return fmt.Sprintf("degree %d, moduli of %v bits, scale %s", k.degree, sizes, scale)
	}
	return fmt.Sprintf("degree %d, %d moduli of unknown sizes (parms_id %x), scale %s", k.degree, k.count, k.id[:4], scale)
}

// sizes looks for the sizes in bits whose primes the keys have.
func (k Keys) sizes() ([]int, bool) {
	bound, _ := security(k.degree)
	for sizes, id := range commonModuli(k.degree, k.count, bound) {
		if id == k.id {
			return sizes, true
		}
	}
	return nil, false
}
