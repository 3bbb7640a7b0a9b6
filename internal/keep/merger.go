package keep

import (
	"bytes"
	"encoding/json"
)

// merger copies a valid JSON text and adds unknown members to it.
type merger struct {
	scanner
	out []byte
}

// value copies a value with what is unknown of it, and returns what of that it has.
func (w *merger) value(n *node) *node {
	w.space()
	switch {
	case n.isEmpty() || w.at >= len(w.data):
	case w.data[w.at] == '{' && len(n.elements) == 0:
		if n.key == "" || w.isSame(n) {
			return w.object(n)
		}
	case w.data[w.at] == '[' && len(n.elements) > 0:
		return w.list(n)
	}
	w.out = append(w.out, w.skip()...)
	return nil
}

// isSame reports whether the object that comes next is the one that was read.
func (w *merger) isSame(n *node) bool {
	next := w.scanner
	same := identity(findMember(next.skip(), n.key))
	return same != "" && same == n.same
}

func (w *merger) object(n *node) *node {
	kept := &node{key: n.key, same: n.same}
	written := map[string]bool{}
	w.out = append(w.out, '{')
	w.at++
	for w.more('}') {
		if len(written) > 0 {
			w.out = append(w.out, ',')
		}
		w.space()
		begin := w.at
		name := text(w.name())
		written[name] = true
		w.out = append(w.out, w.data[begin:w.at]...)
		if below := w.value(n.known[name]); !below.isEmpty() {
			if kept.known == nil {
				kept.known = map[string]*node{}
			}
			kept.known[name] = below
		}
	}
	for _, m := range n.unknown {
		if written[m.name] {
			continue
		}
		if len(written) > 0 {
			w.out = append(w.out, ',')
		}
		written[m.name] = true
		quoted, _ := json.Marshal(m.name) // strings always have a form
		w.out = append(append(append(w.out, quoted...), ':'), m.text...)
		kept.unknown = append(kept.unknown, m)
	}
	w.out = append(w.out, '}')
	return kept
}

func (w *merger) list(n *node) *node {
	kept := &node{}
	left := map[string][]element{} // several are equal
	for _, e := range n.elements {
		left[e.text] = append(left[e.text], e)
	}
	key := n.elements[0].key // all elements of a list have the same
	w.out = append(w.out, '[')
	w.at++
	for index := 0; w.more(']'); index++ {
		if index > 0 {
			w.out = append(w.out, ',')
		}
		w.space()
		next := w.scanner
		text := next.skip()
		if key != "" {
			text = findMember(text, key)
		}
		same := identity(text)
		equal := left[same]
		if same == "" || len(equal) == 0 {
			w.out = append(w.out, w.skip()...)
			continue
		}
		e := equal[0]
		left[same] = equal[1:]
		if below := w.value(e.node); !below.isEmpty() {
			kept.elements = append(kept.elements, element{e.key, e.text, index, below})
		}
	}
	w.out = append(w.out, ']')
	return kept
}

// without returns the text of a value without what is unknown of it.
func without(value []byte, n *node) []byte {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var decoded any
	if decoder.Decode(&decoded) != nil {
		return nil
	}
	data, _ := json.Marshal(n.removeFrom(decoded)) // it was read from JSON
	return data
}

func (n *node) removeFrom(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for _, m := range n.unknown {
			delete(value, m.name)
		}
		for name, below := range n.known {
			if inner, ok := value[name]; ok {
				value[name] = below.removeFrom(inner)
			}
		}
	case []any:
		for _, e := range n.elements {
			value[e.index] = e.node.removeFrom(value[e.index])
		}
	}
	return value
}
