package yarrrml

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/iotenablers/enablers/annotate/rml"
)

const (
	maxDepth  = 64
	maxValues = 200_000
)

// value is a value of the YAML document with its place.
type value struct {
	node  *yaml.Node
	path  string // such as mappings.person.po[1]
	depth int
}

func (v value) line() int {
	if v.node == nil {
		return 0
	}
	return v.node.Line
}

// isZero reports whether the value is absent.
func (v value) isZero() bool { return v.node == nil }

// resolved returns the value that an alias stands for.
func (v value) resolved() value {
	for range maxDepth {
		if v.node == nil || v.node.Kind != yaml.AliasNode {
			break
		}
		v.node = v.node.Alias
	}
	return v
}

func (v value) isMap() bool    { n := v.resolved().node; return n != nil && n.Kind == yaml.MappingNode }
func (v value) isList() bool   { n := v.resolved().node; return n != nil && n.Kind == yaml.SequenceNode }
func (v value) isScalar() bool { n := v.resolved().node; return n != nil && n.Kind == yaml.ScalarNode }

// isNull reports whether the value is missing or null.
func (v value) isNull() bool {
	n := v.resolved().node
	return n == nil || (n.Kind == yaml.ScalarNode && n.Tag == "!!null")
}

// raw returns the text of a scalar, and an empty string for another value.
func (v value) raw() string {
	if v.isNull() || !v.isScalar() {
		return ""
	}
	return v.resolved().node.Value
}

// fail keeps the first error.
func (r *reader) fail(v value, format string, args ...any) {
	if r.err != nil {
		return
	}
	e := &rml.MappingError{Node: v.path, Reason: fmt.Sprintf(format, args...)}
	if v.node != nil {
		e.Line = v.node.Line
		e.Column = v.node.Column
	}
	r.err = e
}

// enter counts a value and returns it without its alias.
func (r *reader) enter(v value) value {
	if r.values++; r.values > maxValues {
		r.fail(v, "with it there are more than %d values, those of aliases counted as often as they are used", maxValues)
	}
	if v.depth > maxDepth {
		r.fail(v, "it contains itself, or is nested more than %d deep", maxDepth)
	}
	return v.resolved()
}

// text returns the text of a scalar.
func (r *reader) text(v value) string {
	v = r.enter(v)
	switch {
	case r.err != nil:
	case v.isNull():
		r.fail(v, "it is empty: expected text")
	case !v.isScalar():
		r.fail(v, "it is %s: expected text", notation(v))
	default:
		return v.node.Value
	}
	return ""
}

func notation(v value) string {
	switch {
	case v.isMap():
		return "an object"
	case v.isList():
		return "a list"
	}
	return "text"
}

// items returns the items of a list.
func (r *reader) items(v value) []value {
	list := r.enter(v)
	if r.err != nil {
		return nil
	}
	if !list.isList() {
		r.fail(v, "it is %s: expected a list", notation(v))
		return nil
	}
	items := make([]value, 0, len(list.node.Content))
	for i, n := range list.node.Content {
		items = append(items, value{n, fmt.Sprintf("%s[%d]", v.path, i), v.depth + 1})
	}
	return items
}

// oneOrMore returns the items of a list, or the value itself.
func (r *reader) oneOrMore(v value) []value {
	switch {
	case v.isList():
		return r.items(v)
	case v.isNull():
		return nil
	}
	return []value{v}
}

// pair is a member of an object.
type pair struct {
	key   value
	name  string
	value value
}

// pairs returns the members of an object, those of its merge keys (<<) after its own.
func (r *reader) pairs(v value) []pair {
	object := r.enter(v)
	if r.err != nil || object.isNull() {
		return nil
	}
	if !object.isMap() {
		r.fail(v, "it is %s: expected an object", notation(v))
		return nil
	}
	var pairs []pair
	var merged []value
	said := make(map[string]bool)
	for i := 0; i+1 < len(object.node.Content); i += 2 {
		key := value{object.node.Content[i], v.path, v.depth + 1}
		name := r.text(key)
		p := pair{key, name, value{object.node.Content[i+1], strings.TrimPrefix(v.path+"."+name, "."), v.depth + 1}}
		switch {
		case r.err != nil:
			return nil
		case name == "<<" && key.node.Tag == "!!merge":
			merged = append(merged, r.oneOrMore(p.value)...)
		case said[name]:
			r.fail(key, "its key %s is written twice: expected it once", name)
		default:
			said[name] = true
			pairs = append(pairs, p)
		}
	}
	for _, m := range merged {
		m.depth++
		for _, p := range r.pairs(m) {
			if !said[p.name] {
				said[p.name] = true
				pairs = append(pairs, p)
			}
		}
	}
	return pairs
}

// key is a key of the language with its other names.
type key []string

// members returns the members of an object by the first name of their key. A member of
// another name is an error.
func (r *reader) members(v value, keys []key) map[string]value {
	members := make(map[string]value)
	for _, p := range r.pairs(v) {
		i := slices.IndexFunc(keys, func(k key) bool { return slices.Contains(k, p.name) })
		if i < 0 {
			names := make([]string, len(keys))
			for i, k := range keys {
				names[i] = k[0]
			}
			r.fail(p.key, "its key %s is not known here: expected one of %s", p.name, strings.Join(names, ", "))
			continue
		}
		name := keys[i][0]
		if _, again := members[name]; again {
			r.fail(p.key, "its key %s says again what %s is: expected one of %s", p.name, name, strings.Join(keys[i], ", "))
		}
		members[name] = p.value
	}
	return members
}
