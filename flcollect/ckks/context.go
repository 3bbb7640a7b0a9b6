package ckks

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrSecretKey is returned for a context with a secret key. The context must not
// be stored, and its key must not be used any more.
var ErrSecretKey = errors.New("ckks: the context holds a secret key, which must not leave the clients")

// Context is a public TenSEAL context. Make one with [ParseContext].
type Context struct {
	// Degree is the degree of the ring.
	Degree int
	// Moduli are the prime moduli, that of the keys last.
	Moduli []uint64
	// Scale is the scale with which numbers are encoded; zero if it is not set.
	Scale float64
	// PublicKey is whether there is a key to encrypt with. A context for symmetric
	// encryption has none.
	PublicKey bool
	// RelinKeys and GaloisKeys are whether there are these evaluation keys, which
	// this package does not need.
	RelinKeys, GaloisKeys bool
}

// Fields of TenSEALContextProto and of TenSEALPublicProto within it.
const (
	parametersField = 1
	publicField     = 2
	secretField     = 3
	encryptionField = 4

	publicKeyField    = 1
	flagsField        = 2
	contextScaleField = 3
	relinField        = 4
	galoisField       = 5
)

// ParseContext reads a serialised public context of TenSEAL, as it is or in
// base64, as key files have it. The error for a context with a secret key is
// [ErrSecretKey]. A context with unknown fields, or whose keys are not whole
// objects of SEAL for these parameters, is an error, too. The additional memory is
// bounded by the largest public key.
func ParseContext(data []byte) (*Context, error) {
	raw, err := plain(data)
	if err == nil {
		var c *Context
		if c, err = readContext(raw); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("parse context: %w", err)
}

// plain decodes base64. A message begins with the tag of its parameters, a line
// feed.
func plain(data []byte) ([]byte, error) {
	if len(data) > 0 && data[0] == parametersField<<3|bytesType {
		return data, nil
	}
	text := bytes.TrimSpace(data)
	raw := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(raw, text)
	if err != nil {
		return nil, fmt.Errorf("it is neither a message nor base64: %w", err)
	}
	return raw[:n], nil
}

func readContext(raw []byte) (*Context, error) {
	var parameters, public []byte
	for w := newWire(blob{raw}); w.left > 0; {
		field, kind, err := w.tag()
		if err != nil {
			return nil, err
		}
		switch {
		case field == parametersField && kind == bytesType && parameters == nil:
			parameters, err = w.whole()
		case field == publicField && kind == bytesType && public == nil:
			public, err = w.whole()
		case field == secretField:
			return nil, ErrSecretKey
		case field == encryptionField && kind == varintType:
			_, err = w.varint() // whether with a public or with the secret key
		default:
			err = unexpected(field, kind)
		}
		if err != nil {
			return nil, err
		}
	}
	if parameters == nil {
		return nil, errors.New("it has no encryption parameters")
	}
	c, err := readParameters(parameters)
	if err != nil {
		return nil, fmt.Errorf("encryption parameters: %w", err)
	}
	return c, c.readPublic(public)
}

// whole reads a field of a message in one chunk. It is not nil.
func (w *wire) whole() ([]byte, error) {
	value, size, err := w.bytes()
	if err != nil || size == 0 {
		return []byte{}, err
	}
	return value[0], nil
}

// readParameters reads SEAL's EncryptionParameters: the number of the scheme,
// the degree, the moduli as objects of their own, and a plain modulus, which is 0.
func readParameters(object []byte) (*Context, error) {
	var c codec
	defer c.close()
	h, content, err := c.open(object, 17+(mostModuli+1)*(headerSize+8))
	if err != nil {
		return nil, err
	}
	if len(content) < 17 {
		return nil, fmt.Errorf("%d bytes are too few", len(content))
	}
	if content[0] != 2 {
		return nil, fmt.Errorf("scheme %d is not CKKS (2)", content[0])
	}
	degree, count := binary.LittleEndian.Uint64(content[1:]), binary.LittleEndian.Uint64(content[9:])
	if degree > math.MaxInt32 {
		return nil, fmt.Errorf("degree %d is too large", degree)
	}
	if _, ok := security(int(degree)); !ok {
		return nil, fmt.Errorf("degree %d is not a power of two from 1024 to 32768", degree)
	}
	if count < 1 || count > mostModuli {
		return nil, fmt.Errorf("%d moduli are not from 1 to %d", count, mostModuli)
	}
	content = content[17:]
	context := &Context{Degree: int(degree)}
	for k := range count + 1 {
		var number []byte
		if number, content, err = nested(content, h.version); err != nil {
			return nil, fmt.Errorf("modulus %d: %w", k, err)
		}
		if len(number) != 8 {
			return nil, fmt.Errorf("modulus %d: it has %d bytes instead of 8", k, len(number))
		}
		context.Moduli = append(context.Moduli, binary.LittleEndian.Uint64(number))
	}
	if len(content) > 0 || context.Moduli[count] != 0 {
		return nil, fmt.Errorf("a plain modulus of %d and %d bytes after it, 0 and none are expected",
			context.Moduli[count], len(content))
	}
	context.Moduli = context.Moduli[:count]
	return context, nil
}

// readPublic reads the public part: flags, scale, and keys.
func (c *Context) readPublic(message []byte) error {
	for w := newWire(blob{message}); w.left > 0; {
		field, kind, err := w.tag()
		if err != nil {
			return err
		}
		var key []byte
		switch {
		case (field == publicKeyField || field == relinField || field == galoisField) && kind == bytesType:
			if key, err = w.whole(); err == nil && len(key) > 0 {
				err = c.readKey(field, key)
			}
		case field == flagsField && kind == varintType:
			_, err = w.uint32()
		case field == contextScaleField && kind == fixed64Type:
			var number uint64
			number, err = w.fixed64()
			c.Scale = math.Float64frombits(number)
		default:
			err = unexpected(field, kind)
		}
		if err != nil {
			return fmt.Errorf("public part: field %d: %w", field, err)
		}
	}
	return nil
}

// readKey checks a key. The public one is a ciphertext under all moduli, whose
// frame and name of the parameters are checked; of the others only the frame.
func (c *Context) readKey(field int, object []byte) error {
	switch field {
	case relinField:
		c.RelinKeys = true
	case galoisField:
		c.GaloisKeys = true
	default:
		c.PublicKey = true
		var opener codec
		defer opener.close()
		_, content, err := opener.open(object, factorAt+8+arrayEnd+16*len(c.Moduli)*c.Degree)
		if err != nil {
			return err
		}
		if want := identify(c.Degree, c.Moduli); len(content) < len(want) || parmsID(content[:len(want)]) != want {
			return errors.New("the public key is not one for the encryption parameters")
		}
		return nil
	}
	h, err := readHeader(object)
	if err == nil && h.size != uint64(len(object)) {
		err = fmt.Errorf("its header says a size of %d bytes, it has %d", h.size, len(object))
	}
	return err
}

// Check returns an error if the context differs from a job's parameters.
func (c *Context) Check(p *Parameters) error {
	switch {
	case c.Degree != p.settings.PolyModulusDegree:
		return fmt.Errorf("check context: its degree is %d, the job's is %d", c.Degree, p.settings.PolyModulusDegree)
	case !slices.Equal(c.Moduli, p.moduli):
		return fmt.Errorf("check context: its moduli are %d, the job's of %v bits are %d", c.Moduli,
			p.settings.CoeffModBitSizes, p.moduli)
	case c.Scale != p.scale:
		return fmt.Errorf("check context: its scale is %g, the job's is 2^%d", c.Scale, p.settings.ScaleBits)
	}
	return nil
}
