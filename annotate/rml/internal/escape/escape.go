package escape

import (
	"unicode/utf8"

	"github.com/iotenablers/enablers/annotate/rdf"
)

const upperHex = "0123456789ABCDEF"

// unreserved marks the ASCII characters that stay as they are in the value of
// a reference in an IRI template (RFC 3987, iunreserved).
var unreserved = func() (table [256]bool) {
	for c := range table {
		table[c] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			c == '-' || c == '.' || c == '_' || c == '~'
	}
	return table
}()

// AppendIRI appends a value to an IRI, percent-encoding everything
// that is not in iunreserved of RFC 3987 (R2RML section 7.3, "IRI-safe").
func AppendIRI(dst, value []byte) []byte {
	i := 0
	for i < len(value) && unreserved[value[i]] {
		i++
	}
	dst = append(dst, value[:i]...)
	for i < len(value) {
		c := value[i]
		size := 1
		keep := unreserved[c]
		if c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRune(value[i:])
			keep = isUCSChar(r) && size > 1
		}
		for _, b := range value[i : i+size] {
			if keep {
				dst = append(dst, b)
			} else {
				dst = append(dst, '%', upperHex[b>>4], upperHex[b&15])
			}
		}
		i += size
	}
	return dst
}

// AppendURI appends a value to a URI, percent-encoding everything that is not
// unreserved, or only bytes beyond ASCII when unsafe is set.
func AppendURI(dst, value []byte, unsafe bool) []byte {
	for _, c := range value {
		if unreserved[c] || (unsafe && c < utf8.RuneSelf) {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
}

// isUCSChar reports whether r is in ucschar of RFC 3987.
func isUCSChar(r rune) bool {
	switch {
	case r < 0xA0, r > 0xEFFFD:
		return false
	case r <= 0xD7FF:
		return true
	case r < 0xF900:
		return false
	case r <= 0xFDCF, r >= 0xFDF0 && r <= 0xFFEF:
		return true
	case r < 0x10000, r >= 0xE0000 && r < 0xE1000:
		return false
	}
	return r&0xFFFF <= 0xFFFD
}

// AppendLabel appends a value to the label of a blank node. Different values
// give different labels: letters and digits stay, every other byte becomes an
// underscore and two hexadecimal digits.
func AppendLabel(dst, value []byte) []byte {
	for _, c := range value {
		if (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') {
			dst = append(dst, c)
		} else {
			dst = append(dst, '_', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
}

// AppendLiteral appends a value inside a quoted literal.
func AppendLiteral(dst, value []byte) []byte {
	start := len(dst)
	dst = rdf.AppendLiteral(dst, value)
	copy(dst[start:], dst[start+1:len(dst)-1])
	return dst[:len(dst)-2]
}
