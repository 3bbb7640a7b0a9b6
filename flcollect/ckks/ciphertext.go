package ckks

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Places within the content of a ciphertext. Version 4 has a correction factor
// after the scale, which is 1; then follows an object with the number of
// coefficients and the coefficients: polynomial by polynomial, modulus by modulus.
const (
	nttAt    = 32
	sizeAt   = 33
	degreeAt = 41
	countAt  = 49
	scaleAt  = 57
	factorAt = 65
	arrayEnd = headerSize + 8 // from the array's start to its first coefficient
)

// arrayAt returns where the object with the coefficients begins.
func (v version) arrayAt() int {
	if v.major == 3 {
		return factorAt
	}
	return factorAt + 8
}

// contentSize returns the bytes of a fresh ciphertext's content.
func (p *Parameters) contentSize(v version) int { return v.arrayAt() + arrayEnd + p.bodySize() }

// maxContent is the greatest content size of any version.
func (p *Parameters) maxContent() int { return p.contentSize(version{4, 0}) }

// open returns the header of a fresh ciphertext and its coefficients, which are
// valid until the codec is used again.
func (p *Parameters) open(c *codec, ciphertext blob) (header, []byte, error) {
	h, content, err := c.open(c.join(ciphertext), p.maxContent())
	if err != nil {
		return header{}, nil, err
	}
	body, err := p.fresh(h.version, content)
	return h, body, err
}

// fresh returns the coefficients of a fresh ciphertext of two polynomials, as a
// part of its content. It does not check whether they are below their moduli.
func (p *Parameters) fresh(v version, content []byte) ([]byte, error) {
	array := v.arrayAt()
	if len(content) < array+arrayEnd {
		return nil, fmt.Errorf("its content has %d bytes, too few for a ciphertext", len(content))
	}
	number := func(at int) uint64 { return binary.LittleEndian.Uint64(content[at:]) }
	degree, count := number(degreeAt), number(countAt)
	if want := uint64(p.settings.PolyModulusDegree); degree != want {
		return nil, fmt.Errorf("its degree is %d, the job's is %d", degree, want)
	}
	if want := uint64(len(p.data)); count != want {
		return nil, fmt.Errorf("it has %d moduli, a fresh ciphertext of the job's %v bits has %d", count,
			p.settings.CoeffModBitSizes, want)
	}
	if id := parmsID(content[:32]); id != p.id {
		theirs := ""
		if sizes, ok := (Keys{degree: int(degree), count: int(count), id: id}).sizes(); ok {
			theirs = fmt.Sprintf(", which are those of %v bits,", sizes)
		}
		return nil, fmt.Errorf("its moduli%s are not the job's, which are those of %v bits: its parms_id is %x, the "+
			"job's is %x",
			theirs, p.settings.CoeffModBitSizes, id[:4], p.id[:4])
	}
	if content[nttAt] != 1 {
		return nil, fmt.Errorf("it is not in NTT form, as CKKS is (%d)", content[nttAt])
	}
	if size := number(sizeAt); size != 2 {
		return nil, fmt.Errorf("it has %d polynomials, a fresh ciphertext has 2", size)
	}
	if scale := math.Float64frombits(number(scaleAt)); scale != p.scale {
		return nil, fmt.Errorf("its scale is %g (2^%.4g), the job's is 2^%d", scale, math.Log2(scale), p.settings.ScaleBits)
	}
	if array > factorAt && number(factorAt) != 1 {
		return nil, fmt.Errorf("its correction factor is %d, that of CKKS is 1", number(factorAt))
	}
	coefficients, rest, err := nested(content[array:], v)
	if err != nil {
		return nil, err
	}
	want := p.bodySize()
	if len(coefficients) >= 8 && binary.LittleEndian.Uint64(coefficients) == uint64(want)/16 &&
		len(coefficients) < 8+want {
		return nil, fmt.Errorf("half of it is the seed of a random generator; only expanded ciphertexts are read")
	}
	switch {
	case len(rest) > 0:
		return nil, fmt.Errorf("%d bytes follow its coefficients", len(rest))
	case len(coefficients) != 8+want:
		return nil, fmt.Errorf("its coefficients have %d bytes, %d are expected", len(coefficients), 8+want)
	case binary.LittleEndian.Uint64(coefficients) != uint64(want)/8:
		return nil, fmt.Errorf("it says that it has %d coefficients, it has %d",
			binary.LittleEndian.Uint64(coefficients), want/8)
	}
	return coefficients[8:], nil
}

// prefix returns the bytes before the coefficients in the content of a
// ciphertext of the job's moduli, after room for before bytes.
func (p *Parameters) prefix(v version, scale float64, before int) []byte {
	array := v.arrayAt()
	whole := make([]byte, before+array+arrayEnd)
	dst := whole[before:]
	put := func(at int, value uint64) { binary.LittleEndian.PutUint64(dst[at:], value) }
	copy(dst, p.id[:])
	dst[nttAt] = 1
	put(sizeAt, 2)
	put(degreeAt, uint64(p.settings.PolyModulusDegree))
	put(countAt, uint64(len(p.data)))
	put(scaleAt, math.Float64bits(scale))
	if array > factorAt {
		put(factorAt, 1)
	}
	putHeader(dst[array:], header{v, plainMode, uint64(arrayEnd + p.bodySize())})
	put(array+headerSize, uint64(p.bodySize())/8)
	return whole
}

// residues reports whether every coefficient is below its modulus.
func (p *Parameters) residues(body []byte) bool {
	size := p.settings.PolyModulusDegree * 8
	for at := 0; at < len(body); at += 8 {
		if binary.LittleEndian.Uint64(body[at:]) >= p.data[at/size%len(p.data)] {
			return false
		}
	}
	return true
}
