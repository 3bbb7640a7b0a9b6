package resultset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// Query is a SPARQL query of the part of the language that is evaluated here: SELECT over one basic
// graph pattern (SPARQL 1.1 Query Language, section 5.1), with DISTINCT. It is immutable.
type Query struct {
	variables []string // in the order of the columns
	distinct  bool
	patterns  []rdf.Quad // variables are IRIs with variablePrefix
}

// variablePrefix begins the IRIs that stand for variables while Turtle is read, since a basic graph pattern is
// Turtle otherwise.
const variablePrefix = "x-variable:"

// maxPatterns bounds a query.
const maxPatterns = 64

// unsupported are the words of SPARQL that a query may not have outside of names.
func unsupported() []string {
	return []string{"FILTER", "OPTIONAL", "UNION", "MINUS", "BIND", "VALUES", "GRAPH", "SERVICE", "EXISTS", "SELECT"}
}

// Parse reads a query. An error says what is not part of the language that is evaluated here.
func Parse(text string) (*Query, error) {
	s := split{}
	if err := s.scan(text); err != nil {
		return nil, err
	}
	q := &Query{}
	prologue, err := q.head(s.head.String())
	if err != nil {
		return nil, err
	}
	if rest := strings.Fields(s.tail.String()); len(rest) > 0 {
		return nil, fmt.Errorf("%s is not evaluated over a file: expected the end of the query", word(rest[0]))
	}
	body := strings.TrimSpace(s.body.String())
	if body != "" && !strings.HasSuffix(body, ".") {
		body += " ."
	}
	reader, err := rdf.NewReader(strings.NewReader(prologue+"\n"+body), rdf.Turtle, &rdf.ReaderOptions{MaxBytes: 1 << 20})
	if err != nil {
		return nil, err
	}
	for {
		pattern, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("it is not a basic graph pattern, which is all that is evaluated over a file: %w", err)
		}
		if len(q.patterns) == maxPatterns {
			return nil, fmt.Errorf("it has more than %d triple patterns", maxPatterns)
		}
		for _, term := range []*rdf.Term{&pattern.Subject, &pattern.Object} {
			if term.Kind == rdf.Blank { // a variable without a name
				*term = rdf.NewIRI(variablePrefix + "_:" + term.Value)
			}
		}
		q.patterns = append(q.patterns, pattern)
	}
	if q.variables == nil {
		q.variables = s.variables
	}
	if len(q.variables) == 0 {
		return nil, errors.New("it selects nothing: the pattern has no variable")
	}
	return q, nil
}

// word returns a word for a message.
func word(text string) string { return fmt.Sprintf("%.30q", text) }

// head reads what is before the pattern and returns the prologue, which is Turtle.
func (q *Query) head(text string) (prologue string, err error) {
	words := strings.Fields(text)
	at := 0
	for at < len(words) {
		switch {
		case strings.EqualFold(words[at], "PREFIX") && at+2 < len(words):
			at += 3
		case strings.EqualFold(words[at], "BASE") && at+1 < len(words):
			at += 2
		default:
			prologue, words = strings.Join(words[:at], " "), words[at:]
			return prologue, q.projection(words)
		}
	}
	return "", errors.New("it is not a query: expected SELECT")
}

// projection reads the SELECT clause.
func (q *Query) projection(words []string) error {
	if !strings.EqualFold(words[0], "SELECT") {
		return fmt.Errorf("%s is not evaluated over a file: expected SELECT", word(words[0]))
	}
	words = words[1:]
	if len(words) > 0 && (strings.EqualFold(words[0], "DISTINCT") || strings.EqualFold(words[0], "REDUCED")) {
		q.distinct = strings.EqualFold(words[0], "DISTINCT")
		words = words[1:]
	}
	if n := len(words); n > 0 && strings.EqualFold(words[n-1], "WHERE") {
		words = words[:n-1]
	}
	if len(words) == 1 && words[0] == "*" {
		return nil
	}
	for _, w := range words {
		name := strings.TrimLeft(w, "?$")
		if len(name) == len(w) || !variableName(name) {
			return fmt.Errorf("%s is not evaluated over a file: expected variables or *, and then the pattern", word(w))
		}
		q.variables = append(q.variables, name)
	}
	if len(words) == 0 {
		return errors.New("it selects nothing: expected variables or *")
	}
	return nil
}

func variableName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool { return c < 0x80 && !nameByte(byte(c)) })
}

// nameByte reports whether a byte may be part of the name of a variable.
func nameByte(c byte) bool {
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80
}

// split divides a query at the braces of its pattern. Comments are left out, and the variables of the pattern are
// IRIs.
type split struct {
	head, body, tail bytes.Buffer
	variables        []string // of the pattern
}

// scan reads the text token by token, as far as needed to find braces, comments, variables and keywords.
func (s *split) scan(text string) error {
	out := &s.head
	for i := 0; i < len(text); {
		c := text[i]
		end := i + 1
		switch {
		case c == '#':
			end = i + len(line(text[i:]))
			i = end
			out.WriteByte('\n')
			continue
		case c == '"' || c == '\'':
			size := stringLength(text[i:])
			if size == 0 {
				return errors.New("a string has no end")
			}
			end = i + size
		case c == '<':
			size := strings.IndexByte(text[i:], '>')
			if size < 0 {
				return errors.New("an IRI has no end")
			}
			end = i + size + 1
		case c == '{' || c == '}':
			if (c == '{' && out != &s.head) || (c == '}' && out != &s.body) {
				return errors.New("groups of patterns are not evaluated over a file: expected one pair of braces")
			}
			if out = &s.body; c == '}' {
				out = &s.tail
			}
			i = end
			continue
		case (c == '?' || c == '$') && out == &s.body:
			for end < len(text) && nameByte(text[end]) {
				end++
			}
			name := text[i+1 : end]
			if name == "" {
				return errors.New("a question mark that begins no variable is not evaluated over a file")
			}
			if !slices.Contains(s.variables, name) {
				s.variables = append(s.variables, name)
			}
			fmt.Fprintf(out, "<%s%s>", variablePrefix, name)
			i = end
			continue
		case nameByte(c):
			for end < len(text) && (nameByte(text[end]) || text[end] == ':' || text[end] == '-') {
				end++
			}
			if out == &s.body && slices.Contains(unsupported(), strings.ToUpper(text[i:end])) {
				return fmt.Errorf("%s is not evaluated over a file: expected one basic graph pattern", strings.ToUpper(text[i:end]))
			}
		}
		out.WriteString(text[i:end])
		i = end
	}
	if out != &s.tail {
		return errors.New("it has no pattern in braces")
	}
	return nil
}

func line(text string) string {
	before, _, _ := strings.Cut(text, "\n")
	return before
}

// stringLength returns the length of the string that a text begins with, in quotes of either kind, long or short,
// or 0.
func stringLength(text string) int {
	quote := text[:1]
	if long := strings.Repeat(quote, 3); strings.HasPrefix(text, long) {
		quote = long
	} else if strings.HasPrefix(text, quote+quote) {
		return 2
	}
	for i := len(quote); i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote)
		}
	}
	return 0
}
