package dp

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
)

// gridBits is the ratio of the standard deviation to the grid of noised values,
// in powers of two.
const gridBits = 20

// noise is the Gaussian noise of a round. It serves one goroutine.
type noise struct {
	stream *rand.ChaCha8
	spare  float64 // the second of a pair
	paired bool
}

// newNoise returns noise under a key of 32 bytes that are read from random.
func newNoise(random io.Reader) (*noise, error) {
	var key [32]byte
	if _, err := io.ReadFull(random, key[:]); err != nil {
		return nil, fmt.Errorf("read the key of the noise: %w", err)
	}
	return &noise{stream: rand.NewChaCha8(key)}, nil
}

// uniform returns a number between -1 and 1 with 53 random bits, never 0.
func (n *noise) uniform() float64 {
	return float64(int64(n.stream.Uint64())>>11|1) * 0x1p-52
}

// normal returns a number of the standard normal distribution (Marsaglia and
// Bray 1964, the polar method).
func (n *noise) normal() float64 {
	if n.paired {
		n.paired = false
		return n.spare
	}
	for {
		x, y := n.uniform(), n.uniform()
		square := x*x + y*y
		if square >= 1 {
			continue
		}
		scale := math.Sqrt(-2 * math.Log(square) / square)
		n.spare, n.paired = y*scale, true
		return x * scale
	}
}

// blur adds noise of a standard deviation to values. The results lie on a grid
// that depends on the deviation only.
func (n *noise) blur(value, deviation float64) float64 {
	_, exponent := math.Frexp(deviation)
	grid := math.Ldexp(1, exponent-1-gridBits)
	return math.RoundToEven((value+deviation*n.normal())/grid) * grid
}
