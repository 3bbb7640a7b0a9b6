package strategy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// The encoding of a sum is a vector of bytes for each tensor. It begins with the type
// and the shape of the tensor: a byte for the type, the number of dimensions and each of
// them as uvarints. Its blocks follow, of 512 elements and of what remains. A block is
// the exponent of its unit (16 bits, little endian), the number of bytes of an element,
// and the elements as little-endian two's complement counts of the unit. The unit is the
// greatest and the number of bytes the least that hold all elements of the block, so a
// sum has one encoding, in whatever order its terms came. A block of zeros is 3 bytes of
// zero.
const (
	blockHead = 3
	// sumBits is the exponent that every encoded sum lies below: 2^31 terms of less
	// than 2^190. Layers hold 2^18 sums of them.
	sumBits = 221
	// mostWidth is how many bytes an element has at most.
	mostWidth = (sumBits-lowestGrid)/8 + 1
	limbs     = (mostWidth + 7) / 8
)

// ErrEncoding matches the error of an encoded sum that [Sum.Merge] does not take.
var ErrEncoding = errors.New("strategy: bad encoding of a sum")

// Encode returns the sum in the form that [Sum.Merge] reads: a vector of bytes for each
// tensor. Equal sums have equal encodings.
func (s *Sum) Encode() []tensor.Tensor {
	s.mu.RLock()
	defer s.mu.RUnlock()
	pieces := make([][]byte, len(s.strips))
	parallel(len(s.strips), func(k int) {
		where := s.strips[k]
		p := s.parts[where.tensor]
		var piece []byte
		if where.from == 0 {
			piece = appendForm(nil, s.form[where.tensor])
		}
		for i := where.from; i < where.to; i++ {
			piece = p.blocks[i].append(piece, p.of(i))
		}
		pieces[k] = slices.Clip(piece)
	})
	encoded := make([]tensor.Tensor, len(s.form))
	k := 0
	for i := range s.form {
		var chunks [][]byte
		size := 0
		for ; k < len(s.strips) && s.strips[k].tensor == i; k++ {
			chunks, size = append(chunks, pieces[k]), size+len(pieces[k])
		}
		if len(chunks) == 0 { // it has no elements
			head := appendForm(nil, s.form[i])
			chunks, size = [][]byte{head}, len(head)
		}
		made, err := tensor.New(tensor.Uint8, []int{size}, chunks...)
		if err != nil {
			panic("strategy: encode a sum: " + err.Error())
		}
		encoded[i] = made
	}
	return encoded
}

// of returns the sums of a block, nil once they were released.
func (p part) of(block int) []int64 {
	if p.sums == nil {
		return nil
	}
	return p.sums[block*blockLen : min((block+1)*blockLen, len(p.sums))]
}

// appendForm appends the type and the shape of a tensor.
func appendForm(to []byte, t tensor.Tensor) []byte {
	to = append(to, byte(t.DType()))
	to = binary.AppendUvarint(to, uint64(len(t.Shape())))
	for _, n := range t.Shape() {
		to = binary.AppendUvarint(to, uint64(n))
	}
	return to
}

// Merge adds a sum that was encoded, which must be that of models of the same form. It
// allocates memory for the sum itself only, whatever the encoding says. The error of an
// encoding that is not one of [Sum.Encode] matches [ErrEncoding], or tensor.ErrShape
// or tensor.ErrType where the form is another; the sum is unchanged then. It holds what
// 2^18 encoded sums add up to.
func (s *Sum) Merge(encoded []tensor.Tensor) error { return s.merge(encoded, nil) }

