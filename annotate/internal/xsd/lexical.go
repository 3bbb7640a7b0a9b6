package xsd

import (
	"bytes"
	"strings"
)

// Namespace is the namespace of the datatypes.
const Namespace = "http://www.w3.org/2001/XMLSchema#"

// LexicalSpace reports whether text is in the lexical space of a datatype (XML
// Schema 1.1 Part 2, section 3). Nil means that every text is.
type LexicalSpace func(text []byte) bool

// FindLexicalSpace returns the check for a datatype by its IRI, or nil for a
// datatype that is not checked.
func FindLexicalSpace(datatype string) LexicalSpace {
	name, ok := strings.CutPrefix(datatype, Namespace)
	if !ok {
		return nil
	}
	switch name {
	case "boolean":
		return isBoolean
	case "decimal":
		return isDecimal
	case "double", "float":
		return isDouble
	case "integer":
		return isInteger
	case "long":
		return integersWithin("-9223372036854775808", "9223372036854775807")
	case "int":
		return integersWithin("-2147483648", "2147483647")
	case "short":
		return integersWithin("-32768", "32767")
	case "byte":
		return integersWithin("-128", "127")
	case "unsignedLong":
		return integersWithin("0", "18446744073709551615")
	case "unsignedInt":
		return integersWithin("0", "4294967295")
	case "unsignedShort":
		return integersWithin("0", "65535")
	case "unsignedByte":
		return integersWithin("0", "255")
	case "nonNegativeInteger":
		return integersWithin("0", "")
	case "positiveInteger":
		return integersWithin("1", "")
	case "nonPositiveInteger":
		return integersWithin("", "0")
	case "negativeInteger":
		return integersWithin("", "-1")
	case "dateTime":
		return orPlainInstant(matches(year, '-', month, '-', day, 'T', clock, zone))
	case "dateTimeStamp":
		return orPlainInstant(matches(year, '-', month, '-', day, 'T', clock, zoneRequired))
	case "date":
		return matches(year, '-', month, '-', day, zone)
	case "time":
		return matches(clock, zone)
	case "gYear":
		return matches(year, zone)
	case "gYearMonth":
		return matches(year, '-', month, zone)
	case "gMonth":
		return matches('-', '-', month, zone)
	case "gMonthDay":
		return matches('-', '-', month, '-', day, zone)
	case "gDay":
		return matches('-', '-', '-', day, zone)
	case "hexBinary":
		return func(text []byte) bool { return len(text)%2 == 0 && len(text) == countLeading(text, isHex) }
	}
	return nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// orPlainInstant returns a check for instants with a fast path for their most
// common form.
func orPlainInstant(others LexicalSpace) LexicalSpace {
	return func(text []byte) bool { return isPlainInstant(text) || others(text) }
}

// isPlainInstant reports whether text is an instant like 2013-01-01T06:00:00Z, on one
// of the 28 days that every month has.
func isPlainInstant(text []byte) bool {
	const form = "dddd-dd-ddTdd:dd:ddZ"
	if len(text) != len(form) {
		return false
	}
	for i, c := range text {
		if (form[i] == 'd' && !isDigit(c)) || (form[i] != 'd' && form[i] != c) {
			return false
		}
	}
	two := func(at int) int { return int(text[at]-'0')*10 + int(text[at+1]-'0') }
	century := two(0)
	month := two(5)
	day := two(8)
	return century > 0 && month >= 1 && month <= 12 && day >= 1 && day <= 28 && two(11) <= 23 && two(14) <= 59 &&
		two(17) <= 59
}

// countDigits counts the digits at the beginning of text.
func countDigits(text []byte) int {
	for i, c := range text {
		if !isDigit(c) {
			return i
		}
	}
	return len(text)
}

func isHex(c byte) bool {
	return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')
}

// countLeading counts the bytes at the beginning of text that are of a kind.
func countLeading(text []byte, kind func(byte) bool) int {
	for i, c := range text {
		if !kind(c) {
			return i
		}
	}
	return len(text)
}

func unsigned(text []byte) []byte {
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		return text[1:]
	}
	return text
}

func isBoolean(text []byte) bool {
	switch string(text) {
	case "true", "false", "1", "0":
		return true
	}
	return false
}

func isInteger(text []byte) bool {
	text = unsigned(text)
	return len(text) > 0 && countDigits(text) == len(text)
}

func isDecimal(text []byte) bool {
	text = unsigned(text)
	whole := countDigits(text)
	if whole == len(text) {
		return whole > 0
	}
	if text[whole] != '.' {
		return false
	}
	fraction := text[whole+1:]
	return whole+len(fraction) > 0 && countDigits(fraction) == len(fraction)
}

func isDouble(text []byte) bool {
	switch string(text) {
	case "INF", "+INF", "-INF", "NaN":
		return true
	}
	mantissa, exponent := text, []byte("0")
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i+1:]
	}
	return isDecimal(mantissa) && isInteger(exponent)
}

// integersWithin checks for integers from least to most; an empty bound is none.
func integersWithin(least, most string) LexicalSpace {
	return func(text []byte) bool {
		return isInteger(text) && (least == "" || compareIntegers(text, []byte(least)) >= 0) &&
			(most == "" || compareIntegers(text, []byte(most)) <= 0)
	}
}

// compareIntegers compares integers of any length by their digits.
func compareIntegers(a, b []byte) int {
	sign := func(text []byte) (negative bool, digits []byte) {
		digits = bytes.TrimLeft(unsigned(text), "0")
		return len(text) > 0 && text[0] == '-' && len(digits) > 0, digits
	}
	negativeA, digitsA := sign(a)
	negativeB, digitsB := sign(b)
	if negativeA != negativeB {
		if negativeA {
			return -1
		}
		return 1
	}
	order := len(digitsA) - len(digitsB)
	if order == 0 {
		order = bytes.Compare(digitsA, digitsB)
	}
	if negativeA {
		return -order
	}
	return order
}
