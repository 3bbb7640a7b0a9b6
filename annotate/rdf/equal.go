package rdf

import "bytes"

// equal is [bytes.Equal] for texts that mostly are equal and of the length that
// IRIs have: it looks at the start and, overlapping, at the end, in steps of
// fixed size. A loop would end at a different place each time, which processors
// predict badly.
func equal(a, b []byte) bool {
	n := len(a)
	if n != len(b) {
		return false
	}
	if n < 16 || n > 64 {
		return bytes.Equal(a, b)
	}
	if n > 32 && !(equal16(a[16:], b[16:]) && equal16(a[n-32:], b[n-32:])) {
		return false
	}
	return equal16(a, b) && equal16(a[n-16:], b[n-16:])
}

func equal16(a, b []byte) bool { return *(*[16]byte)(a) == *(*[16]byte)(b) }
