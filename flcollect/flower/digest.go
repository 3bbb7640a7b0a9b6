package flower

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"

	"google.golang.org/protobuf/encoding/protowire"
)

// Digest returns the SHA-256 of parameters in hexadecimal: over each tensor, in order,
// its length in bytes as 8 bytes, the low one first, and the bytes that are sent. A client
// in Python computes the same:
//
//	sha256 = hashlib.sha256()
//	for tensor in parameters.tensors:
//	    sha256.update(len(tensor).to_bytes(8, "little") + tensor)
//	sha256.hexdigest()
//
// Encrypted tensors are digested as they are sent. A digest reveals nothing but equality,
// unless all models that it may be of can be tried.
func (p Parameters) Digest() string {
	sum := sha256.New()
	for _, blob := range p.Tensors {
		writeLength(sum, uint64(blob.Len()))
		for _, chunk := range blob {
			sum.Write(chunk)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// writeLength digests the length of a tensor.
func writeLength(sum hash.Hash, length uint64) {
	sum.Write(binary.LittleEndian.AppendUint64(nil, length)) // a hash never fails
}

// digester digests the parameters of a [FitRes] while its message arrives, in pieces of any
// size. It follows the fields as the decoder does, as far as they concern the tensors; of
// a message that is none it makes nothing of use. Make one with newDigester.
type digester struct {
	sums hash.Hash

	at    uint64 // bytes of the message so far
	depth int    // of the message that is being read: 0 is the whole, 2 the parameters
	ends  [3]uint64

	state  digestState
	number uint64 // of the varint that is being read
	shift  uint
	field  protowire.Number
	left   uint64 // bytes of the value
	found  bool   // the last answer in the message is a FitRes
}

type digestState int

const (
	readingTag    digestState = iota
	readingLength             // of bytes
	skippingVarint
	skipping // bytes that are not digested
	digesting
	lost // this is not the message of a FitRes
)

// The fields that lead to the tensors of a FitRes, by depth.
const (
	fitResField     protowire.Number = 4
	parametersField protowire.Number = 2
	tensorField     protowire.Number = 1
)

func newDigester() *digester {
	return &digester{sums: sha256.New(), ends: [3]uint64{1<<64 - 1, 0, 0}}
}

// sum returns the digest, empty if there is none.
func (d *digester) sum() string {
	if !d.found || d.depth != 0 || d.state != readingTag || d.shift != 0 {
		return ""
	}
	return hex.EncodeToString(d.sums.Sum(nil))
}

// write takes the next bytes.
func (d *digester) write(data []byte) {
	for len(data) > 0 && d.state != lost {
		n := 1
		switch d.state {
		case skipping, digesting:
			n = int(min(d.left, uint64(len(data))))
			if d.state == digesting {
				d.sums.Write(data[:n])
			}
			if d.left -= uint64(n); d.left == 0 {
				d.state = readingTag
			}
		default:
			d.varint(data[0])
		}
		d.at += uint64(n)
		data = data[n:]
		d.rise()
	}
}

// rise leaves the messages that end here.
func (d *digester) rise() {
	for d.depth > 0 && d.at >= d.ends[d.depth] {
		if d.at > d.ends[d.depth] || d.state != readingTag || d.shift != 0 {
			d.state = lost
			return
		}
		d.depth--
	}
}

// varint takes the next byte of a varint.
func (d *digester) varint(b byte) {
	if d.shift > 63 || d.shift == 63 && b > 1 {
		d.state = lost
		return
	}
	d.number |= uint64(b&0x7f) << d.shift
	d.shift += 7
	if b >= 0x80 {
		return
	}
	number := d.number
	d.number, d.shift = 0, 0
	switch d.state {
	case readingTag:
		d.tag(number)
	case readingLength:
		d.length(number)
	case skippingVarint:
		d.state = readingTag
	}
}

// tag begins a field.
func (d *digester) tag(tag uint64) {
	field, kind := protowire.DecodeTag(tag)
	d.field = field
	switch kind {
	case protowire.VarintType:
		d.state = skippingVarint
	case protowire.Fixed32Type:
		d.state, d.left = skipping, 4
	case protowire.Fixed64Type:
		d.state, d.left = skipping, 8
	case protowire.BytesType:
		d.state = readingLength
	default:
		d.state = lost
	}
	if field < protowire.MinValidNumber {
		d.state = lost
	}
	if known := field >= 1 && field <= 5; known && d.depth == 0 { // an answer replaces the one before
		d.sums.Reset()
		d.found = field == fitResField
	}
}

// length begins the value of a field of bytes. The byte at which this is called is the last
// one of the length, and not counted yet.
func (d *digester) length(length uint64) {
	end := d.at + 1 + length
	if end < length || end > d.ends[d.depth] {
		d.state = lost
		return
	}
	enters := d.depth == 0 && d.field == fitResField || d.depth == 1 && d.field == parametersField
	switch {
	case enters:
		d.depth++
		d.ends[d.depth] = end
		d.state = readingTag
	case d.depth == 2 && d.field == tensorField:
		writeLength(d.sums, length)
		d.state, d.left = digesting, length
	default:
		d.state, d.left = skipping, length
	}
	if d.left == 0 && !enters {
		d.state = readingTag
	}
}
