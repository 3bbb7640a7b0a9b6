package rml

import (
	"crypto/md5"  // #nosec G501 -- GREL defines the function by this digest
	"crypto/sha1" // #nosec G505 -- likewise
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// The parameters of GREL functions, by the names that FnO gives them: that of
// the parameter and that of its predicate.
var (
	grelValue  = parameter(nsGREL, "valueParam", "valueParameter", "param_string_s", "p_string_s", "param_s", "p_any_e", "param_any_e")
	grelValue2 = parameter(nsGREL, "valueParam2", "valueParameter2", "param_string_s2", "p_string_s2")
)

// grelFunction makes a GREL function that gives a string, a number or a list.
func grelFunction(name string, apply func(Call) ([]string, error), parameters ...Parameter) Function {
	return Function{IRI: nsGREL + name, Parameters: parameters, Apply: apply, Outputs: []string{
		nsGREL + "stringOut", nsGREL + "stringOutput", nsGREL + "output_string", nsGREL + "o_string",
		nsGREL + "output_number", nsGREL + "o_number", nsGREL + "output_int", nsGREL + "o_int", nsGREL + "output_dec", nsGREL + "o_dec",
		nsGREL + "output_bool", nsGREL + "o_bool", nsGREL + "output_array", nsGREL + "o_array", nsGREL + "output_any", nsGREL + "o_any",
		nsGREL + "output_date", nsGREL + "o_date", nsGREL + "output_datetime", nsGREL + "o_datetime",
	}}
}

// grelStrings are the string functions of GREL. Positions count UTF-16 units
// in the original; here they count characters, so that none is ever cut.
func grelStrings() []Function {
	sub := parameter(nsGREL, "param_string_sub", "p_string_sub", "param_sub", "p_sub", "string_sub")
	sep := parameter(nsGREL, "param_string_sep", "p_string_sep", "param_sep", "p_sep", "param_string_regex", "p_string_regex")
	find := parameter(nsGREL, "param_find", "p_string_find", "param_string_find", "p_find", "param_regex_find")
	replace := parameter(nsGREL, "param_replace", "p_string_replace", "param_string_replace", "p_replace")
	from := parameter(nsGREL, "p_int_i_from", "param_int_i_from", "param_i_from", "i_from", "int_i_from")
	to := parameter(nsGREL, "p_int_i_opt_to", "param_int_i_opt_to", "p_int_i_to", "param_int_i_to", "param_i_opt_to", "i_opt_to").optional()
	mode := parameter(nsGREL, "modeParam", "modeParameter", "param_string_mode", "p_string_mode", "mode")

	simple := func(name string, apply func(string) string) Function {
		return grelFunction(name, func(c Call) ([]string, error) { return text(apply(c.Arg(0))) }, grelValue)
	}
	compare := func(name string, apply func(s, sub string) bool) Function {
		return grelFunction(name, func(c Call) ([]string, error) { return boolean(apply(c.Arg(0), c.Arg(1))) }, grelValue, sub)
	}
	position := func(name string, apply func(s, sub string) int) Function {
		return grelFunction(name, func(c Call) ([]string, error) {
			i := apply(c.Arg(0), c.Arg(1))
			if i > 0 {
				i = len([]rune(c.Arg(0)[:i]))
			}
			return integer(i)
		}, grelValue, sub)
	}
	return []Function{
		simple("toUpperCase", strings.ToUpper), simple("toUppercase", strings.ToUpper),
		simple("toLowerCase", strings.ToLower), simple("toLowercase", strings.ToLower),
		simple("string_toTitlecase", titleCase), simple("toTitleCase", titleCase), simple("toTitlecase", titleCase),
		simple("string_trim", strings.TrimSpace), simple("trim", strings.TrimSpace),
		simple("string_toString", func(s string) string { return s }),
		simple("string_md5", func(s string) string { sum := md5.Sum([]byte(s)); return hex.EncodeToString(sum[:]) }),
		simple("string_sha1", func(s string) string { sum := sha1.Sum([]byte(s)); return hex.EncodeToString(sum[:]) }),
		compare("string_contains", strings.Contains), compare("contains", strings.Contains),
		compare("string_startsWith", strings.HasPrefix), compare("startsWith", strings.HasPrefix),
		compare("string_endsWith", strings.HasSuffix), compare("endsWith", strings.HasSuffix),
		position("string_indexOf", strings.Index), position("string_lastIndexOf", strings.LastIndex),
		grelFunction("string_length", func(c Call) ([]string, error) { return integer(len([]rune(c.Arg(0)))) }, grelValue),
		grelFunction("length", func(c Call) ([]string, error) { return integer(len([]rune(c.Arg(0)))) }, grelValue),
		grelFunction("string_substring", substring, grelValue, from, to),
		grelFunction("string_get", substring, grelValue, from, to),
		grelFunction("string_replace", func(c Call) ([]string, error) {
			return text(strings.ReplaceAll(c.Arg(0), c.Arg(1), c.Arg(2)))
		}, grelValue, find, replace),
		grelFunction("string_replaceChars", func(c Call) ([]string, error) {
			with := []rune(c.Arg(2))
			return text(strings.Map(func(r rune) rune {
				i := slices.Index([]rune(c.Arg(1)), r)
				switch {
				case i < 0:
					return r
				case i < len(with):
					return with[i]
				}
				return -1
			}, c.Arg(0)))
		}, grelValue, find, replace),
		grelFunction("string_chomp", func(c Call) ([]string, error) { return text(strings.TrimSuffix(c.Arg(0), c.Arg(1))) }, grelValue, sep),
		grelFunction("string_split", split, grelValue, sep), grelFunction("split", split, grelValue, sep),
		grelFunction("string_partition", func(c Call) ([]string, error) {
			before, after, found := strings.Cut(c.Arg(0), c.Arg(1))
			if !found {
				return []string{c.Arg(0), "", ""}, nil
			}
			return []string{before, c.Arg(1), after}, nil
		}, grelValue, sub),
		grelFunction("escape", func(c Call) ([]string, error) { return escapeText(c.Arg(0), c.Arg(1)) }, grelValue, mode),
		grelFunction("string_unescape", func(c Call) ([]string, error) { return unescapeText(c.Arg(0), c.Arg(1)) }, grelValue, mode),
		grelFunction("string_toNumber", func(c Call) ([]string, error) {
			f, err := strconv.ParseFloat(strings.TrimSpace(c.Arg(0)), 64)
			if err != nil {
				return nil, fmt.Errorf("%q is not a number", c.Arg(0))
			}
			return number(f)
		}, grelValue),
		grelFunction("string_unicode", func(c Call) ([]string, error) {
			var codes []string
			for _, r := range c.Arg(0) {
				codes = append(codes, strconv.Itoa(int(r)))
			}
			return codes, nil
		}, grelValue),
	}
}

// substring gives the characters from a position up to another. Positions
// below zero count from the end; one beyond the end gives nothing.
func substring(c Call) ([]string, error) {
	s := []rune(c.Arg(0))
	from, err := position(c.Arg(1), len(s))
	if err != nil {
		return nil, err
	}
	to := len(s)
	if c.Has(2) {
		if to, err = position(c.Arg(2), len(s)); err != nil {
			return nil, err
		}
	}
	if from > len(s) || from < 0 {
		return nil, nil
	}
	to = min(to, len(s))
	if to < from {
		return nil, nil
	}
	return text(string(s[from:to]))
}

func position(s string, length int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("the position %q is not an integer", s)
	}
	if n < 0 {
		n += length
	}
	return n, nil
}

