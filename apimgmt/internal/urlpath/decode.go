// Package urlpath decodes paths of URLs to the form in which requests and routes are compared.
package urlpath

import "strings"

const (
	// UpperHex are the hexadecimal digits of an escape.
	UpperHex = "0123456789ABCDEF"
	reserved = "!*'();:@&=+$,/?%#[]"
)

// Decode decodes the escapes of a path that do not stand for a reserved character (RFC 3986, section
// 2.2). The others are in upper case then. A percent sign that begins no escape becomes "%25", so that
// decoding creates no new escape. A path without a percent sign is returned as it is.
func Decode(path string) string {
	if strings.IndexByte(path, '%') < 0 {
		return path
	}
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c != '%' {
			out = append(out, c)
			continue
		}
		if i+2 >= len(path) || !IsHex(path[i+1]) || !IsHex(path[i+2]) {
			out = append(out, "%25"...)
			continue
		}
		value := Unhex(path[i+1])<<4 | Unhex(path[i+2])
		if IsReserved(value) {
			out = append(out, '%', UpperHex[value>>4], UpperHex[value&15])
		} else {
			out = append(out, value)
		}
		i += 2
	}
	return string(out)
}

// IsReserved reports whether an escape of the character means something else than the character.
func IsReserved(c byte) bool { return strings.IndexByte(reserved, c) >= 0 }

// IsHex reports whether a character is a hexadecimal digit.
func IsHex(c byte) bool {
	return ('0' <= c && c <= '9') || ('a' <= c && c <= 'f') || ('A' <= c && c <= 'F')
}

// Unhex is the value of a hexadecimal digit.
func Unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}
