package antchfx

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"

	"github.com/antchfx/xpath"

	"github.com/iotenablers/enablers/annotate/rml"
)

const (
	minSteps     = 1 << 22 // that any evaluation may take
	stepsPerByte = 64      // of the document, if those are more
	// maxText is the most text that an evaluation may read. The library builds texts of
	// what it reads, at most maxGrowth times as long.
	maxText = 64 << 20
	// maxGrowth is how many times as long a text can become at most.
	maxGrowth = 1024
	// minCopies is how many nodes may be copied by an expression that may keep them in
	// lists, and bytesPerCopy the bytes of a document for each if those are more.
	minCopies    = 1 << 20
	bytesPerCopy = 4
	// shortName is the length of names that are not counted.
	shortName = 256
)

// The panics that end an evaluation.
var (
	errTooLong       = fmt.Errorf("the evaluation takes too many steps: %w", rml.ErrLimit)
	errTooMuchText   = fmt.Errorf("the evaluation reads too much text: %w", rml.ErrLimit)
	errTooManyCopies = fmt.Errorf("the evaluation keeps too many nodes: %w", rml.ErrLimit)
)

// budget is what one evaluation may still use.
type budget struct{ steps, text, copies int }

func (b *budget) spend(steps int) {
	if b.steps -= steps; b.steps < 0 {
		panic(errTooLong)
	}
}

func (b *budget) read(bytes int) {
	if b.text -= bytes; b.text < 0 {
		panic(errTooMuchText)
	}
}

func (b *budget) copy() {
	if b.copies--; b.copies < 0 {
		panic(errTooManyCopies)
	}
}

// bounds are what is known about an expression before it is evaluated.
type bounds struct {
	growth int  // how many times as long as what it reads its texts can be
	lists  bool // whether it may keep nodes in lists
}

// budget returns the budget of an evaluation on a document of so many bytes.
func (b bounds) budget(size int) *budget {
	left := &budget{steps: max(minSteps, stepsPerByte*size), text: maxText / b.growth, copies: math.MaxInt}
	if b.lists {
		left.copies = max(minCopies, size/bytesPerCopy)
	}
	return left
}

// growing are the functions whose result can be longer than what they read: by
// their last argument, for each character, match or node.
var growing = []string{"replace", "string-join", "translate"}

// parseBounds returns the bounds of an expression. It is an error if an argument of a
// function that lengthens texts is not a literal, or lengthens them too much.
func parseBounds(expr string) (bounds, error) {
	b := bounds{growth: 1}
	for i := 0; i < len(expr); i++ {
		switch expr[i] {
		case '"', '\'':
			i = afterLiteral(expr, i) - 1
		case '|':
			b.lists = true
		case '(':
			before := strings.TrimRightFunc(expr[:i], unicode.IsSpace)
			b.lists = b.lists || !isCall(before) || strings.HasSuffix(before, "reverse")
			for _, name := range growing {
				if !strings.HasSuffix(before, name) {
					continue
				}
				last, err := literalArguments(name, expr[i+1:])
				if err != nil {
					return b, err
				}
				if b.growth *= 1 + len(last); b.growth > maxGrowth {
					return b, fmt.Errorf("its functions %s could lengthen texts more than %d times", strings.Join(growing, ", "), maxGrowth)
				}
			}
		}
	}
	return b, nil
}

// isCall reports whether a parenthesis after a text opens the arguments of a
// function or a node test.
func isCall(before string) bool {
	switch lastWord(before) {
	case "and", "or", "div", "mod":
		return false
	}
	return before != "" && strings.IndexByte("(,[|+-*=<>/!", before[len(before)-1]) < 0
}

// lastWord returns the name that a text ends with, without its prefix, or without a number that is before it.
func lastWord(text string) string {
	before := strings.TrimRightFunc(text, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.", r)
	})
	return strings.TrimLeft(text[len(before):], "0123456789-.")
}

// afterLiteral returns the offset after the literal at i.
func afterLiteral(expr string, i int) int {
	end := strings.IndexByte(expr[i+1:], expr[i])
	if end < 0 {
		return len(expr)
	}
	return i + end + 2
}

// literalArguments returns the last argument of a function, whose arguments but the
// first must be literals.
func literalArguments(name, rest string) (string, error) {
	depth := 0
	from := -1
	last := ""
	end := func(at int) error {
		if from < 0 {
			return nil
		}
		text := strings.TrimFunc(rest[from:at], unicode.IsSpace)
		if len(text) < 2 || (text[0] != '"' && text[0] != '\'') || afterLiteral(text, 0) != len(text) {
			return fmt.Errorf("%s() must have literals as its arguments but the first, found %.40q; the built-in engine takes any", name, text)
		}
		last = text[1 : len(text)-1]
		return nil
	}
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '"' || c == '\'':
			i = afterLiteral(rest, i) - 1
		case c == '(' || c == '[':
			depth++
		case depth > 0 && (c == ')' || c == ']'):
			depth--
		case depth == 0 && c == ',':
			if err := end(i); err != nil {
				return "", err
			}
			from = i + 1
		case depth == 0 && c == ')':
			return last, end(i)
		}
	}
	return last, nil // never closed, which the library reports
}

const (
	// keptPatterns is how many regular expressions the library keeps.
	keptPatterns = 32
	// maxPattern is the longest regular expression in bytes.
	maxPattern = 4096
	// maxProgram is the largest number of its instructions, and maxCaptures that times its groups.
	maxProgram  = 1 << 14
	maxCaptures = 1 << 18
)

// The library keeps regular expressions in one cache for the whole process, also those of documents: 65,536
// of any size. Its variable is there to be replaced, before an expression is evaluated.
var _ = boundPatterns()

func boundPatterns() struct{} {
	xpath.RegexpCache = xpath.NewLoadingCache(loadPattern, keptPatterns)
	return struct{}{}
}

// loadPattern compiles a regular expression.
func loadPattern(key any) (any, error) {
	pattern := key.(string)
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("the regular expression is longer than %d bytes", maxPattern)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	groups := tree.MaxCap()
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if n := len(program.Inst); n > maxProgram || n*groups > maxCaptures {
		return nil, errors.New("the regular expression has too many repetitions, or too many groups for its size")
	}
	return regexp.Compile(pattern)
}
