package paessler

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode"
)

// maxExpression is the longest expression in bytes. The parser of the library
// recurses.
const maxExpression = 16 << 10

// rewrite turns an expression of a mapping into one of the library.
func rewrite(expr string) (string, error) {
	switch {
	case expr == "":
		return "", errors.New("the expression is empty")
	case len(expr) > maxExpression:
		return "", errors.New("the expression is longer than 16384 bytes")
	case strings.HasPrefix(expr, "$"):
		return requote(expr), nil
	case strings.HasPrefix(expr, "@"):
		return "$" + requote(expr[1:]), nil
	}
	return "$" + bare(expr), nil
}

// bare writes a bare path as the library reads it after "$": names that are not
// identifiers are put into brackets.
func bare(expr string) string {
	var b strings.Builder
	for dotted := true; expr != ""; {
		if expr[0] == '[' {
			end := brackets(expr)
			b.WriteString(requote(expr[:end]))
			expr = expr[end:]
			dotted = false
			continue
		}
		if rest, ok := strings.CutPrefix(expr, "."); ok {
			if dotted { // "..", or a dot at the beginning
				b.WriteByte('.')
			}
			expr = rest
			dotted = true
			continue
		}
		end := strings.IndexAny(expr, ".[")
		if end < 0 {
			end = len(expr)
		}
		name := expr[:end]
		expr = expr[end:]
		switch {
		case name == "*" || identifier(name):
			b.WriteString("." + name)
		default:
			if strings.HasSuffix(b.String(), ".") {
				b.WriteByte('.')
			}
			b.WriteString("[" + strconv.Quote(name) + "]")
		}
		dotted = false
	}
	return b.String()
}

// identifier reports whether the library reads a name as one word.
func identifier(name string) bool {
	for i, r := range name {
		if !unicode.IsLetter(r) && r != '_' && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return name != ""
}

// brackets returns the length of the bracketed selection that an expression
// begins with, or that of all of it.
func brackets(expr string) int {
	depth := 0
	for i := 0; i < len(expr); i++ {
		switch expr[i] {
		case '"', '\'':
			i += quoted(expr[i:]) - 1
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(expr)
}

// quoted returns the length of the string literal that an expression begins
// with, or that of all of it.
func quoted(expr string) int {
	for i := 1; i < len(expr); i++ {
		switch expr[i] {
		case '\\':
			i++
		case expr[0]:
			return i + 1
		}
	}
	return len(expr)
}

// requote writes the string literals of JSONPath as those of Go, as the library
// parses them: Go has no strings in single quotes, and its escapes differ.
// Other text stays unchanged; the library reports it.
func requote(expr string) string {
	if !strings.ContainsAny(expr, `'"`) {
		return expr
	}
	var b strings.Builder
	for i := 0; i < len(expr); {
		if expr[i] != '\'' && expr[i] != '"' {
			b.WriteByte(expr[i])
			i++
			continue
		}
		literal := expr[i : i+quoted(expr[i:])]
		i += len(literal)
		if text, ok := unquote(literal); ok {
			b.WriteString(strconv.Quote(text))
		} else {
			b.WriteString(literal)
		}
	}
	return b.String()
}

// unquote reads a string literal of JSONPath.
func unquote(literal string) (text string, ok bool) {
	if len(literal) < 2 || literal[len(literal)-1] != literal[0] {
		return "", false
	}
	inner := literal[1 : len(literal)-1]
	if literal[0] == '\'' {
		var b strings.Builder
		for i := 0; i < len(inner); i++ {
			switch {
			case strings.HasPrefix(inner[i:], `\'`):
				b.WriteByte('\'')
				i++
			case inner[i] == '\\' && i+1 < len(inner) && inner[i+1] != '"':
				b.WriteString(inner[i : i+2])
				i++
			case inner[i] == '"':
				b.WriteString(`\"`)
			default:
				b.WriteByte(inner[i])
			}
		}
		inner = b.String()
	}
	err := json.Unmarshal([]byte(`"`+inner+`"`), &text)
	return text, err == nil
}
