package escape

import (
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const lowerHex = "0123456789abcdef"

// AppendCARML appends a value to an IRI as CARML 0.3.2 does: in the normal form NFKC (Unicode
// Standard Annex 15), with lower-case digits in the percent-encoding of what is not in iunreserved
// of RFC 3987.
func AppendCARML(dst, value []byte) []byte {
	i := 0
	for i < len(value) && unreserved[value[i]] {
		i++
	}
	dst = append(dst, value[:i]...)
	if value = value[i:]; len(value) == 0 {
		return dst
	}
	value = norm.NFKC.Bytes(value)
	for i = 0; i < len(value); {
		r, size := utf8.DecodeRune(value[i:])
		keep := unreserved[value[i]] || (r >= utf8.RuneSelf && isUCSChar(r) && size > 1)
		for _, b := range value[i : i+size] {
			if keep {
				dst = append(dst, b)
			} else {
				dst = append(dst, '%', lowerHex[b>>4], lowerHex[b&15])
			}
		}
		i += size
	}
	return dst
}
