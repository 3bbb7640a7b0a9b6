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
		found[bits] = largestPrimes(uint64(2*degree), bits, count)
	}
	for _, bits := range bitSizes {
		if len(found[bits]) < wanted[bits] {
			return nil, fmt.Errorf("there are %d primes of %d bits for degree %d, %d are asked for", len(found[bits]), bits, degree, wanted[bits])
		}
	}
	result, _ := handOut(found, bitSizes)
	return result, nil
}

// handOut gives every size one of its primes, which are in falling order: of the
// first ones, as many as are needed, the smallest first. It returns false if there
// are too few.
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

// commonModuli says of the parameters that other keys may have, with as many
// moduli in a fresh ciphertext, what sizes they come from. It serves errors only:
// a name of parameters is a hash, which says nothing to a person.
func commonModuli(degree, count int) map[parmsID]string {
	names := map[parmsID]string{}
	primes := map[int][]uint64{}
	sizes := []int{60, 50, 40, 30, 20}
	for _, size := range sizes {
		primes[size] = largestPrimes(uint64(2*degree), size, count+1)
	}
	for _, first := range sizes {
		for _, middle := range sizes {
			for _, last := range sizes {
				bits := []int{first}
				for len(bits) < count {
					bits = append(bits, middle)
				}
				bits = append(bits, last)
				if q, ok := handOut(primes, bits); ok {
					names[identify(degree, dataModuli(q))] = fmt.Sprint(bits)
				}
			}
		}
	}
	return names
}
