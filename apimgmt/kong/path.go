package kong

import (
	"regexp"
	"strings"
)

// oldPlain are the paths that Kong 2 takes for prefixes; every other one is a
// regular expression to it.
var oldPlain = regexp.MustCompile(`^[a-zA-Z0-9._~/%-]*$`)

// anything is an empty group, which makes an expression of a path that Kong 2
// would take for a prefix.
const anything = "(?:)"

// oldPath writes a path of a route in the style of Kong 2: expressions have no
// "~" before them, and prefixes with other than plain characters are expressions.
func oldPath(path string) string {
	expression, isExpression := strings.CutPrefix(path, "~")
	switch {
	case isExpression && oldPlain.MatchString(expression):
		return expression + anything
	case isExpression:
		return expression
	case oldPlain.MatchString(path):
		return path
	}
	return regexp.QuoteMeta(path)
}

// newPath is the opposite of oldPath. An expression that matches one text alone
// becomes that prefix, which means the same.
func newPath(path string) string {
	if oldPlain.MatchString(path) {
		return path
	}
	if bare, ok := strings.CutSuffix(path, anything); ok && oldPlain.MatchString(bare) {
		return "~" + bare
	}
	if literal := unquote(path); regexp.QuoteMeta(literal) == path && !oldPlain.MatchString(literal) {
		return literal
	}
	return "~" + path
}

// unquote takes the backslashes off that quote something.
func unquote(expression string) string {
	var b strings.Builder
	for i := 0; i < len(expression); i++ {
		if expression[i] == '\\' && i+1 < len(expression) {
			i++
		}
		b.WriteByte(expression[i])
	}
	return b.String()
}
