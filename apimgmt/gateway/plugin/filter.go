package plugin

import (
	"fmt"
	"regexp"
	"strings"
)

// filter are the paths that need no authentication.
type filter struct {
	prefixes    []string
	expressions []*regexp.Regexp
}

// The bounds of a list of filters.
const (
	mostFilters   = 100
	longestFilter = 1000
)

// parseFilter reads patterns, with commas in between. One without the characters
// of expressions is a path, and stands for itself and what is below it; any other
// is an expression (RE2) for the whole path. Unlike with kong-oidc no pattern
// matches somewhere in the middle of a path, so that "/health" does not open
// "/orders/health".
func parseFilter(list string) (*filter, error) {
	f := &filter{}
	for pattern := range strings.SplitSeq(list, ",") {
		pattern = strings.TrimSpace(pattern)
		switch {
		case pattern == "":
			continue
		case len(pattern) > longestFilter || len(f.prefixes)+len(f.expressions) == mostFilters:
			return nil, fmt.Errorf("more than %d patterns, or one of more than %d bytes", mostFilters, longestFilter)
		case strings.Contains(pattern, "%"):
			return nil, fmt.Errorf("%q: %% is for patterns of Lua; expressions are those of RE2", pattern)
		case strings.ContainsAny(pattern, `^$*+?()[]{}|\`):
			compiled, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", pattern, err)
			}
			f.expressions = append(f.expressions, compiled)
		case pattern[0] != '/':
			return nil, fmt.Errorf("%q: a path begins with /", pattern)
		default:
			f.prefixes = append(f.prefixes, strings.TrimRight(pattern, "/"))
		}
	}
	return f, nil
}

// skips reports whether a normalised path needs no authentication. A path that a
// service may read in another way than the gateway always does.
func (f *filter) skips(path string) bool {
	if len(f.prefixes)+len(f.expressions) == 0 || !unambiguous(path) {
		return false
	}
	for _, prefix := range f.prefixes {
		if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	for _, expression := range f.expressions {
		if expression.MatchString(path) {
			return true
		}
	}
	return false
}

// unambiguous reports whether a path has one reading: nothing is escaped
// (such as a slash), there are no dot segments, empty segments, parameters ("/..;/")
// or backslashes, and it is in ASCII.
func unambiguous(path string) bool {
	for i := range len(path) {
		switch c := path[i]; {
		case c <= ' ' || c >= 0x7f || strings.IndexByte("%\\;#?", c) >= 0:
			return false
		case c == '/' && i+1 < len(path) && path[i+1] == '/':
			return false
		case c == '/':
			segment, _, _ := strings.Cut(path[i+1:], "/")
			if segment == "." || segment == ".." {
				return false
			}
		}
	}
	return path != "" && path[0] == '/'
}
