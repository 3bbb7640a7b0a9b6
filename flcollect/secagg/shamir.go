package secagg

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// maxShare bounds the bytes of a share: an index, and the blocks of a private
// key in PEM, of which Flower's have 20.
const maxShare = 4 + 256*blockSize

// share is a point of the polynomials that hide a secret (Shamir 1979), one
// polynomial for each block of 16 bytes of the padded secret.
type share struct {
	index  uint32
	blocks []element
}

// parseShare reads a share as Flower encodes it: the index in four bytes, low
// byte first, then the blocks.
func parseShare(data []byte) (share, error) {
	switch {
	case len(data) < 4+blockSize || (len(data)-4)%blockSize != 0:
		return share{}, fmt.Errorf("a share has %d bytes; it needs 4 and a multiple of %d", len(data), blockSize)
	case len(data) > maxShare:
		return share{}, fmt.Errorf("a share has %d bytes; %d are allowed", len(data), maxShare)
	}
	s := share{index: binary.LittleEndian.Uint32(data), blocks: make([]element, 0, len(data)/blockSize)}
	if s.index == 0 {
		return share{}, errors.New("a share has the index 0, which is the secret's own")
	}
	for block := range slices.Chunk(data[4:], blockSize) {
		s.blocks = append(s.blocks, decodeElement(block))
	}
	return s, nil
}

// split returns count shares of a secret, of which threshold restore it.
func split(secret []byte, threshold, count int) [][]byte {
	shares := make([][]byte, count)
	for i := range shares {
		shares[i] = binary.LittleEndian.AppendUint32(nil, uint32(i+1))
	}
	random := make([]byte, (threshold-1)*blockSize)
	for block := range slices.Chunk(pad(secret), blockSize) {
		rand.Read(random) // never fails
		for i := range shares {
			x, y := element{lo: uint64(i + 1)}, element{}
			for coefficient := range slices.Chunk(random, blockSize) {
				y = y.plus(decodeElement(coefficient)).times(x)
			}
			shares[i] = y.plus(decodeElement(block)).append(shares[i])
		}
	}
	return shares
}

// errContradiction means that shares do not lie on one polynomial, and that it
// cannot be said which of them are wrong.
var errContradiction = errors.New("its shares contradict each other")

// combine restores a secret from threshold or more shares. Shares beyond the
// threshold verify the others. With two of them a single wrong share is
// found, and its place returned; otherwise the place is -1.
func combine(shares []share, threshold int) (secret []byte, wrong int, err error) {
	if err := checkShares(shares, threshold); err != nil {
		return nil, -1, err
	}
	wrong = -1
	if !agree(shares, threshold) {
		if wrong = findWrong(shares, threshold); wrong < 0 {
			return nil, -1, errContradiction
		}
		shares = slices.Delete(slices.Clone(shares), wrong, wrong+1)
	}
	weights := lagrange(shares[:threshold], element{})
	for block := range shares[0].blocks {
		secret = weighted(shares[:threshold], weights, block).append(secret)
	}
	secret, err = unpad(secret)
	return secret, wrong, err
}

func checkShares(shares []share, threshold int) error {
	if threshold < 1 || len(shares) < threshold {
		return fmt.Errorf("%d shares, %d are needed", len(shares), threshold)
	}
	for i, s := range shares {
		if len(s.blocks) != len(shares[0].blocks) {
			return errors.New("its shares differ in length")
		}
		if slices.ContainsFunc(shares[:i], func(other share) bool { return other.index == s.index }) {
			return fmt.Errorf("two shares have the index %d", s.index)
		}
	}
	return nil
}

// agree reports whether all shares lie on the polynomials of the first ones.
func agree(shares []share, threshold int) bool {
	for _, extra := range shares[threshold:] {
		weights := lagrange(shares[:threshold], element{lo: uint64(extra.index)})
		for block, y := range extra.blocks {
			if weighted(shares[:threshold], weights, block) != y {
				return false
			}
		}
	}
	return true
}

// findWrong returns the place of the one share without which the others agree,
// or -1. Without two shares over the threshold nothing would verify the rest.
func findWrong(shares []share, threshold int) int {
	if len(shares) < threshold+2 {
		return -1
	}
	for i := range shares {
		if agree(slices.Delete(slices.Clone(shares), i, i+1), threshold) {
			return i
		}
	}
	return -1
}

// lagrange returns by what the shares are multiplied for the value of their
// polynomial at a place that is not one of theirs.
func lagrange(shares []share, at element) []element {
	weights := make([]element, len(shares))
	for i, s := range shares {
		x := element{lo: uint64(s.index)}
		above, below := element{lo: 1}, element{lo: 1}
		for j, other := range shares {
			if j != i {
				y := element{lo: uint64(other.index)}
				above = above.times(at.plus(y))
				below = below.times(x.plus(y))
			}
		}
		weights[i] = above.times(below.inverse())
	}
	return weights
}

func weighted(shares []share, weights []element, block int) element {
	var sum element
	for i, s := range shares {
		sum = sum.plus(s.blocks[block].times(weights[i]))
	}
	return sum
}

// pad extends data to whole blocks (PKCS #7, RFC 5652, section 6.3).
func pad(data []byte) []byte {
	missing := blockSize - len(data)%blockSize
	return append(slices.Clip(data), bytes.Repeat([]byte{byte(missing)}, missing)...)
}

func unpad(data []byte) ([]byte, error) {
	if len(data) == 0 || len(data)%blockSize != 0 {
		return nil, errors.New("padded data are not whole blocks")
	}
	missing := int(data[len(data)-1])
	if missing == 0 || missing > blockSize {
		return nil, errors.New("wrong padding")
	}
	for _, b := range data[len(data)-missing:] {
		if int(b) != missing {
			return nil, errors.New("wrong padding")
		}
	}
	return data[:len(data)-missing], nil
}
