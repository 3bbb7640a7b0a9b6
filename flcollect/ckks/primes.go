package ckks

import (
	"fmt"
	"iter"
	"math/big"
	"slices"
)

// moduli returns the primes that SEAL's CoeffModulus::Create makes for a degree:
// of every size the largest that are 1 modulo 2N, as many as there are moduli of
// that size, assigned from the smallest on.
func moduli(degree int, bitSizes []int) ([]uint64, error) {
	wanted := map[int]int{}
	for _, bits := range bitSizes {
		wanted[bits]++
	}
	found := map[int][]uint64{}
	for bits, count := range wanted {
		found[bits] = largestPrimes(uint64(2*degree), bits, count)
	}
	for _, bits := range bitSizes {
		if len(found[bits]) < wanted[bits] {
			return nil, fmt.Errorf("there are %d primes of %d bits for degree %d, %d are asked for", len(found[bits]), bits,
				degree, wanted[bits])
		}
	}
	result, _ := handOut(found, bitSizes)
	return result, nil
}

// handOut assigns to every size one of its primes, which are in falling order: of
// the first ones, as many as are needed, the smallest first. It returns false if
// there are too few.
func handOut(primes map[int][]uint64, bitSizes []int) ([]uint64, bool) {
	left := map[int]int{}
	for _, bits := range bitSizes {
		left[bits]++
	}
	result := make([]uint64, len(bitSizes))
	for i, bits := range bitSizes {
		if left[bits]--; left[bits] >= len(primes[bits]) {
			return nil, false
		}
		result[i] = primes[bits][left[bits]]
	}
	return result, true
}

// largestPrimes returns the largest primes of so many bits that are 1 modulo
// the factor, in falling order, as far as there are that many.
func largestPrimes(factor uint64, bits, count int) []uint64 {
	top, least := uint64(1)<<bits, uint64(1)<<(bits-1)
	var primes []uint64
	for value := (top-1)/factor*factor + 1; value > least && value < top+1 && len(primes) < count; value -= factor {
		// Exact for numbers of 64 bits.
		if value < top && new(big.Int).SetUint64(value).ProbablyPrime(0) {
			primes = append(primes, value)
		}
		if value < factor {
			break
		}
	}
	return primes
}

// Sizes in bits that the moduli of keys have in practice.
const (
	leastSize    = 20
	greatestSize = 60
)

// commonModuli yields sizes of moduli that keys may have, with so many moduli in a
// fresh ciphertext and at most so many bits in all, and the name of those moduli: a
// first one, one size for all between it and the last, and the last, which is that
// of the keys. Names are hashes, so only a search finds the sizes of a name.
func commonModuli(degree, count, most int) iter.Seq2[[]int, parmsID] {
	primes := map[int][]uint64{}
	for size := leastSize; size <= greatestSize; size++ {
		primes[size] = largestPrimes(uint64(2*degree), size, count+1)
	}
	return func(yield func([]int, parmsID) bool) {
		for first := greatestSize; first >= leastSize; first-- {
			for middle := greatestSize; middle >= leastSize; middle-- {
				data := []int{first}
				for len(data) < count {
					data = append(data, middle)
				}
				if count == 1 && middle != first {
					continue // there is none between
				}
				for _, sizes := range withLast(data, most) {
					q, ok := handOut(primes, sizes)
					if ok && !yield(sizes, identify(degree, dataModuli(q))) {
						return
					}
				}
			}
		}
	}
}

// withLast returns sizes with a last one for the keys that differ in the moduli of
// the others: one of another size leaves them the largest primes of theirs, one of
// the same size takes a prime away. A single modulus needs no other.
func withLast(data []int, most int) [][]int {
	sum := 0
	for _, size := range data {
		sum += size
	}
	var all [][]int
	if len(data) == 1 && sum <= most {
		all = append(all, data)
	}
	other := min(most-sum, greatestSize)
	for slices.Contains(data, other) {
		other--
	}
	lasts := []int{data[0], data[len(data)-1], other}
	if len(data) == 1 {
		lasts = data
	}
	for i, last := range lasts {
		if last >= leastSize && sum+last <= most && !slices.Contains(lasts[:i], last) {
			all = append(all, append(slices.Clone(data), last))
		}
	}
	return all
}
