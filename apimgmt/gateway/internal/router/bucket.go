package router

import (
	"slices"
	"strings"
)

// entry is a rule at a place of the index, for one of its hosts.
type entry struct {
	rule *rule
	port int // of the host, or zero
}

// insert puts an entry where its rank says.
func insert(entries []entry, e entry) []entry {
	i, _ := slices.BinarySearchFunc(entries, e, func(a, b entry) int { return a.rule.rank - b.rule.rank })
	return slices.Insert(entries, i, e)
}

// bucket is the rules at one place of the index. Where there are many, those that
// require a value of a header field are found by it.
type bucket struct {
	entries  []entry                       // all of them, while they are few; then those without such a field
	byHeader map[string]map[string][]entry // by name and value in lower case; nil while they are few
}

// maxEntries is the number of rules that are tried one after the other.
const maxEntries = 16

func (b *bucket) add(e entry) {
	if b.byHeader != nil {
		b.file(e)
		return
	}
	if b.entries = insert(b.entries, e); len(b.entries) > maxEntries {
		all := b.entries
		b.entries, b.byHeader = nil, map[string]map[string][]entry{}
		for _, e := range all {
			b.file(e)
		}
	}
}

// file puts an entry under the values of a field, if it has one to be found by.
func (b *bucket) file(e entry) {
	i := slices.IndexFunc(e.rule.headers, func(h header) bool {
		return len(h.regexps) == 0 && !slices.ContainsFunc(h.values, func(v string) bool { return !isASCII(v) })
	})
	if i < 0 {
		b.entries = insert(b.entries, e)
		return
	}
	name := e.rule.headers[i].name
	if b.byHeader[name] == nil {
		b.byHeader[name] = map[string][]entry{}
	}
	for _, value := range e.rule.headers[i].values {
		b.byHeader[name][value] = insert(b.byHeader[name][value], e)
	}
}

// isASCII reports whether upper and lower case are those of ASCII.
func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// find takes the best of the rules, all of whose paths match.
func (b *bucket) find(s *search, matched string) {
	s.try(b.entries, matched)
	if b.byHeader == nil {
		return
	}
	for name, values := range s.request.Header {
		if byValue := b.byHeader[name]; byValue != nil {
			for _, value := range values {
				s.try(byValue[strings.ToLower(value)], matched)
			}
		}
	}
}
