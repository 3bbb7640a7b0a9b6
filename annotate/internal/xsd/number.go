package xsd

import (
	"bytes"
	"strings"
)

// maxPlain is the length of the longest number that AppendPlain writes for a shorter one. The
// numbers of xsd:double have less.
const maxPlain = 1024

// NumberFormat returns what appends a number, in any notation of xsd:double, in the notation of a
// datatype that is xsd:decimal or derived from it. It reports false for text that is not a
// number, and for one that is not in the value space, such as 1.5 for xsd:integer. It does not
// check bounds, such as those of xsd:byte. NumberFormat is nil for other datatypes.
func NumberFormat(datatype string) func(dst, number []byte) ([]byte, bool) {
	name, ok := strings.CutPrefix(datatype, Namespace)
	if !ok {
		return nil
	}
	switch name {
	case "decimal":
		return AppendPlain
	case "integer", "long", "int", "short", "byte", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte",
		"nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger":
		return appendWhole
	}
	return nil
}

// AppendPlain appends a number in any notation of xsd:double as a plain decimal, with neither an
// exponent nor zeros that mean nothing: 1.20e-3 as 0.0012. It reports false for text that is not
// a number, and for a number of more than 1,024 characters that was written with fewer.
func AppendPlain(dst, number []byte) ([]byte, bool) {
	mantissa, power := number, 0
	if i := bytes.IndexAny(number, "eE"); i >= 0 {
		var ok bool
		if mantissa = number[:i]; !isInteger(number[i+1:]) {
			return dst, false
		}
		if power, ok = readPower(number[i+1:]); !ok {
			return dst, false
		}
	}
	if !isDecimal(mantissa) {
		return dst, false
	}
	whole, fraction, _ := bytes.Cut(unsigned(mantissa), []byte("."))
	digit := func(i int) byte {
		switch {
		case i >= 0 && i < len(whole):
			return whole[i]
		case i >= len(whole) && i < len(whole)+len(fraction):
			return fraction[i-len(whole)]
		}
		return '0'
	}
	first, end := 0, len(whole)+len(fraction)
	for first < end && digit(first) == '0' {
		first++
	}
	for first < end && digit(end-1) == '0' {
		end--
	}
	if first == end {
		return append(dst, '0'), true
	}
	point := len(whole) + power
	if size := max(point-first, 0) + max(end-point, 0); size > maxPlain && size > len(number) {
		return dst, false
	}
	if mantissa[0] == '-' {
		dst = append(dst, '-')
	}
	if point <= first {
		dst = append(dst, '0')
	}
	for i := first; i < point; i++ {
		dst = append(dst, digit(i))
	}
	if point < end {
		dst = append(dst, '.')
	}
	for i := point; i < end; i++ {
		dst = append(dst, digit(i))
	}
	return dst, true
}

// readPower reads an exponent. It reports false for one with which only zero is a plain number.
func readPower(text []byte) (int, bool) {
	const most = 1 << 20
	power := 0
	for _, c := range unsigned(text) {
		if power = power*10 + int(c-'0'); power > most {
			return 0, false
		}
	}
	if text[0] == '-' {
		power = -power
	}
	return power, true
}

func appendWhole(dst, number []byte) ([]byte, bool) {
	start := len(dst)
	dst, ok := AppendPlain(dst, number)
	if !ok || bytes.IndexByte(dst[start:], '.') >= 0 {
		return dst[:start], false
	}
	return dst, true
}
