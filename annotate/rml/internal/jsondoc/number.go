package jsondoc

import "math"

// decimal is a JSON number in parts: the digits without leading and trailing
// zeros, which may still hold a decimal point, and the power of ten of the
// first digit. Zero has no digits.
type decimal struct {
	negative  bool
	digits    []byte
	magnitude int64
}

// compareNumbers compares two JSON numbers by their exact mathematical value,
// however long they are, and returns -1, 0 or 1. It does not allocate.
func compareNumbers(a, b []byte) int {
	if string(a) == string(b) {
		return 0
	}
	x, y := takeApart(a), takeApart(b)
	switch {
	case len(x.digits) == 0 && len(y.digits) == 0:
		return 0
	case len(x.digits) == 0:
		return sign(y.negative)
	case len(y.digits) == 0:
		return -sign(x.negative)
	case x.negative != y.negative:
		return -sign(x.negative)
	}
	order := compareMagnitudes(x, y)
	if x.negative {
		return -order
	}
	return order
}

// sign is 1 for a negative number, the place of zero against it.
func sign(negative bool) int {
	if negative {
		return 1
	}
	return -1
}

func compareMagnitudes(x, y decimal) int {
	switch {
	case x.magnitude < y.magnitude:
		return -1
	case x.magnitude > y.magnitude:
		return 1
	}
	i, j := 0, 0
	for i < len(x.digits) || j < len(y.digits) {
		var p, q byte = '0', '0'
		if i < len(x.digits) {
			if p = x.digits[i]; p == '.' {
				i++
				continue
			}
		}
		if j < len(y.digits) {
			if q = y.digits[j]; q == '.' {
				j++
				continue
			}
		}
		if p != q {
			if p < q {
				return -1
			}
			return 1
		}
		i, j = i+1, j+1
	}
	return 0
}

// takeApart splits a valid JSON number.
func takeApart(text []byte) decimal {
	var n decimal
	if text[0] == '-' {
		n.negative = true
		text = text[1:]
	}
	end, point := len(text), -1
	var exponent int64
	for i, c := range text {
		if c == '.' {
			point = i
		}
		if c|0x20 == 'e' {
			end, exponent = i, readExponent(text[i+1:])
			break
		}
	}
	if point < 0 {
		point = end
	}
	first := 0
	for first < end && (text[first] == '0' || text[first] == '.') {
		first++
	}
	for end > first && (text[end-1] == '0' || text[end-1] == '.') {
		end--
	}
	n.digits = text[first:end]
	if first < point {
		n.magnitude = exponent + int64(point-first-1)
	} else {
		n.magnitude = exponent - int64(first-point)
	}
	return n
}

// readExponent reads an exponent, held within a range that no text length can
// shift out of an int64.
func readExponent(text []byte) int64 {
	negative := text[0] == '-'
	var n int64
	for _, c := range text {
		if c >= '0' && c <= '9' && n < math.MaxInt64/100 {
			n = n*10 + int64(c-'0')
		}
	}
	if negative {
		return -n
	}
	return n
}
