package shacl

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// compilePattern translates a regular expression of XPath (XQuery and XPath Functions
// 3.1, section 5.6) to one of package regexp.
func compilePattern(pattern, flags string) (*regexp.Regexp, error) {
	options := ""
	quoted, spaced := false, false
	for _, flag := range flags {
		switch flag {
		case 'i', 's', 'm':
			options += string(flag)
		case 'q':
			quoted = true
		case 'x':
			spaced = true
		default:
			return nil, fmt.Errorf("sh:flags %q: expected some of i, m, q, s and x", flags)
		}
	}
	translated := regexp.QuoteMeta(pattern)
	if !quoted {
		var err error
		if translated, err = translatePattern(pattern, spaced); err != nil {
			return nil, fmt.Errorf("sh:pattern %q: %w", pattern, err)
		}
	}
	if options != "" {
		translated = "(?" + options + ")" + translated
	}
	re, err := regexp.Compile(translated)
	if err != nil {
		return nil, fmt.Errorf("sh:pattern %q: %w (references back and lookarounds are not supported)", pattern, err)
	}
	return re, nil
}

// translatePattern replaces the character classes that XPath defines otherwise.
func translatePattern(pattern string, spaced bool) (string, error) {
	var out strings.Builder
	inClass := false
	for i := 0; i < len(pattern); {
		r, size := utf8.DecodeRuneInString(pattern[i:])
		text := pattern[i : i+size]
		i += size
		switch {
		case r == '\\' && i < len(pattern):
			escape, size := utf8.DecodeRuneInString(pattern[i:])
			i += size
			if (escape == 'p' || escape == 'P') && strings.HasPrefix(pattern[i:], "{Is") {
				return "", fmt.Errorf("the named block \\%c%s is not supported; use a range of characters", escape,
					pattern[i:i+min(len(pattern)-i, 20)])
			}
			class, ok := translateEscape(escape, inClass)
			if !ok {
				return "", fmt.Errorf("\\%c within [ ] is not supported", escape)
			}
			out.WriteString(class)
		case inClass && text == "[" && strings.HasSuffix(out.String(), "-"):
			return "", fmt.Errorf("the subtraction of a character class is not supported")
		case inClass && text == "[":
			out.WriteString(`\[`)
		case text == "[":
			inClass = true
			out.WriteString(text)
		case inClass && text == "]":
			inClass = false
			out.WriteString(text)
		case spaced && !inClass && strings.Contains(" \t\n\r", text):
		default:
			out.WriteString(text)
		}
	}
	return out.String(), nil
}

const (
	nameStart = `:A-Z_a-z\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{2FF}\x{370}-\x{37D}\x{37F}-\x{1FFF}\x{200C}-\x{200D}` +
		`\x{2070}-\x{218F}\x{2C00}-\x{2FEF}\x{3001}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFFD}\x{10000}-\x{EFFFF}`
	nameChar = nameStart + `\-.0-9\x{B7}\x{0300}-\x{036F}\x{203F}-\x{2040}`
)

// translateEscape returns what \c stands for, and false for what cannot stand within
// brackets.
func translateEscape(c rune, inClass bool) (string, bool) {
	set, negated := "", false
	switch c {
	case 'd':
		set = `\p{Nd}`
	case 'D':
		set = `\P{Nd}`
	case 'w':
		set = `\p{L}\p{M}\p{N}\p{S}`
	case 'W':
		set = `\p{P}\p{Z}\p{C}`
	case 's':
		set = `\t\n\r `
	case 'S':
		set, negated = `\t\n\r `, true
	case 'i':
		set = nameStart
	case 'I':
		set, negated = nameStart, true
	case 'c':
		set = nameChar
	case 'C':
		set, negated = nameChar, true
	default:
		return `\` + string(c), true
	}
	switch {
	case inClass && negated:
		return "", false
	case inClass:
		return set, true
	case negated:
		return "[^" + set + "]", true
	}
	return "[" + set + "]", true
}
