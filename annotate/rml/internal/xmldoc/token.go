package xmldoc

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxExpr is the longest expression in bytes.
const maxExpr = 1 << 16

// The kinds of token of XPath 1.0 (section 3.7).
const (
	symbolToken   uint8 = iota // a punctuation mark
	operatorToken              // an operator, by sign or by name
	nameToken                  // a name test, with prefix and * if any
	functionToken              // the name of a function
	typeToken                  // the name of a node type
	axisToken                  // the name of an axis
	numberToken
	literalToken
)

// token is a token of an expression.
type token struct {
	kind       uint8
	text       string
	prefix     string // of a name test
	local      string // of a name test, * for any
	start, end int    // its place in the expression
}

// is reports whether the token is a certain symbol or operator.
func (t token) is(text string) bool { return t.kind <= operatorToken && t.text == text }

// tokenize splits an expression into its tokens.
func tokenize(expr string) ([]token, error) {
	if len(expr) > maxExpr {
		return nil, fmt.Errorf("the expression is longer than %d bytes", maxExpr)
	}
	if !utf8.ValidString(expr) {
		return nil, fmt.Errorf("the expression is not UTF-8")
	}
	var tokens []token
	for i := skipBlanks(expr, 0); i < len(expr); i = skipBlanks(expr, i) {
		t, err := nextToken(expr, i, tokens)
		if err != nil {
			return nil, err
		}
		t.start = i
		t.end = i + len(t.text)
		tokens = append(tokens, t)
		i = t.end
	}
	return tokens, nil
}

// skipBlanks returns the offset after the white space at i.
func skipBlanks(expr string, i int) int {
	for i < len(expr) && strings.IndexByte(" \t\r\n", expr[i]) >= 0 {
		i++
	}
	return i
}

// nextToken returns the token at i.
func nextToken(expr string, i int, before []token) (token, error) {
	rest := expr[i:]
	c := rest[0]
	switch {
	case c == '"' || c == '\'':
		n := strings.IndexByte(rest[1:], c)
		if n < 0 {
			return token{}, fmt.Errorf("the quote at offset %d is never closed", i)
		}
		return token{kind: literalToken, text: rest[:n+2]}, nil
	case isDigit(c, 10) || (c == '.' && len(rest) > 1 && isDigit(rest[1], 10)):
		n := 0
		for dot := false; n < len(rest) && (isDigit(rest[n], 10) || (rest[n] == '.' && !dot)); n++ {
			dot = dot || rest[n] == '.'
		}
		return token{kind: numberToken, text: rest[:n]}, nil
	case c == '*' && !operandBefore(before):
		return token{kind: nameToken, text: "*", local: "*"}, nil
	}
	for _, s := range []string{"::", "..", ".", "@", "(", ")", "[", "]", ",", "$"} {
		if strings.HasPrefix(rest, s) {
			return token{kind: symbolToken, text: s}, nil
		}
	}
	for _, s := range []string{"//", "/", "|", "+", "-", "=", "!=", "<=", "<", ">=", ">", "*"} {
		if strings.HasPrefix(rest, s) {
			return token{kind: operatorToken, text: s}, nil
		}
	}
	return nextName(expr, i, before)
}

// operandBefore reports whether the last token may end an operand, so that a
// name or * after it must be an operator.
func operandBefore(before []token) bool {
	if len(before) == 0 {
		return false
	}
	last := before[len(before)-1]
	return last.kind != operatorToken && !slices.ContainsFunc([]string{"@", "::", "(", "[", ",", "$"}, last.is)
}

// nextName returns the token at i, which begins with a name.
func nextName(expr string, i int, before []token) (token, error) {
	first := ncNameLength(expr[i:])
	if first == 0 {
		r, _ := utf8.DecodeRuneInString(expr[i:])
		return token{}, fmt.Errorf("unexpected %q at offset %d", r, i)
	}
	text := expr[i : i+first]
	if operandBefore(before) {
		if !slices.Contains([]string{"and", "or", "div", "mod"}, text) {
			return token{}, fmt.Errorf("unexpected %q at offset %d, expected an operator", text, i)
		}
		return token{kind: operatorToken, text: text}, nil
	}
	t := token{kind: nameToken, text: text, local: text}
	if rest := expr[i+first:]; len(rest) > 1 && rest[0] == ':' && rest[1] != ':' {
		second := ncNameLength(rest[1:])
		if rest[1] == '*' {
			second = 1
		}
		if second == 0 {
			return token{}, fmt.Errorf("expected a name after the colon at offset %d", i+first)
		}
		t.prefix = text
		t.local = rest[1 : 1+second]
		t.text = expr[i : i+first+1+second]
	}
	next := expr[skipBlanks(expr, i+len(t.text)):]
	switch {
	case strings.HasPrefix(next, "::"):
		t.kind = axisToken
	case strings.HasPrefix(next, "(") &&
		slices.Contains([]string{"comment", "text", "node", "processing-instruction"}, t.text):
		t.kind = typeToken
	case strings.HasPrefix(next, "("):
		t.kind = functionToken
	}
	return t, nil
}

// ncNameLength returns the length of the name without colons that text begins
// with.
func ncNameLength(text string) int {
	for i, r := range text {
		if r == ':' || (i == 0 && !isNameStart(r)) || !isNameChar(r) {
			return i
		}
	}
	return len(text)
}

// isNCName reports whether text is a name without a colon.
func isNCName(text string) bool {
	return text != "" && ncNameLength(text) == len(text)
}
