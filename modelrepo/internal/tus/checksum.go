package tus

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
)

// Checksum is what the client announced about the bytes of a piece. The zero Checksum
// announces nothing.
type Checksum struct {
	// Algorithm is sha1, sha256, sha512 or md5.
	Algorithm string
	// Sum is the sum, in as many bytes as the algorithm has.
	Sum []byte
}

// Algorithms is the value of the Tus-Checksum-Algorithm field.
const Algorithms = "sha1,sha256,sha512,md5"

// NewHash returns the hash of an algorithm; nil if the algorithm is empty or unknown.
func NewHash(algorithm string) hash.Hash {
	switch algorithm {
	case "sha1":
		return sha1.New()
	case "sha256":
		return sha256.New()
	case "sha512":
		return sha512.New()
	case "md5":
		return md5.New()
	}
	return nil
}
