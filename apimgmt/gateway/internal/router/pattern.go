package router

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// pattern is a path of a route, taken apart.
type pattern struct {
	text   string                // as it is in the route
	regexp func() *regexp.Regexp // nil for a prefix

	kind     kind
	literal  string   // the prefix, the whole path, or what the expression begins with
	segments []string // of kindSegments: "" stands for a parameter
	anchored bool     // of kindSegments: whether the path ends there

	rest   string // the group that has the path from restAt on; "" if none exists
	restAt int
}

// kind is where a pattern is indexed.
type kind int

const (
	kindPrefix   kind = iota // any path that begins with literal
	kindExact                // the path that is literal
	kindSegments             // paths of these segments
	kindRegexp               // paths that begin with literal and match regexp
)

// parsePattern reads a path of a route.
func parsePattern(text string) (*pattern, error) {
	expression, isRegexp := strings.CutPrefix(text, "~")
	if !isRegexp {
		return &pattern{text: text, kind: kindPrefix, literal: text}, nil
	}
	if template := parseGrouped(expression); template != nil {
		template.text = text
		template.regexp = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(translate(expression)) })
		return template, nil
	}
	compiled, err := compileExpression(translate(expression))
	if err != nil {
		return nil, fmt.Errorf("path %.200q: %w", text, err)
	}
	return &pattern{
		text: text, kind: kindRegexp, literal: beginning(expression),
		regexp: func() *regexp.Regexp { return compiled },
	}, nil
}

// maxInstructions bounds an expression: the time to match a path is that many steps
// for each of its bytes in the worst case.
const maxInstructions = 10_000

