package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// Digest returns the SHA-256 of parameters in hexadecimal: over each tensor, in order,
// its length in bytes as 8 bytes, the low one first, and the bytes that are sent.
func Digest(p flower.Parameters) string {
	sum := sha256.New()
	for _, blob := range p.Tensors {
		var length [8]byte
		binary.LittleEndian.PutUint64(length[:], uint64(blob.Len()))
		sum.Write(length[:]) // a hash never fails
		for _, chunk := range blob {
			sum.Write(chunk)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
