package xmldoc

import (
	"bytes"
	"cmp"
	"slices"
)

const (
	// maxBindings is the largest number of namespace declarations in scope.
	maxBindings = 256
	// keptSpaces is the number of namespaces that are kept from input to input.
	keptSpaces = 1024
	// fewAttributes is the number of attributes up to which comparing each
	// with each is faster than sorting.
	fewAttributes = 8
)

// lexicon finds the number that the compiler gave to an expanded name.
type lexicon struct {
	heads [64]int32
	names []entry
}

// entry is a name and the next one with the same hash.
type entry struct {
	name
	next int32
}

// fill adds the names of a compiler.
func (l *lexicon) fill(names []name) {
	for i, n := range names {
		e := entry{name: n}
		if i > 0 {
			h := hash([]byte(n.local))
			e.next = l.heads[h]
			l.heads[h] = int32(i)
		}
		l.names = append(l.names, e)
	}
}

// find returns the number of a name, 0 when no expression uses it.
func (l *lexicon) find(local []byte, space int32) int32 {
	at := l.heads[hash(local)]
	for at != 0 {
		e := &l.names[at]
		if e.space == space && e.local == string(local) {
			return at
		}
		at = e.next
	}
	return 0
}

// hash maps a local name, never empty, to an index of lexicon.heads.
func hash(local []byte) int {
	n := len(local)
	return (n*31 + int(local[0])*7 + int(local[n/2])*3 + int(local[n-1])) & 63
}

// binding is a namespace declaration in scope.
type binding struct {
	prefix  uint32 // offset
	size    uint16 // 0 for the default namespace
	space   int32
	element int32 // where it was declared
}

// bind adds a declaration on an element, whose prefix is at an offset of the
// data and may be empty, with the value of its attribute.
func (d *Document) bind(element int32, prefix, size int, value []byte) error {
	text := d.data[prefix : prefix+size]
	for i := len(d.bindings) - 1; i >= 0 && d.bindings[i].element == element; i-- {
		if b := &d.bindings[i]; bytes.Equal(d.data[b.prefix:b.prefix+uint32(b.size)], text) {
			return d.fail(prefix, "the attribute that declares the prefix %q is repeated", text)
		}
	}
	switch {
	case string(text) == "xmlns":
		return d.fail(prefix, "the prefix xmlns cannot be declared")
	case string(text) == "xml" && string(value) != xmlIRI:
		return d.fail(prefix, "the prefix xml cannot be bound to another namespace")
	case string(text) != "xml" && string(value) == xmlIRI:
		return d.fail(prefix, "the prefix %q cannot be bound to the namespace of xml", text)
	case string(value) == xmlnsIRI:
		return d.fail(prefix, "the prefix %q cannot be bound to the namespace of xmlns", text)
	case size > 0 && len(value) == 0:
		return d.fail(prefix, "the prefix %q is declared with an empty namespace", text)
	case len(d.bindings) >= maxBindings:
		return d.exceed(prefix, "there are more than %d namespace declarations in scope", maxBindings)
	}
	d.bindings = append(d.bindings, binding{uint32(prefix), uint16(size), d.space(value), element})
	return nil
}

// space returns the index of a namespace, adding it when it is new.
func (d *Document) space(iri []byte) int32 {
	if at := slices.Index(d.spaces[:d.ownSpaces], string(iri)); at >= 0 {
		return int32(at)
	}
	if at, ok := d.otherSpaces[string(iri)]; ok {
		return at
	}
	if d.otherSpaces == nil {
		d.otherSpaces = map[string]int32{}
	}
	at := int32(len(d.spaces))
	d.spaces = append(d.spaces, string(iri))
	d.otherSpaces[d.spaces[at]] = at
	return at
}

// forgetSpaces drops the namespaces that no expression uses if there are too
// many.
func (d *Document) forgetSpaces() {
	if len(d.otherSpaces) > keptSpaces {
		clear(d.spaces[d.ownSpaces:])
		d.spaces = slices.Clip(d.spaces[:d.ownSpaces])
		d.otherSpaces = nil
	}
}

// resolve returns the namespace of a prefix in scope.
func (d *Document) resolve(prefix []byte) (int32, bool) {
	for i := len(d.bindings) - 1; i >= 0; i-- {
		b := &d.bindings[i]
		if int(b.size) == len(prefix) && bytes.Equal(d.data[b.prefix:b.prefix+uint32(b.size)], prefix) {
			return b.space, true
		}
	}
	if string(prefix) == "xml" {
		return xmlSpace, true
	}
	return noSpace, len(prefix) == 0
}

// nameElement gives an element and its attributes their expanded names.
func (d *Document) nameElement(at int32) error {
	n := &d.nodes[at]
	if n.local > 0 || len(d.bindings) > 0 {
		space, ok := d.resolve(d.prefix(n))
		if !ok {
			return d.fail(int(n.name), "the prefix %q of the element is not declared", d.prefix(n))
		}
		n.space = space
	}
	n.known = d.lexicon.find(d.localName(n), n.space)
	if n.attrs == 0 {
		return nil
	}
	for i := at + 1; i <= at+int32(n.attrs); i++ {
		a := &d.nodes[i]
		if a.local > 0 {
			space, ok := d.resolve(d.prefix(a))
			if !ok {
				return d.fail(int(a.name), "the prefix %q of the attribute is not declared", d.prefix(a))
			}
			a.space = space
		}
		a.known = d.lexicon.find(d.localName(a), a.space)
	}
	return d.checkAttributes(at)
}

// checkAttributes refuses two attributes of the same expanded name.
func (d *Document) checkAttributes(at int32) error {
	attrs := d.nodes[at+1 : at+1+int32(d.nodes[at].attrs)]
	if len(attrs) <= fewAttributes {
		for i := range attrs {
			for j := range attrs[:i] {
				if d.compareNames(&attrs[i], &attrs[j]) == 0 {
					return d.twice(&attrs[i])
				}
			}
		}
		return nil
	}
	order := d.work[0][:0]
	for i := range attrs {
		order = append(order, at+1+int32(i))
	}
	slices.SortFunc(order, func(a, b int32) int { return d.compareNames(&d.nodes[a], &d.nodes[b]) })
	d.work[0] = order
	for i := 1; i < len(order); i++ {
		if a, b := order[i-1], order[i]; d.compareNames(&d.nodes[a], &d.nodes[b]) == 0 {
			return d.twice(&d.nodes[max(a, b)])
		}
	}
	return nil
}

// twice is the error for an attribute that stands there already.
func (d *Document) twice(a *node) error {
	return d.fail(int(a.name), "the element has the attribute %q already", d.qname(a))
}

// compareNames orders nodes by their expanded names.
func (d *Document) compareNames(a, b *node) int {
	if c := cmp.Compare(a.space, b.space); c != 0 {
		return c
	}
	if c := cmp.Compare(a.size-a.local, b.size-b.local); c != 0 {
		return c
	}
	return bytes.Compare(d.localName(a), d.localName(b))
}
