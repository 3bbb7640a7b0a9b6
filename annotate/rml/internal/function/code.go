package function

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// grelCodes are the functions of GREL that encode a string: escapes, code
// points, phonetic codes and character encodings.
func grelCodes() []Function {
	mode := grel("modeParam", "modeParameter", "param_string_mode", "p_string_mode", "mode")
	method := grel("param_string_encoding", "p_string_encoding")
	target := grel("param_string_encoder", "p_string_encoder")
	source := grel("param_string_encoder2", "p_string_encoder2").optional()
	return []Function{
		grelFunction("escape", textResult, escape, grelValue(), mode).also("string_escape"),
		grelFunction("string_unescape", textResult, unescape, grelValue(), mode).also("unescape"),
		grelFunction("string_unicode", integerResult, func(c Call) ([]string, error) {
			return codePoints(c.Arg(0)), nil
		}, grelValue()),
		grelFunction("string_phonetic", textResult, phonetic, grelValue(), method),
		grelFunction("string_reinterpret", textResult, reinterpret, grelValue(), target, source),
	}
}

// codePoints returns the Unicode code point of each character.
func codePoints(s string) []string {
	codes := make([]string, 0, utf8.RuneCountInString(s))
	for _, r := range s {
		codes = append(codes, fmt.Sprint(int(r)))
	}
	return codes
}

// reinterpret encodes a text in one encoding, UTF-8 by default, and decodes the
// bytes in another one.
func reinterpret(c Call) ([]string, error) {
	from := c.Arg(2)
	if from == "" {
		from = "UTF-8"
	}
	bytes := c.Arg(0)
	switch source, err := findEncoding(from); {
	case err != nil:
		return nil, err
	case source != nil:
		if bytes, err = source.NewEncoder().String(bytes); err != nil {
			return nil, fmt.Errorf("%q cannot be written in %s", brief(c.Arg(0)), from)
		}
	}
	target, err := findEncoding(c.Arg(1))
	if err == nil && target != nil {
		bytes, err = target.NewDecoder().String(bytes)
	}
	if err != nil {
		return nil, err
	}
	if !utf8.ValidString(bytes) {
		return nil, fmt.Errorf("the bytes of %q are not text in %s", brief(c.Arg(0)), c.Arg(1))
	}
	return text(bytes)
}

// findEncoding returns the single-byte encoding of a name, or nil for UTF-8.
func findEncoding(name string) (encoding.Encoding, error) {
	plain := func(s string) string {
		return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
	}
	wanted := plain(name)
	switch wanted {
	case "utf8":
		return nil, nil
	case "usascii", "ascii", "latin1", "iso88591":
		return charmap.ISO8859_1, nil
	}
	for _, e := range charmap.All {
		if fmt.Sprint(e) != "" && wanted == plain(strings.ReplaceAll(fmt.Sprint(e), "Windows 1", "Windows-1")) {
			return e, nil
		}
	}
	if code, found := strings.CutPrefix(wanted, "cp125"); found {
		return findEncoding("windows125" + code)
	}
	return nil, fmt.Errorf("the encoding %q is not known: expected UTF-8, US-ASCII, or one of the families "+
		"ISO-8859, windows and KOI8", brief(name))
}