func split(c Call) ([]string, error) {
	if c.Arg(1) == "" {
		return nil, errors.New("the separator is empty")
	}
	return strings.Split(c.Arg(0), c.Arg(1)), nil
}

func titleCase(s string) string {
	start := true
	return strings.Map(func(r rune) rune {
		defer func() { start = unicode.IsSpace(r) }()
		if start {
			return unicode.ToTitle(r)
		}
		return unicode.ToLower(r)
	}, s)
}

// escapeText escapes a string for use in HTML, XML, CSV, JavaScript or a URL.
func escapeText(s, mode string) ([]string, error) {
	switch strings.ToLower(mode) {
	case "html", "xml":
		return text(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace(s))
	case "csv":
		if strings.ContainsAny(s, "\",\r\n") {
			s = `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
		}
		return text(s)
	case "url":
		return text(url.QueryEscape(s))
	case "javascript":
		var b strings.Builder
		for _, r := range s {
			switch {
			case strings.ContainsRune(`\'"/`, r):
				b.WriteByte('\\')
				b.WriteRune(r)
			case r == '\n':
				b.WriteString(`\n`)
			case r == '\r':
				b.WriteString(`\r`)
			case r == '\t':
				b.WriteString(`\t`)
			case r < ' ' || r > '~':
				for _, unit := range utf16.Encode([]rune{r}) {
					fmt.Fprintf(&b, `\u%04X`, unit)
				}
			default:
				b.WriteRune(r)
			}
		}
		return text(b.String())
	}
	return nil, fmt.Errorf("the mode %q is not known: expected html, xml, csv, url or javascript", mode)
}

func unescapeText(s, mode string) ([]string, error) {
	switch strings.ToLower(mode) {
	case "html", "xml":
		return text(html.UnescapeString(s))
	case "csv":
		if len(s) >= 2 && strings.HasPrefix(s, `"`) && strings.HasSuffix(s, `"`) {
			s = strings.ReplaceAll(s[1:len(s)-1], `""`, `"`)
		}
		return text(s)
	case "url":
		plain, err := url.QueryUnescape(s)
		if err != nil {
			return nil, fmt.Errorf("unescape %q: %w", s, err)
		}
		return text(plain)
	case "javascript":
		plain, err := strconv.Unquote(`"` + strings.NewReplacer(`\'`, `'`, `\/`, `/`).Replace(s) + `"`)
		if err != nil {
			return nil, fmt.Errorf("unescape %q: not a JavaScript string", s)
		}
		return text(plain)
	}
	return nil, fmt.Errorf("the mode %q is not known: expected html, xml, csv, url or javascript", mode)
}
