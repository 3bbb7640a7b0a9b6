package definition

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// template is the path of an operation, taken apart.
type template struct {
	parts []part
}

// part is a literal or a parameter.
type part struct {
	literal   string
	parameter string // empty for a literal
}

func parseTemplate(path string) (template, error) {
	if !strings.HasPrefix(path, "/") {
		return template{}, fmt.Errorf("the path %q should start with \"/\"", shown(path))
	}
	if strings.ContainsAny(path, "?#") {
		return template{}, fmt.Errorf("the path %q has a query or a fragment", shown(path))
	}
	var t template
	for rest := path; rest != ""; {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			t.parts = append(t.parts, part{literal: rest})
			break
		}
		if i > 0 {
			t.parts = append(t.parts, part{literal: rest[:i]})
		}
		end := strings.IndexAny(rest[i+1:], "{}/")
		if rest[i] == '}' || end < 0 || rest[i+1+end] != '}' || end == 0 {
			return template{}, fmt.Errorf("the path %q has a brace without its pair", shown(path))
		}
		t.parts = append(t.parts, part{parameter: rest[i+1 : i+1+end]})
		rest = rest[i+1+end+1:]
	}
	return t, nil
}

// shape is the path without the names of its parameters.
func (t template) shape() string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.parameter != "" {
			b.WriteString("{}")
			continue
		}
		b.WriteString(p.literal)
	}
	return b.String()
}

func (t template) hasParameters() bool {
	for _, p := range t.parts {
		if p.parameter != "" {
			return true
		}
	}
	return false
}

// maxGroup is the greatest length of the name of a group: PCRE takes 32 characters, and
// Kong's converter one less.
const maxGroup = 31

// regex is the path as a regular expression that matches all of it. A parameter
// is one segment or a part of one.
func (t template) regex() string {
	var b strings.Builder
	taken := map[string]bool{}
	for _, p := range t.parts {
		if p.parameter == "" {
			b.WriteString(regexp.QuoteMeta(p.literal))
			continue
		}
		b.WriteString("(?<" + groupName(p.parameter, taken) + ">[^#?/]+)")
	}
	b.WriteString("$")
	return b.String()
}

// groupName is a name for the group of a parameter that no other group has.
func groupName(parameter string, taken map[string]bool) string {
	name := []byte(parameter)
	for i, c := range name {
		isDigit := c >= '0' && c <= '9'
		if !isDigit && c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			name[i] = '_'
		}
	}
	if name[0] >= '0' && name[0] <= '9' {
		name = append([]byte("_"), name...)
	}
	name = name[:min(len(name), maxGroup)]
	unique := string(name)
	for n := 2; taken[unique]; n++ {
		number := "_" + strconv.Itoa(n)
		unique = string(name[:min(len(name), maxGroup-len(number))]) + number
	}
	taken[unique] = true
	return unique
}
