package function

import (
	"crypto/md5"  // #nosec G501 -- GREL defines the function by this digest
	"crypto/sha1" // #nosec G505 -- likewise
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// grelStrings are the functions of GREL that transform or examine a string.
// Positions count characters, where GREL counts UTF-16 units, so that no
// character is split.
func grelStrings(patterns *patternCache) []Function {
	simple := func(name string, apply func(string) string) Function {
		return grelFunction(name, textResult, func(c Call) ([]string, error) { return text(apply(c.Arg(0))) }, grelValue())
	}
	compare := func(name string, apply func(s, sub string) bool) Function {
		return grelFunction(name, booleanResult, func(c Call) ([]string, error) {
			return boolean(apply(c.Arg(0), c.Arg(1)))
		}, grelValue(), grelSub())
	}
	locate := func(name string, apply func(s, sub string) int) Function {
		return grelFunction(name, integerResult, func(c Call) ([]string, error) {
			i := apply(c.Arg(0), c.Arg(1))
			if i > 0 {
				i = utf8.RuneCountInString(c.Arg(0)[:i])
			}
			return integer(i)
		}, grelValue(), grelSub())
	}
	contains := func(c Call) ([]string, error) {
		_, _, found, err := patterns.first(c.Arg(0), c.Arg(1))
		if err != nil {
			return nil, err
		}
		return boolean(found)
	}
	length := func(c Call) ([]string, error) { return integer(utf8.RuneCountInString(c.Arg(0))) }
	find := grel("param_find", "p_string_find", "param_string_find", "p_find", "param_regex_find")
	replacement := grel("param_replace", "p_string_replace", "param_string_replace", "p_replace")
	return []Function{
		simple("toUpperCase", upperCase).also("toUppercase"),
		simple("toLowerCase", strings.ToLower).also("toLowercase"),
		simple("string_toTitlecase", titleCase).also("toTitleCase", "toTitlecase"),
		simple("string_trim", strings.TrimSpace).also("trim"),
		simple("string_toString", func(s string) string { return s }),
		// #nosec G401 -- see above
		simple("string_md5", func(s string) string { sum := md5.Sum([]byte(s)); return hex.EncodeToString(sum[:]) }),
		// #nosec G401 -- likewise
		simple("string_sha1", func(s string) string { sum := sha1.Sum([]byte(s)); return hex.EncodeToString(sum[:]) }),
		grelFunction("string_contains", booleanResult, contains, grelValue(), grelSub()).also("contains"),
		compare("string_startsWith", strings.HasPrefix).also("startsWith"),
		compare("string_endsWith", strings.HasSuffix).also("endsWith"),
		locate("string_indexOf", strings.Index),
		locate("string_lastIndexOf", strings.LastIndex),
		grelFunction("string_length", integerResult, length, grelValue()).also("length"),
		grelFunction("string_substring", textResult, substring, grelValue(), grelFrom(), grelTo()),
		grelFunction("string_get", textResult, func(c Call) ([]string, error) {
			if c.Has(2) {
				return substring(c)
			}
			s := []rune(c.Arg(0))
			i, err := position(c.Arg(1), len(s))
			if err != nil || i < 0 || i >= len(s) {
				return nil, err
			}
			return text(string(s[i]))
		}, grelValue(), grelFrom(), grelTo()),
		grelFunction("string_replace", textResult, func(c Call) ([]string, error) {
			return patterns.replace(c.Arg(0), c.Arg(1), c.Arg(2))
		}, grelValue(), find, replacement),
		grelFunction("string_replaceChars", textResult, func(c Call) ([]string, error) {
			return replaceChars(c.Arg(0), c.Arg(1), c.Arg(2))
		}, grelValue(), find, replacement),
		grelFunction("string_chomp", textResult, func(c Call) ([]string, error) {
			return text(strings.TrimSuffix(c.Arg(0), c.Arg(1)))
		}, grelValue(), grelSeparator()),
		grelFunction("string_diff", textResult, func(c Call) ([]string, error) {
			return text(difference(c.Arg(0), c.Arg(1)))
		}, grelValue(), grelValue2()),
		grelFunction("string_toNumber", numberResult, func(c Call) ([]string, error) { return toNumber(c.Arg(0)) }, grelValue()),
	}
}

// substring returns the characters from a position up to another. Negative
// positions count from the end. A position beyond the end gives an empty
// result.
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
	to = min(to, len(s))
	if from < 0 || to < from {
		return nil, nil
	}
	return text(string(s[from:to]))
}

// position parses a position in a string or array of a length.
func position(s string, length int) (int, error) {
	n, err := parseInteger(s)
	if err != nil {
		return 0, fmt.Errorf("the position %w", err)
	}
	if n < 0 {
		n += int64(length)
	}
	return int(min(max(n, -1), int64(length)+1)), nil
}

// upperCase maps ß to SS, as the full case mapping of Unicode does.
func upperCase(s string) string { return strings.ReplaceAll(strings.ToUpper(s), "ß", "SS") }

func titleCase(s string) string {
	inWord := false
	return strings.Map(func(r rune) rune {
		starts := !inWord
		inWord = !unicode.IsSpace(r)
		if starts {
			return unicode.ToTitle(r)
		}
		return unicode.ToLower(r)
	}, s)
}

// replaceChars replaces each character of find by the one at its
// place in with.
func replaceChars(s, find, with string) ([]string, error) {
	from, to := []rune(find), []rune(with)
	if len(from) != len(to) {
		return nil, fmt.Errorf("%d characters to find and %d to put in their place: expected as many", len(from), len(to))
	}
	table := make(map[rune]rune, len(from))
	for i, r := range from {
		if _, twice := table[r]; !twice {
			table[r] = to[i]
		}
	}
	return text(strings.Map(func(r rune) rune {
		if with, found := table[r]; found {
			return with
		}
		return r
	}, s))
}

// difference returns the rest of b from the first character that differs from
// a.
func difference(a, b string) string {
	same := 0
	for same < len(b) {
		r, size := utf8.DecodeRuneInString(b[same:])
		if other, _ := utf8.DecodeRuneInString(a[same:]); other != r || same+size > len(a) {
			break
		}
		same += size
	}
	return b[same:]
}

// toNumber returns a number in its plain form. A number without an exponent
// keeps all digits.
func toNumber(s string) ([]string, error) {
	f, err := parseNumber(s)
	if err != nil {
		return nil, err
	}
	s = strings.TrimSpace(s)
	if strings.ContainsAny(s, "eE") {
		return number(f)
	}
	sign := ""
	if s[0] == '-' && f != 0 {
		sign = "-"
	}
	whole, fraction, _ := strings.Cut(strings.TrimLeft(s, "+-"), ".")
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return text(sign + whole + fraction)
}

// errEmptySeparator is the error of a split without a separator.
var errEmptySeparator = errors.New("the separator is empty")