// compileExpression compiles an expression of a route.
func compileExpression(expression string) (*regexp.Regexp, error) {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, explain(err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > maxInstructions {
		return nil, fmt.Errorf("the expression is too complex: it has %d instructions, more than %d", len(program.Inst), maxInstructions)
	}
	return regexp.Compile(expression)
}

// translate writes an expression of Kong as one of RE2 that matches from the
// start of the path on.
func translate(expression string) string {
	return `\A(?:` + strings.TrimPrefix(expression, "^") + `)`
}

// explain says in an error why an expression that Kong's older routers would take
// is refused.
func explain(err error) error {
	if e, ok := err.(*syntax.Error); ok && (e.Code == syntax.ErrInvalidPerlOp || e.Code == syntax.ErrInvalidEscape ||
		e.Code == syntax.ErrMissingRepeatArgument) {
		return fmt.Errorf("%w (look-around, back-references and possessive repeats are not supported)", err)
	}
	return err
}

// beginning returns the text that every match of an expression begins with.
func beginning(expression string) string {
	// An alternative at the top, or a flag, would make the beginning that of the
	// first alternative only; the parsed form shows that.
	parsed, err := syntax.Parse(translate(expression), syntax.Perl)
	if err != nil {
		return ""
	}
	var text strings.Builder
	leading(parsed.Simplify(), &text)
	return text.String()
}

// leading appends the text that an expression surely begins with, and reports
// whether the expression is that text.
func leading(e *syntax.Regexp, text *strings.Builder) bool {
	switch e.Op {
	case syntax.OpBeginText, syntax.OpEmptyMatch:
		return true
	case syntax.OpLiteral:
		if e.Flags&syntax.FoldCase != 0 {
			return false
		}
		for _, r := range e.Rune {
			text.WriteRune(r)
		}
		return true
	case syntax.OpCapture:
		return leading(e.Sub[0], text)
	case syntax.OpConcat:
		for _, sub := range e.Sub {
			if !leading(sub, text) {
				return false
			}
		}
		return true
	}
	return false
}

// parseGrouped is [parseTemplate], of expressions too whose last part is in a group of
// its own: `/prefix(?<rest>/a/(?<id>[^#?/]+)/b)$`.
func parseGrouped(expression string) *pattern {
	plain, before, rest := entity.CutRest(expression)
	template := parseTemplate(plain)
	if template == nil || plain == expression {
		return template
	}
	var literal strings.Builder
	parsed, err := syntax.Parse(strings.TrimPrefix(before, "^"), syntax.Perl)
	if err != nil || !leading(parsed, &literal) || !isName(rest) || strings.Contains(plain, "<"+rest+">") {
		return nil
	}
	template.rest, template.restAt = rest, literal.Len()
	return template
}

// parseTemplate recognises the expressions that are written for the paths of an
// OpenAPI file: literal segments and parameters that fill a segment, such as
// `/a/(?<id>[^#?/]+)/b$`. It returns nil for any other.
func parseTemplate(expression string) *pattern {
	expression = strings.TrimPrefix(expression, "^")
	rest, anchored := strings.CutSuffix(expression, "$")
	if (anchored && strings.HasSuffix(rest, `\`)) || !strings.HasPrefix(rest, "/") {
		return nil
	}
	var segments []string
	parameters := 0
	for rest != "" {
		rest = rest[1:] // the slash
		if after, ok := cutParameter(rest); ok {
			segments, rest = append(segments, ""), after
			parameters++
			if rest != "" && rest[0] != '/' {
				return nil
			}
			continue
		}
		literal, after, ok := cutLiteral(rest)
		if !ok || (literal == "" && after != "") {
			return nil // "//" matches no normalised path; leave it to the general case
		}
		if literal == "" { // a slash at the end
			segments = append(segments, trailing)
			break
		}
		segments, rest = append(segments, literal), after
	}
	if parameters == 0 {
		var path strings.Builder
		for _, s := range segments {
			path.WriteByte('/')
			if s != trailing {
				path.WriteString(s)
			}
		}
		if anchored {
			return &pattern{kind: kindExact, literal: path.String()}
		}
		return &pattern{kind: kindPrefix, literal: path.String()}
	}
	if !anchored && segments[len(segments)-1] != "" {
		return nil // ends within a segment
	}
	return &pattern{kind: kindSegments, segments: segments, anchored: anchored}
}

// trailing is the segment after a slash at the end, which no path can have.
const trailing = "/"

// cutParameter takes a group that matches one segment off the front.
func cutParameter(s string) (rest string, ok bool) {
	switch {
	case strings.HasPrefix(s, "(?<"), strings.HasPrefix(s, "(?P<"):
		name, after, found := strings.Cut(s[strings.IndexByte(s, '<')+1:], ">")
		if !found || !isName(name) {
			return "", false
		}
		s = after
	case strings.HasPrefix(s, "("):
		s = s[1:]
	default:
		return "", false
	}
	for _, class := range []string{`[^#?/]+)`, `[^/]+)`, `[^\/]+)`, `[^#?\/]+)`} {
		if after, found := strings.CutPrefix(s, class); found {
			return after, true
		}
	}
	return "", false
}

func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && !('a' <= c && c <= 'z') && !('A' <= c && c <= 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// cutLiteral takes text without special characters, and escaped ones, off the
// front, up to the next slash.
func cutLiteral(s string) (literal, rest string, ok bool) {
	if i := strings.IndexAny(s, `/\.*+?()|[]{}^$`); i < 0 || s[i] == '/' {
		if i < 0 {
			i = len(s)
		}
		return s[:i], s[i:], true
	}
	var text []byte
	i := 0
	for ; i < len(s) && s[i] != '/'; i++ {
		c := s[i]
		if c == '\\' {
			i++
			if i == len(s) || s[i] == '/' || !strings.ContainsRune(`\.*+?()|[]{}^$-_~`, rune(s[i])) {
				return "", "", false
			}
			text = append(text, s[i])
			continue
		}
		if strings.IndexByte(`.*+?()|[]{}^$`, c) >= 0 {
			return "", "", false
		}
		text = append(text, c)
	}
	return string(text), s[i:], true
}

// matched returns the part of a path that the pattern has matched; ok is false if
// it does not match.
func (p *pattern) matched(path string) (string, bool) {
	switch p.kind {
	case kindPrefix:
		return p.literal, strings.HasPrefix(path, p.literal)
	case kindExact:
		return path, path == p.literal
	}
	at := p.regexp().FindStringIndex(path)
	if at == nil {
		return "", false
	}
	return path[:at[1]], true
}
