package function

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// patternCache keeps the compiled patterns of GREL functions. Where GREL takes
// a string or a pattern, text between two slashes is a pattern in the syntax of
// package regexp, which takes linear time; other text stands for itself.
type patternCache struct {
	mu       sync.RWMutex
	compiled map[string]*regexp.Regexp
}

const (
	maxPatterns      = 256     // in the cache
	maxPatternLength = 4 << 10 // in bytes
)

func newPatternCache() *patternCache {
	return &patternCache{compiled: make(map[string]*regexp.Regexp)}
}

// get returns the pattern of a text, or nil when the text stands for itself.
func (p *patternCache) get(s string) (*regexp.Regexp, error) {
	if len(s) <= 2 || s[0] != '/' || s[len(s)-1] != '/' {
		return nil, nil
	}
	return p.compile(s[1 : len(s)-1])
}

func (p *patternCache) compile(expr string) (*regexp.Regexp, error) {
	p.mu.RLock()
	re := p.compiled[expr]
	p.mu.RUnlock()
	if re != nil {
		return re, nil
	}
	if len(expr) > maxPatternLength {
		return nil, limitErrorf("the pattern has %d bytes, the limit is %d", len(expr), maxPatternLength)
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("the pattern is not valid (references back and lookarounds are not supported): %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.compiled) >= maxPatterns {
		clear(p.compiled)
	}
	p.compiled[expr] = re
	return re, nil
}

// first finds where the first match of a string or pattern begins and ends.
func (p *patternCache) first(s, find string) (from, to int, found bool, err error) {
	re, err := p.get(find)
	if err != nil {
		return 0, 0, false, err
	}
	if re == nil {
		i := strings.Index(s, find)
		return i, i + len(find), i >= 0, nil
	}
	at := re.FindStringIndex(s)
	if at == nil {
		return 0, 0, false, nil
	}
	return at[0], at[1], true, nil
}

// last finds the last match.
func (p *patternCache) last(s, find string) (from, to int, found bool, err error) {
	re, err := p.get(find)
	if err != nil {
		return 0, 0, false, err
	}
	if re == nil {
		i := strings.LastIndex(s, find)
		return i, i + len(find), i >= 0, nil
	}
	all := re.FindAllStringIndex(s, -1)
	if len(all) == 0 {
		return 0, 0, false, nil
	}
	at := all[len(all)-1]
	return at[0], at[1], true, nil
}

// match returns the groups of a pattern that matches the whole text, and
// nothing when it does not match. The slashes around the pattern are optional.
func (p *patternCache) match(s, pattern string) ([]string, error) {
	if len(pattern) > 2 && pattern[0] == '/' && pattern[len(pattern)-1] == '/' {
		pattern = pattern[1 : len(pattern)-1]
	}
	re, err := p.compile(`\A(?:` + pattern + `)\z`)
	if err != nil {
		return nil, err
	}
	groups := re.FindStringSubmatch(s)
	if groups == nil {
		return nil, nil
	}
	return groups[1:], nil
}

// replace replaces all matches. In the replacement of a pattern, $1 and ${name}
// stand for groups and \$ for a dollar sign.
func (p *patternCache) replace(s, find, with string) ([]string, error) {
	re, err := p.get(find)
	if err != nil {
		return nil, err
	}
	if re == nil {
		// Replacing n of them lengthens the text by n times the difference.
		if grow := len(with) - len(find); grow > 0 && strings.Count(s, find) > (MaxText-len(s))/grow {
			return nil, TooLong()
		}
		return text(strings.ReplaceAll(s, find, with))
	}
	var b strings.Builder
	end := 0
	for _, at := range re.FindAllStringSubmatchIndex(s, -1) {
		b.WriteString(s[end:at[0]])
		if err := expand(&b, with, s, at, re); err != nil {
			return nil, err
		}
		end = at[1]
		if b.Len() > MaxText {
			return nil, TooLong()
		}
	}
	b.WriteString(s[end:])
	return text(b.String())
}

// expand writes the replacement of one match.
func expand(b *strings.Builder, with, s string, at []int, re *regexp.Regexp) error {
	for i := 0; i < len(with); i++ {
		switch {
		case with[i] == '\\' && i+1 < len(with):
			i++
			_, size := utf8.DecodeRuneInString(with[i:])
			b.WriteString(with[i : i+size])
			i += size - 1
		case with[i] == '$':
			group, length := groupReference(with[i+1:], re)
			if group < 0 {
				return fmt.Errorf("the replacement %q names a group that the pattern does not have", brief(with))
			}
			if from, to := at[2*group], at[2*group+1]; from >= 0 {
				b.WriteString(s[from:to])
			}
			i += length
		default:
			b.WriteByte(with[i])
		}
	}
	return nil
}

// groupReference parses the group after a dollar sign. It returns the group, or
// -1, and the length of its name.
func groupReference(s string, re *regexp.Regexp) (group, length int) {
	if strings.HasPrefix(s, "{") {
		name, _, closed := strings.Cut(s[1:], "}")
		if !closed {
			return -1, 0
		}
		return re.SubexpIndex(name), len(name) + 2
	}
	group = -1
	for length < len(s) {
		n, err := strconv.Atoi(s[:length+1])
		if err != nil || s[0] == '+' || s[0] == '-' || n > re.NumSubexp() {
			break
		}
		group = n
		length++
	}
	return group, length
}
