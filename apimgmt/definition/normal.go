package definition

import (
	"strings"
	"unicode/utf8"

	"github.com/iotenablers/enablers/apimgmt/internal/urlpath"
)

// normal is the template as gateways match it. Kong and the embedded gateway match paths of
// requests in normal form: escapes are decoded unless they stand for a reserved character
// (RFC 3986, section 2.2), those that remain are in upper case, empty segments are left out,
// and dot segments are removed (section 5.2.4). A route for another form would match no request.
func (t template) normal() template {
	var segments [][]part
	var segment []part
	for _, p := range t.parts {
		if p.parameter != "" {
			segment = append(segment, p)
			continue
		}
		for i, text := range strings.Split(decoded(p.literal), "/") {
			if i > 0 {
				segments, segment = append(segments, segment), nil
			}
			if text != "" {
				segment = append(segment, part{literal: text})
			}
		}
	}
	segments = append(segments, segment)[1:] // a path begins with a slash
	var kept [][]part
	for i, s := range segments {
		last := i == len(segments)-1
		switch {
		case isDots(s, "."):
		case isDots(s, ".."):
			kept = kept[:max(0, len(kept)-1)]
		case len(s) > 0 || last:
			kept = append(kept, s)
			continue
		}
		if last && len(s) > 0 {
			kept = append(kept, nil)
		}
	}
	var made template
	for _, s := range kept {
		made.add(part{literal: "/"})
		for _, p := range s {
			made.add(p)
		}
	}
	return made
}

// add appends a part; a literal becomes one with a literal before it.
func (t *template) add(p part) {
	if n := len(t.parts); n > 0 && p.parameter == "" && t.parts[n-1].parameter == "" {
		t.parts[n-1].literal += p.literal
		return
	}
	t.parts = append(t.parts, p)
}

func isDots(segment []part, dots string) bool {
	return len(segment) == 1 && segment[0].parameter == "" && segment[0].literal == dots
}

// unreachable is why no request matches the path, empty if requests can.
func (t template) unreachable() string {
	for _, p := range t.parts {
		text := urlpath.Decode(p.literal)
		switch {
		case !utf8.ValidString(text):
			return "its escapes are not text in UTF-8"
		case strings.Contains(text, "\x00"):
			return "it has a NUL, which gateways refuse"
		}
	}
	return ""
}

// decoded decodes the escapes of a literal that stand for no reserved character. What would
// not be text stays as it is.
func decoded(literal string) string {
	if text := urlpath.Decode(literal); utf8.ValidString(text) {
		return text
	}
	return literal
}
