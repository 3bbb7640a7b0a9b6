package secagg

import (
	"context"
	"time"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// What tests in a package of their own see of this one.
var (
	Seal         = seal
	OpenToken    = open
	Split        = split
	AgreeKey     = agreeKey
	ParsePublic  = parsePublic
	ParsePrivate = parsePrivate
	ReadVector   = readVector
	Ring         = ring
)

// Now is a time for Seal.
func Now() time.Time { return time.Unix(1700000000, 0) }

// Mask returns numbers of a mask, for 32 or 64 bits.
func Mask(seed []byte, modulus uint64, length int, wide bool) ([]uint64, error) {
	if wide {
		return readMask[uint64](seed, modulus, length)
	}
	return readMask[uint32](seed, modulus, length)
}

func readMask[W word](seed []byte, modulus uint64, length int) ([]uint64, error) {
	m, err := newMask[W](seed, modulus)
	if err != nil {
		return nil, err
	}
	numbers := make([]W, length)
	half := length / 2
	m.read(numbers[:half])
	m.read(numbers[half:])
	out := make([]uint64, length)
	for i, n := range numbers {
		out[i] = uint64(n)
	}
	return out, nil
}

// Combine restores a secret from encoded shares.
func Combine(blobs [][]byte, threshold int) ([]byte, int, error) {
	shares := make([]share, len(blobs))
	for i, blob := range blobs {
		var err error
		if shares[i], err = parseShare(blob); err != nil {
			return nil, -1, err
		}
	}
	return combine(shares, threshold)
}

// Parcel reads and encodes a message of shares.
func Parcel(data []byte) (from, to uint64, again []byte, err error) {
	p, err := parseParcel(data)
	if err != nil {
		return 0, 0, nil, err
	}
	return p.from, p.to, p.encode(), nil
}

// Dequantize returns the mean of sums over the clients of a configuration.
func Dequantize(config Config, sums []uint64, weight uint64, clients int) ([]tensor.Tensor, error) {
	r := &Round{config: config}
	v := &vector[uint64]{modulus: 1 << 62, elements: append([]uint64{weight}, sums...)}
	mean, _, err := r.dequantize(v, clients)
	return mean, err
}

// Unmask adds masks to, or removes them from, a sum of zeros.
func Unmask(ctx context.Context, length int, modulus int64, seeds [][]byte, add bool, workers int) ([]uint64, error) {
	s := newSum(length, modulus)
	var masks []hidden
	for _, seed := range seeds {
		masks = append(masks, hidden{seed: seed, add: add})
	}
	if err := s.unmask(ctx, masks, workers); err != nil {
		return nil, err
	}
	out := make([]uint64, length)
	s.at(out, 0)
	return out, nil
}

// CountShares returns the shares and the threshold of a configuration with its defaults.
func CountShares(c Config) (shares, threshold int) {
	c.fillDefaults()
	return c.Shares, c.Threshold
}
