package function

import (
	"errors"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// escaper escapes text for a syntax.
type escaper struct {
	escape   func(string) string
	unescape func(string) (string, error)
}

// findEscaper returns the escaper of a mode of GREL.
func findEscaper(mode string) (escaper, error) {
	switch strings.ToLower(mode) {
	case "html":
		return escaper{escapeHTML, func(s string) (string, error) { return html.UnescapeString(s), nil }}, nil
	case "xml":
		return escaper{escapeXML, func(s string) (string, error) { return unescapeXML(s), nil }}, nil
	case "csv":
		return escaper{escapeCSV, func(s string) (string, error) { return unescapeCSV(s), nil }}, nil
	case "url":
		return escaper{escapeURL, url.QueryUnescape}, nil
	case "javascript":
		return escaper{escapeJavaScript, unescapeJavaScript}, nil
	}
	return escaper{}, fmt.Errorf("the mode %q is not known: expected html, xml, csv, url or javascript", brief(mode))
}

func escape(c Call) ([]string, error) {
	e, err := findEscaper(c.Arg(1))
	if err != nil {
		return nil, err
	}
	return text(e.escape(c.Arg(0)))
}

func unescape(c Call) ([]string, error) {
	e, err := findEscaper(c.Arg(1))
	if err != nil {
		return nil, err
	}
	plain, err := e.unescape(c.Arg(0))
	switch {
	case err != nil:
		return nil, fmt.Errorf("unescape %q: %w", brief(c.Arg(0)), err)
	case !utf8.ValidString(plain):
		return nil, fmt.Errorf("unescape %q: the result is not UTF-8", brief(c.Arg(0)))
	}
	return text(plain)
}

// escapeHTML escapes the markup characters of HTML. Letters beyond ASCII stay
// unchanged.
func escapeHTML(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}

// escapeXML escapes the markup characters of XML, including the apostrophe,
// which has no name in HTML 4.
func escapeXML(s string) string {
	return strings.ReplaceAll(escapeHTML(s), "'", "&apos;")
}

// unescapeXML replaces character references and the five predefined entities of
// XML.
func unescapeXML(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "&")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, rest, closed := strings.Cut(after, ";")
		switch {
		case closed && (name == "amp" || name == "lt" || name == "gt" || name == "quot" || name == "apos" ||
			strings.HasPrefix(name, "#")):
			b.WriteString(html.UnescapeString("&" + name + ";"))
			s = rest
		default:
			b.WriteByte('&')
			s = after
		}
	}
}

func escapeCSV(s string) string {
	if !strings.ContainsAny(s, "\",\r\n") {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

func unescapeCSV(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	return strings.ReplaceAll(s[1:len(s)-1], `""`, `"`)
}

// escapeURL escapes text for a URL. A space becomes %20, which is valid in
// paths and in queries.
func escapeURL(s string) string {
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, len(s)+len(s)/4)
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.!~*'()", c) >= 0:
			b = append(b, c)
		default:
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(b)
}

// javaScriptEscapes pairs the characters that have a short escape with its
// letter.
const javaScriptEscapes = "\bb\ff\nn\rr\tt"

func escapeJavaScript(s string) string {
	var b strings.Builder
	for _, r := range s {
		short := strings.IndexRune(javaScriptEscapes, r)
		switch {
		case r < ' ' && short >= 0:
			b.WriteByte('\\')
			b.WriteByte(javaScriptEscapes[short+1])
		case r < ' ' || r > '~':
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&b, `\u%04X`, unit)
			}
		default:
			if strings.ContainsRune(`\'"/`, r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

var errJavaScript = errors.New("it is not the inside of a JavaScript string")

func unescapeJavaScript(s string) (string, error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, `\`)
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		if after == "" {
			return "", errJavaScript
		}
		letter, size := utf8.DecodeRuneInString(after)
		s = after[size:]
		switch letter {
		case 'x', 'u':
			r, rest, err := hexEscape(letter, s)
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
			s = rest
		case '0':
			b.WriteByte(0)
		case 'v':
			b.WriteByte('\v')
		case '\n': // a line continuation
		default:
			if i := strings.IndexRune("bfnrt", letter); i >= 0 {
				letter = rune(javaScriptEscapes[2*i])
			}
			b.WriteRune(letter)
		}
	}
}

// hexEscape reads the digits of \x41, \u0041, \u{41} or a pair of surrogates.
func hexEscape(letter rune, s string) (r rune, rest string, err error) {
	digits := 4
	if letter == 'x' {
		digits = 2
	}
	if inner, after, closed := strings.Cut(s, "}"); letter == 'u' && closed && strings.HasPrefix(inner, "{") {
		s, digits = inner[1:]+after, len(inner)-1
	}
	read := func(s string) (rune, error) {
		if len(s) < digits || digits > 6 {
			return 0, errJavaScript
		}
		n, err := strconv.ParseUint(s[:digits], 16, 32)
		if err != nil || n > utf8.MaxRune {
			return 0, errJavaScript
		}
		return rune(n), nil
	}
	if r, err = read(s); err != nil {
		return 0, "", err
	}
	rest = s[digits:]
	if low, paired := strings.CutPrefix(rest, `\u`); paired && utf16.IsSurrogate(r) {
		second, err := read(low)
		if err != nil {
			return 0, "", err
		}
		r, rest = utf16.DecodeRune(r, second), low[digits:]
	}
	if r == utf8.RuneError || utf16.IsSurrogate(r) {
		return 0, "", errJavaScript
	}
	return r, rest, nil
}
