package modelrepo

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"hash"
	"strings"
)

// Checksum is what the sender of a piece of an upload announced about its
// bytes. The zero Checksum announces nothing.
type Checksum struct {
	// Algorithm is sha1, sha256, sha512 or md5.
	Algorithm string
	// Sum is the sum, in as many bytes as the algorithm makes.
	Sum []byte
}

// checksumAlgorithms is what a Tus-Checksum-Algorithm field says.
const checksumAlgorithms = "sha1,sha256,sha512,md5"

// ParseChecksum reads the value of an Upload-Checksum field (tus 1.0, extension
// checksum): the name of the algorithm, a space, and the sum in base64. An
// empty value announces nothing. The error matches [ErrInvalid].
func ParseChecksum(value string) (Checksum, error) {
	if value == "" {
		return Checksum{}, nil
	}
	algorithm, text, _ := strings.Cut(value, " ")
	c := Checksum{Algorithm: algorithm}
	sum := c.new()
	if sum == nil {
		return Checksum{}, fmt.Errorf("parse Upload-Checksum %.200q: %w: the algorithm is not one of %s", value, ErrInvalid, checksumAlgorithms)
	}
	var err error
	if c.Sum, err = base64.StdEncoding.DecodeString(text); err != nil || len(c.Sum) != sum.Size() {
		return Checksum{}, fmt.Errorf("parse Upload-Checksum %.200q: %w: expected the base64 form of %d bytes", value, ErrInvalid, sum.Size())
	}
	return c, nil
}

// String returns the checksum as [ParseChecksum] reads it.
func (c Checksum) String() string {
	if c.Algorithm == "" {
		return ""
	}
	return c.Algorithm + " " + base64.StdEncoding.EncodeToString(c.Sum)
}

// new returns what computes the sum; nil if the algorithm is empty or unknown.
func (c Checksum) new() hash.Hash {
	switch c.Algorithm {
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