// merge is Merge with a limit of the absolute value of the elements of each tensor, if
// limits is not nil.
func (s *Sum) merge(encoded []tensor.Tensor, limits []float64) error {
	if len(encoded) != len(s.form) {
		return fmt.Errorf("%d tensors, expected %d", len(encoded), len(s.form))
	}
	errs := make([]error, len(encoded))
	marks := make([][]bytesReader, len(encoded))
	parallel(len(encoded), func(i int) {
		limit := 0.0
		if limits != nil {
			limit = limits[i]
		}
		marks[i], errs[i] = scan(encoded[i], s.form[i], limit)
	})
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("tensor %d: %w", i, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.openLocked()
	parallel(len(s.strips), func(k int) {
		where := s.strips[k]
		p, r := s.parts[where.tensor], marks[where.tensor][where.from/stripBlocks]
		var scratch [blockLen * mostWidth]byte
		for i := where.from; i < where.to; i++ {
			sums := p.of(i)
			head := r.next(blockHead, scratch[:])
			unit, width := int32(int16(binary.LittleEndian.Uint16(head))), int(head[2])
			p.blocks[i].merge(sums, r.next(width*len(sums), scratch[:]), unit, width)
		}
	})
	return nil
}

// bytesReader reads the bytes of chunks.
type bytesReader struct {
	chunks [][]byte // the rest, the first of them from at on
	at     int
}

// next returns the next n bytes, in scratch if they lie in several chunks; nil if there
// are fewer.
func (r *bytesReader) next(n int, scratch []byte) []byte {
	for len(r.chunks) > 0 && r.at == len(r.chunks[0]) {
		r.chunks, r.at = r.chunks[1:], 0
	}
	if n == 0 {
		return scratch[:0]
	}
	if len(r.chunks) == 0 {
		return nil
	}
	if first := r.chunks[0][r.at:]; len(first) >= n {
		r.at += n
		return first[:n]
	}
	read := 0
	for read < n {
		if len(r.chunks) == 0 {
			return nil
		}
		copied := copy(scratch[read:n], r.chunks[0][r.at:])
		read, r.at = read+copied, r.at+copied
		if r.at == len(r.chunks[0]) {
			r.chunks, r.at = r.chunks[1:], 0
		}
	}
	return scratch[:n]
}

// uvarint returns the next number; false if there is none in its shortest form.
func (r *bytesReader) uvarint() (uint64, bool) {
	var one [1]byte
	var v uint64
	for shift := 0; shift < 63; shift += 7 {
		b := r.next(1, one[:])
		if b == nil || b[0] == 0 && shift > 0 {
			return 0, false
		}
		v |= uint64(b[0]&0x7f) << shift
		if b[0] < 0x80 {
			return v, true
		}
	}
	return 0, false
}

// scan checks an encoded tensor, and returns the places where its strips begin.
func scan(encoded, form tensor.Tensor, limit float64) ([]bytesReader, error) {
	if encoded.DType() != tensor.Uint8 {
		return nil, fmt.Errorf("%w: numbers of type %v instead of bytes", ErrEncoding, encoded.DType())
	}
	r := bytesReader{chunks: encoded.Chunks()}
	if err := r.form(form); err != nil {
		return nil, err
	}
	var marks []bytesReader
	var scratch [blockLen * mostWidth]byte
	blocks := (form.Len() + blockLen - 1) / blockLen
	for k := range blocks {
		if k%stripBlocks == 0 {
			marks = append(marks, r)
		}
		n := min(blockLen, form.Len()-k*blockLen)
		head := r.next(blockHead, scratch[:])
		if head == nil {
			return nil, fmt.Errorf("%w: it ends at block %d of %d", ErrEncoding, k, blocks)
		}
		unit, width := int(int16(binary.LittleEndian.Uint16(head))), int(head[2])
		if width > mostWidth || unit < lowestGrid || width == 0 && unit != 0 {
			return nil, fmt.Errorf("%w: block %d has elements of %d bytes with the unit 2^%d", ErrEncoding, k, width, unit)
		}
		data := r.next(n*width, scratch[:])
		if data == nil {
			return nil, fmt.Errorf("%w: it ends in block %d of %d", ErrEncoding, k, blocks)
		}
		if err := checkBlock(data, unit, width, limit); err != nil {
			return nil, fmt.Errorf("block %d: %w", k, err)
		}
	}
	if r.next(1, scratch[:]) != nil {
		return nil, fmt.Errorf("%w: there are bytes after its end", ErrEncoding)
	}
	return marks, nil
}

// form reads the type and the shape of a tensor, which must be those of another.
func (r *bytesReader) form(form tensor.Tensor) error {
	var one [1]byte
	dtype := r.next(1, one[:])
	if dtype == nil {
		return fmt.Errorf("%w: it is empty", ErrEncoding)
	}
	if got := tensor.DType(dtype[0]); got != form.DType() {
		return fmt.Errorf("%w: the sum is of %v, expected %v", tensor.ErrType, got, form.DType())
	}
	want := form.Shape()
	dims, ok := r.uvarint()
	if ok && dims != uint64(len(want)) {
		return fmt.Errorf("%w: the sum has %d dimensions, expected the shape %v", tensor.ErrShape, dims, want)
	}
	for i := 0; ok && i < len(want); i++ {
		var n uint64
		if n, ok = r.uvarint(); ok && n != uint64(want[i]) {
			return fmt.Errorf("%w: dimension %d of the sum is %d, expected the shape %v", tensor.ErrShape, i, n, want)
		}
	}
	if !ok {
		return fmt.Errorf("%w: its shape cannot be read", ErrEncoding)
	}
	return nil
}

// checkBlock checks the elements of a block. A limit of 0 is none.
func checkBlock(data []byte, unit, width int, limit float64) error {
	if width == 0 {
		return nil
	}
	var odd, top, second byte // bits that differ from those of the sign
	for at := 0; at < len(data); at += width {
		sign := byte(int8(data[at+width-1]) >> 7)
		odd |= data[at] & 1
		top |= data[at+width-1] ^ sign
		if width > 1 {
			second |= data[at+width-2] ^ sign
		}
	}
	length := 8*(width-1) + bits.Len8(top)
	switch {
	case odd == 0:
		return fmt.Errorf("%w: its unit is too small", ErrEncoding)
	case width > 1 && top == 0 && second < 0x80:
		return fmt.Errorf("%w: its elements have more bytes than they need", ErrEncoding)
	case unit+length > sumBits:
		return fmt.Errorf("%w: an element has the order of 2^%d, at most 2^%d", ErrEncoding, unit+length, sumBits)
	}
	if limit == 0 || power(int32(unit+length)) <= limit {
		return nil
	}
	for at := 0; at < len(data); at += width {
		if v := approximate(data[at:at+width], unit); !(v <= limit && v >= -limit) {
			return fmt.Errorf("%w: element %d is %.4g, its weight allows %.4g", ErrEncoding, at/width, v, limit)
		}
	}
	return nil
}

// approximate returns an element to about 54 bits.
func approximate(data []byte, unit int) float64 {
	v := int64(int8(data[len(data)-1]))
	last := max(0, len(data)-8)
	for i := len(data) - 2; i >= last; i-- {
		v = v<<8 | int64(data[i])
	}
	return float64(v) * power(int32(unit+8*last))
}

// merge adds the elements of an encoded block.
func (b *block) merge(sums []int64, data []byte, unit int32, width int) {
	switch {
	case width == 0:
	case width <= 8:
		var values [blockLen]int64
		var size uint64
		for i := range sums {
			v := int64(int8(data[(i+1)*width-1]))
			for k := width - 2; k >= 0; k-- {
				v = v<<8 | int64(data[i*width+k])
			}
			values[i] = v
			size |= uint64(v ^ v>>63)
		}
		b.mergeNarrow(sums, values[:len(sums)], unit, bits.Len64(size|1))
	default:
		for i := range sums {
			b.widen().addWide(i, data[i*width:(i+1)*width], unit)
		}
	}
}

// mergeNarrow adds counts of a unit, whose absolute value is at most 2^length.
func (b *block) mergeNarrow(sums, counts []int64, unit int32, length int) {
	if b.empty() && b.layers == nil {
		b.grid = max(min(unit, unit+int32(length)-62+headroom), lowestUnit)
	}
	if finer := b.grid - unit; finer > 0 && finer < 62 && unit >= lowestUnit && b.load < fullLoad>>(finer+1) {
		for i := range sums {
			sums[i] <<= finer
		}
		b.load <<= finer
		b.grid = unit
	}
	shift := unit - b.grid
	if shift < 0 || int(shift)+length > 60 {
		wide := b.widen()
		for i, v := range counts {
			if v != 0 {
				wide.addInt(i, v, unit)
			}
		}
		return
	}
	b.reserve(sums, 1<<(int(shift)+length))
	for i, v := range counts {
		sums[i] += v << shift
	}
}

// addWide adds an element of any number of bytes in units of 2^exponent.
func (l *layers) addWide(i int, data []byte, exponent int32) {
	var magnitude [limbs + 1]uint64
	sign := byte(int8(data[len(data)-1]) >> 7)
	carry := uint64(sign & 1)
	for k := range limbs {
		var word [8]byte
		for n := range word {
			word[n] = sign
			if at := 8*k + n; at < len(data) {
				word[n] = data[at]
			}
			word[n] ^= sign
		}
		magnitude[k], carry = bits.Add64(binary.LittleEndian.Uint64(word[:]), carry, 0)
	}
	for k, m := range magnitude {
		if m != 0 {
			l.addBits(i, m, exponent+int32(64*k), sign != 0)
		}
	}
}

// append appends the encoding of the block.
func (b *block) append(to []byte, sums []int64) []byte {
	if b.layers != nil {
		return b.appendWide(to, sums)
	}
	if b.empty() {
		return append(to, 0, 0, 0)
	}
	var all, size uint64
	for _, v := range sums {
		all |= uint64(v)
		size |= uint64(v ^ v>>63)
	}
	if all == 0 {
		return append(to, 0, 0, 0)
	}
	unit := bits.TrailingZeros64(all)
	width := (bits.Len64(size) - unit + 8) / 8 // with the sign
	to = appendHead(to, b.grid+int32(unit), width)
	for _, v := range sums {
		v >>= unit
		for range width {
			to = append(to, byte(v))
			v >>= 8
		}
	}
	return to
}

func appendHead(to []byte, unit int32, width int) []byte {
	return append(binary.LittleEndian.AppendUint16(to, uint16(int16(unit))), byte(width))
}

// wideWords is how many words of 64 bits hold all digits of an element.
const wideWords = (layerBits*(layerCount+2) + 63) / 64

// appendWide appends the encoding of a block with layers.
func (b *block) appendWide(to []byte, sums []int64) []byte {
	elements := make([][wideWords]uint64, len(sums))
	var all, size [wideWords]uint64
	for i, v := range sums {
		if b.empty() {
			v = 0
		}
		e := b.layers.words(i, v, b.grid)
		sign := uint64(int64(e[wideWords-1]) >> 63)
		for k, word := range e {
			all[k] |= word
			size[k] |= word ^ sign
		}
		elements[i] = e
	}
	unit, length := -1, 0
	for k := range all {
		if unit < 0 && all[k] != 0 {
			unit = 64*k + bits.TrailingZeros64(all[k])
		}
		if size[k] != 0 {
			length = 64*k + bits.Len64(size[k])
		}
	}
	if unit < 0 {
		return append(to, 0, 0, 0)
	}
	width := (length - unit + 8) / 8
	to = appendHead(to, lowestGrid+int32(unit), width)
	for _, e := range elements {
		sign := uint64(int64(e[wideWords-1]) >> 63)
		for k := range width {
			at := unit + 8*k
			word, shift := at/64, at%64
			low, high := sign, sign
			if word < wideWords {
				low = e[word]
			}
			if word+1 < wideWords {
				high = e[word+1]
			}
			to = append(to, byte(low>>shift|high<<(64-shift)))
		}
	}
	return to
}

// words returns an element and v units of 2^grid as a two's complement count of
// 2^lowestGrid.
func (l *layers) words(i int, v int64, grid int32) (words [wideWords]uint64) {
	digits := l.digits(i, v, grid)
	normalise(&digits)
	for k, d := range digits {
		at := layerBits * k
		word, shift := at/64, at%64
		// The last digit has the sign; the others are not negative.
		low, high := uint64(d)<<shift, uint64(d>>(64-shift)) // a shift by 64 leaves the sign
		words[word] |= low
		for n := word + 1; n < wideWords; n++ {
			words[n] |= high
			high = uint64(d >> 63)
		}
	}
	return words
}
