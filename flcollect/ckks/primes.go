package ckks

import (
	"fmt"
	"math/big"
)

// moduli returns the primes that SEAL's CoeffModulus::Create makes for a degree:
// of every size the largest that are 1 modulo 2N, as many as there are moduli of
// that size, handed out from the smallest on.
func moduli(degree int, bitSizes []int) ([]uint64, error) {
	wanted := map[int]int{}
	for _, bits := range bitSizes {
		wanted[bits]++
	}
	found := map[int][]uint64{}
	for bits, count := range wanted {
		primes := largestPrimes(uint64(2*degree), bits, count)
		if len(primes) < count {
			return nil, fmt.Errorf("there are %d primes of %d bits for degree %d, %d are asked for", len(primes), bits, degree, count)
		}
		found[bits] = primes
	}
	result := make([]uint64, len(bitSizes))
	for i, bits := range bitSizes {
		last := len(found[bits]) - 1
		result[i], found[bits] = found[bits][last], found[bits][:last]
	}
	return result, nil
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
