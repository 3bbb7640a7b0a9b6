package function

import (
	"errors"
	"slices"
	"strings"
	"unicode"
)

// grelParts are the functions of GREL that cut a string into parts.
func grelParts(patterns *patternCache) []Function {
	fragment := grel("param_fragment", "p_fragment", "param_string_fragment", "p_string_fragment").or(grelSub())
	pattern := grel("param_regex", "p_string_regex", "param_string_regex", "param_string_p", "p_string_p")
	lengths := grel("param_int_i", "p_int_i").list()
	second := grel("param_int_i2", "p_int_i2").list().optional()
	more := grel("param_int_rep_i", "p_rep_i", "p_int_rep_i").list().optional()
	split := func(c Call) ([]string, error) {
		parts, err := patterns.split(c.Arg(0), c.Arg(1))
		if err == nil && !isTrue(c.Arg(2)) {
			parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
		}
		return parts, err
	}
	return []Function{
		grelFunction("string_split", listResult, split, grelValue(), grelSeparator(), grelFlag()).also("split"),
		grelFunction("string_smartSplit", listResult, func(c Call) ([]string, error) {
			return patterns.smartSplit(c.Arg(0), c.Arg(1))
		}, grelValue(), grel("param_opt_sep", "p_opt_sep").or(grelSeparator()).optional()),
		grelFunction("string_splitByLengths", listResult, func(c Call) ([]string, error) {
			return splitByLengths(c.Arg(0), slices.Concat(c.Arguments[1:]...))
		}, grelValue(), lengths, second, more),
		grelFunction("string_splitByCharType", listResult, func(c Call) ([]string, error) {
			return splitByCategory(c.Arg(0)), nil
		}, grelValue()),
		grelFunction("string_partition", listResult, func(c Call) ([]string, error) {
			return partition(c, patterns.first)
		}, grelValue(), fragment, grelFlag()),
		grelFunction("string_rpartition", listResult, func(c Call) ([]string, error) {
			return partition(c, patterns.last)
		}, grelValue(), fragment, grelFlag()),
		grelFunction("string_match", listResult, func(c Call) ([]string, error) {
			return patterns.match(c.Arg(0), c.Arg(1))
		}, grelValue(), pattern),
	}
}

// split cuts a text at a string or pattern.
func (p *patternCache) split(s, separator string) ([]string, error) {
	re, err := p.get(separator)
	switch {
	case err != nil:
		return nil, err
	case re != nil:
		return re.Split(s, -1), nil
	case separator == "":
		return nil, errEmptySeparator
	}
	return strings.Split(s, separator), nil
}

// smartSplit splits a text as a line of CSV: parts may be in double quotes,
// and a backslash escapes the next character. The default separator is the tab
// or the comma, whichever occurs more often.
func (p *patternCache) smartSplit(s, separator string) ([]string, error) {
	if separator == "" {
		separator = "\t"
		if strings.Count(s, ",") > strings.Count(s, "\t") {
			separator = ","
		}
	}
	if re, err := p.get(separator); re != nil || err != nil {
		return p.split(s, separator)
	}
	var parts []string
	var part strings.Builder
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			part.WriteByte(s[i])
		case quoted && s[i] == '"' && strings.HasPrefix(s[i+1:], `"`):
			i++
			part.WriteByte('"')
		case s[i] == '"' && (quoted || part.Len() == 0):
			quoted = !quoted
		case !quoted && strings.HasPrefix(s[i:], separator):
			parts = append(parts, part.String())
			part.Reset()
			i += len(separator) - 1
		default:
			part.WriteByte(s[i])
		}
	}
	if quoted {
		return nil, errors.New("a part begins with a double quote that nothing closes")
	}
	return append(parts, part.String()), nil
}

// splitByLengths splits a text into parts of the given numbers of characters.
// The rest is dropped.
func splitByLengths(s string, lengths []string) ([]string, error) {
	var parts []string
	rest := []rune(s)
	for _, length := range lengths {
		n, err := parseInteger(length)
		if err != nil {
			return nil, err
		}
		if n < 0 {
			return nil, errors.New("the length of a part is below zero")
		}
		if len(rest) == 0 {
			break
		}
		n = min(n, int64(len(rest)))
		parts = append(parts, string(rest[:n]))
		rest = rest[n:]
	}
	return parts, nil
}

// generalCategories are the tables of the Unicode general categories.
var generalCategories = [...]*unicode.RangeTable{
	unicode.Ll, unicode.Lu, unicode.Nd, unicode.Lo, unicode.Lm, unicode.Lt, unicode.Nl, unicode.No,
	unicode.Zs, unicode.Zl, unicode.Zp, unicode.Po, unicode.Pd, unicode.Ps, unicode.Pe, unicode.Pc, unicode.Pi, unicode.Pf,
	unicode.Sm, unicode.Sc, unicode.Sk, unicode.So, unicode.Mn, unicode.Mc, unicode.Me,
	unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs,
}

func generalCategory(r rune) int {
	return slices.IndexFunc(generalCategories[:], func(t *unicode.RangeTable) bool { return unicode.Is(t, r) })
}

// splitByCategory cuts a text wherever the Unicode category changes.
func splitByCategory(s string) []string {
	var parts []string
	start, current := 0, 0
	for i, r := range s {
		category := generalCategory(r)
		if i > 0 && category != current {
			parts = append(parts, s[start:i])
			start = i
		}
		current = category
	}
	if start < len(s) {
		parts = append(parts, s[start:])
	}
	return parts
}

// partition splits a text around a fragment: the text before it, the fragment
// unless it is omitted, and the text after it.
func partition(c Call, find func(s, fragment string) (from, to int, found bool, err error)) ([]string, error) {
	s := c.Arg(0)
	from, to, found, err := find(s, c.Arg(1))
	if err != nil {
		return nil, err
	}
	if !found {
		from, to = len(s), len(s)
	}
	if isTrue(c.Arg(2)) {
		return []string{s[:from], s[to:]}, nil
	}
	return []string{s[:from], s[from:to], s[to:]}, nil
}
