package keep

import (
	"bytes"
	"encoding/json"
	"slices"
)

// scanner reads a valid JSON text once. Of a text that is not valid it reads something,
// sets failed, and ends.
type scanner struct {
	data   []byte
	at     int
	failed bool
}

// value reads a value of a shape and returns what is unknown of it, nil if nothing is.
func (s *scanner) value(of *shape) *node {
	s.space()
	switch {
	case of == nil || s.at >= len(s.data):
		s.skip()
	case s.data[s.at] == '{' && of.fields != nil:
		return s.object(of)
	case s.data[s.at] == '{' && of.elem != nil && !of.list:
		return s.object(of)
	case s.data[s.at] == '[' && of.list:
		return s.elements(of)
	default:
		s.skip()
	}
	return nil
}

// object reads an object: that of a struct or of a map.
func (s *scanner) object(of *shape) *node {
	var found *node
	note := func() *node {
		if found == nil {
			found = &node{}
		}
		return found
	}
	begin := s.at
	s.at++
	for s.more('}') {
		quoted := s.name()
		var inner *shape
		name, isText := "", false
		if of.fields == nil {
			inner = of.elem
		} else {
			// The lookup by a slice of the text allocates nothing.
			known, ok := of.fields[string(quoted[1:len(quoted)-1])]
			if !ok {
				name, isText = text(quoted), true
				known, ok = of.field(name)
			}
			if !ok {
				value := slices.Clone(s.skip())
				n := note()
				n.unknown = slices.DeleteFunc(n.unknown, func(m member) bool { return m.name == name })
				n.unknown = append(n.unknown, member{name, value})
				continue
			}
			inner, name, isText = known.shape, known.name, true
		}
		if below := s.value(inner); below != nil {
			if !isText {
				name = text(quoted)
			}
			n := note()
			if n.known == nil {
				n.known = map[string]*node{}
			}
			n.known[name] = below
		}
	}
	if found != nil && of.key != "" {
		found.key, found.same = of.key, identity(findMember(s.data[begin:s.at], of.key))
	}
	return found
}

// elements reads a list.
func (s *scanner) elements(of *shape) *node {
	var found []element
	s.at++
	for index := 0; s.more(']'); index++ {
		s.space()
		begin := s.at
		below := s.value(of.elem)
		if below == nil {
			continue
		}
		text := s.data[begin:s.at]
		e := element{key: of.elem.key, index: index, node: below}
		if e.key != "" {
			e.text = below.same
		} else {
			e.text = identity(without(text, below))
		}
		found = append(found, e)
	}
	if found == nil {
		return nil
	}
	return &node{elements: found}
}

// more reports whether the object or list goes on, and reads what is between two of its
// parts.
func (s *scanner) more(end byte) bool {
	s.space()
	if s.at < len(s.data) && s.data[s.at] == ',' {
		s.at++
		s.space()
	}
	if s.at >= len(s.data) {
		s.failed = true
		return false
	}
	if s.data[s.at] == end {
		s.at++
		return false
	}
	return true
}

// name reads the name of a member, in its quotation marks, and the colon behind it.
func (s *scanner) name() []byte {
	quoted := s.skip()
	s.space()
	if len(quoted) < 2 || quoted[0] != '"' || s.at >= len(s.data) || s.data[s.at] != ':' {
		s.failed = true
		s.at = len(s.data)
		return []byte(`""`)
	}
	s.at++
	return quoted
}

// text returns the text of a JSON string.
func text(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var name string
	_ = json.Unmarshal(quoted, &name) // it is valid
	return name
}

func (s *scanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// skip reads one value and returns its text.
func (s *scanner) skip() []byte {
	s.space()
	begin := s.at
	depth := 0
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case '"':
			s.skipString()
		case '{', '[':
			depth++
			s.at++
			continue
		case '}', ']':
			depth--
			s.at++
		case ' ', '\t', '\n', '\r', ',', ':':
			s.at++
			continue
		default:
			s.skipWord()
		}
		if depth <= 0 {
			break
		}
	}
	if s.at == begin || depth != 0 { // it always goes on
		s.failed = true
		s.at = len(s.data)
	}
	return s.data[begin:s.at]
}

func (s *scanner) skipString() {
	for s.at++; s.at < len(s.data); s.at++ {
		next := bytes.IndexByte(s.data[s.at:], '"')
		if next < 0 {
			break
		}
		s.at += next
		backslashes := 0
		for s.data[s.at-1-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			s.at++
			return
		}
	}
	s.failed = true
	s.at = len(s.data)
}

// skipWord reads a number, true, false or null.
func (s *scanner) skipWord() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\n', '\r', ',', ':', ']', '}', '[', '{', '"':
			return
		}
		s.at++
	}
}

// findMember returns the text of a member of an object, empty if it has none.
func findMember(object []byte, name string) (found []byte) {
	s := &scanner{data: object}
	s.space()
	if s.at >= len(object) || object[s.at] != '{' {
		return nil
	}
	for s.at++; s.more('}'); {
		if text(s.name()) == name {
			found = s.skip()
		} else {
			s.skip()
		}
	}
	return found
}

// identity returns a text that is the same for the same JSON value: without spaces, with
// the members of objects in order.
func identity(value []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var decoded any
	if decoder.Decode(&decoded) != nil {
		return ""
	}
	normal, err := json.Marshal(decoded)
	if err != nil {
		return ""
	}
	return string(normal)
}
