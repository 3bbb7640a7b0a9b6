package xsd

import (
	"math"
	"strconv"
)

// AppendDouble appends the canonical form of an xsd:double (XML Schema 1.1 Part
// 2, section 3.3.5): one digit, a point, at least one more, E, exponent. A
// number beyond the range of a double becomes INF or -INF.
func AppendDouble(dst, number []byte) []byte {
	f, err := strconv.ParseFloat(string(number), 64)
	if err != nil && f == 0 {
		return append(dst, number...)
	}
	if math.IsNaN(f) { // databases have it
		return append(dst, "NaN"...)
	}
	var scratch [32]byte
	s := strconv.AppendFloat(scratch[:0], f, 'E', -1, 64)
	if s[len(s)-1] == 'f' { // +Inf, -Inf
		if s[0] == '-' {
			dst = append(dst, '-')
		}
		return append(dst, "INF"...)
	}
	exponent := len(s) - 1
	for s[exponent] != 'E' {
		exponent--
	}
	mantissa := s[:exponent]
	dst = append(dst, mantissa...)
	if len(mantissa) <= 2 { // "3" or "-3"
		dst = append(dst, '.', '0')
	}
	dst = append(dst, 'E')
	digits := s[exponent+1:]
	if digits[0] == '-' {
		dst = append(dst, '-')
	}
	digits = digits[1:]
	for len(digits) > 1 && digits[0] == '0' {
		digits = digits[1:]
	}
	return append(dst, digits...)
}
