package router

import (
	"bytes"

	"github.com/iotenablers/enablers/apimgmt/internal/urlpath"
)

// Normalize returns the form of an escaped path that routes are matched with:
// escapes are decoded unless they stand for a reserved character (RFC 3986, 2.2),
// the remaining ones are in upper case, dot segments are removed (RFC 3986,
// 5.2.4), and runs of slashes are one slash. "/a/%2e%2e/b" and "//b" both become
// "/b"; "%2F" stays as it is.
//
// A percent sign that begins no escape becomes "%25", so that decoding makes up no
// new escape. The result never has a "." or ".." segment, and normalising it again
// changes nothing. A path that is normal already is returned as it is.
func Normalize(path string) string {
	if isNormal(path) {
		return path
	}
	decoded := urlpath.Decode(path)
	out := make([]byte, 0, len(decoded)+1)
	for i := 0; i < len(decoded); {
		for i < len(decoded) && decoded[i] == '/' {
			i++
		}
		start := i
		for i < len(decoded) && decoded[i] != '/' {
			i++
		}
		segment, last := decoded[start:i], i == len(decoded)
		switch segment {
		case "..":
			if cut := bytes.LastIndexByte(out, '/'); cut >= 0 {
				out = out[:cut]
			}
			fallthrough
		case ".":
			if last {
				out = append(out, '/')
			}
		default: // an empty one can only be the last: a slash at the end
			out = append(append(out, '/'), segment...)
		}
	}
	if len(out) == 0 {
		return "/"
	}
	return string(out)
}

// Resolved reports whether an escaped path starts with a slash and has neither dot
// segments, escaped ones included, nor runs of slashes: normalising it would change
// escapes only.
func Resolved(path string) bool { return isNormal(path) || Normalize(path) == urlpath.Decode(path) }

// isNormal reports whether a path surely is in normal form.
func isNormal(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	for i := range len(path) {
		switch path[i] {
		case '%':
			return false
		case '/':
			if i+1 < len(path) && (path[i+1] == '/' || path[i+1] == '.') {
				return false
			}
		}
	}
	return true
}

// Escape encodes a normalised path for a request line. What Normalize leaves
// escaped is not escaped again.
func Escape(path string) string {
	n := 0
	for i := range len(path) {
		if !plain(path[i]) {
			n++
		}
	}
	if n == 0 {
		return path
	}
	out := make([]byte, 0, len(path)+2*n)
	for i := range len(path) {
		if c := path[i]; plain(c) {
			out = append(out, c)
		} else {
			out = append(out, '%', urlpath.UpperHex[c>>4], urlpath.UpperHex[c&15])
		}
	}
	return string(out)
}

// plain reports whether a byte of a normalised path goes into a request line as it
// is: unreserved and reserved characters of a URI, but "?" and "#", which would
// end the path there.
func plain(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	case c == '?' || c == '#':
		return false
	}
	return c == '-' || c == '.' || c == '_' || c == '~' || urlpath.IsReserved(c)
}
