package router

import (
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/internal/urlpath"
)

// Readings returns what services may make of a normalised path that read it in
// another way than the router: that decode slashes or take backslashes for them,
// decode twice, or leave out parameters such as ";v=1" (RFC 3986, 3.3). They are
// normalised, and there are none in most cases.
//
// ok is false if one of them would climb out of a segment by "..", or the path has
// a NUL or a character in more bytes than it needs, as no honest path does.
func Readings(path string) (others []string, ok bool) {
	if strings.IndexByte(path, 0) >= 0 || overlong(path) {
		return nil, false
	}
	if !strings.ContainsAny(path, `%\;`) {
		return nil, true
	}
	for _, parameters := range [...]bool{true, false} {
		text := path
		if !parameters {
			text = withoutParameters(path)
		}
		for range 3 {
			for _, reading := range [...]string{text, strings.ReplaceAll(text, `\`, "/")} {
				if reading != path {
					if climbs(reading) {
						return nil, false
					}
					if normal := Normalize(reading); normal != path && !slices.Contains(others, normal) {
						others = append(others, normal)
					}
				}
			}
			decoded := unescape(text)
			if decoded == text {
				break
			}
			text = decoded
			if strings.IndexByte(text, 0) >= 0 || overlong(text) {
				return nil, false
			}
		}
	}
	return others, true
}

// climbs reports whether a path has a segment "..".
func climbs(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == ".." {
			return true
		}
	}
	return false
}

// withoutParameters is a path with each of its segments up to a semicolon.
func withoutParameters(path string) string {
	var out strings.Builder
	for i, segment := range strings.Split(path, "/") {
		if i > 0 {
			out.WriteByte('/')
		}
		name, _, _ := strings.Cut(segment, ";")
		out.WriteString(name)
	}
	return out.String()
}

// unescape decodes every escape once.
func unescape(path string) string {
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) && urlpath.IsHex(path[i+1]) && urlpath.IsHex(path[i+2]) {
			out = append(out, urlpath.Unhex(path[i+1])<<4|urlpath.Unhex(path[i+2]))
			i += 2
			continue
		}
		out = append(out, path[i])
	}
	return string(out)
}

// overlong reports whether a text has a character of UTF-8 in more bytes than it
// needs, which old decoders take for "/" or "." (RFC 3629, section 10).
func overlong(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c == 0xC0, c == 0xC1,
			c == 0xE0 && i+1 < len(text) && text[i+1]&^0x1F == 0x80,
			c == 0xF0 && i+1 < len(text) && text[i+1]&^0x0F == 0x80:
			return true
		}
	}
	return false
}
