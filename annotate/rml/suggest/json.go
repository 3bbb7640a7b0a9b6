package suggest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// node is a value of JSON whose members are in the order of the text.
type node struct {
	members []member // of an object
	items   []node   // of an array
	kind    kind     // of any other value
	is      byte     // '{', '[' or 0
}

type member struct {
	name  string
	value node
}

// readJSON returns a table for the records of the message: those of its outermost array, or
// the message itself; and one for each array of objects within.
func readJSON(sample []byte) ([]table, error) {
	decoder := json.NewDecoder(bytes.NewReader(sample))
	decoder.UseNumber()
	root, err := readNode(decoder, 0)
	if err != nil {
		return nil, placed(err, decoder.InputOffset())
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("byte %d: there is more after the value; a sample is one message", decoder.InputOffset())
	}
	r := &jsonReader{}
	if root.is == '[' {
		r.array(root, "message", "$[*]", 0)
	} else {
		r.tables = []table{{name: "message", iterator: "$"}}
		if root.is == '{' {
			r.object(0, root, "", "", 0)
		}
	}
	return r.tables, nil
}

func placed(err error, offset int64) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("byte %d: %w", offset, err)
}

func readNode(decoder *json.Decoder, depth int) (node, error) {
	token, err := decoder.Token()
	if err != nil {
		return node{}, err
	}
	if depth > maxDepth {
		return node{}, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	switch value := token.(type) {
	case json.Delim:
		n := node{is: byte(value)}
		for decoder.More() {
			var m member
			if n.is == '{' {
				name, err := decoder.Token()
				if err != nil {
					return node{}, err
				}
				m.name = name.(string) // the decoder has checked
			}
			if m.value, err = readNode(decoder, depth+1); err != nil {
				return node{}, err
			}
			if n.is == '{' {
				n.members = append(n.members, m)
			} else {
				n.items = append(n.items, m.value)
			}
		}
		_, err := decoder.Token() // the end
		return n, err
	case json.Number:
		return node{kind: classifyNumber(value.String())}, nil
	case string:
		return node{kind: classify(value, true)}, nil
	case bool:
		return node{kind: boolean}, nil
	}
	return node{}, nil // null
}

type jsonReader struct{ tables []table }

// array adds the table of the objects of an array, or adds to it where the place has one.
func (r *jsonReader) array(array node, name, iterator string, depth int) {
	at := slices.IndexFunc(r.tables, func(t table) bool { return t.iterator == iterator })
	if at < 0 {
		at = len(r.tables)
		r.tables = append(r.tables, table{name: singular(name), iterator: iterator})
	}
	for _, item := range array.items {
		if item.is == '{' {
			r.object(at, item, "", "", depth)
		}
	}
}

// object adds the members of an object to a table; those of objects within too, with both
// names. The path leads from the record to the object, in steps of JSONPath.
func (r *jsonReader) object(at int, object node, name, path string, depth int) {
	for _, m := range object.members {
		name, path := joined(name, m.name), path+step(m.name)
		switch m.value.is {
		case '{':
			r.tables[at].exclude(reference(path))
			r.object(at, m.value, name, path, depth)
		case '[':
			r.tables[at].exclude(reference(path))
			r.list(at, m.value, name, path+"[*]", depth)
		default:
			r.tables[at].add(name, reference(path), m.value.kind)
		}
	}
}

// list adds an array within a record: as a column of several values, or as a table if there
// are objects in it.
func (r *jsonReader) list(at int, array node, name, path string, depth int) {
	for _, item := range array.items {
		switch {
		case item.is != 0:
			r.tables[at].exclude(reference(path))
		case item.kind != unknown:
			r.tables[at].add(name, reference(path), item.kind)
		}
	}
	if slices.ContainsFunc(array.items, func(n node) bool { return n.is == '{' }) && len(r.tables) < maxTables {
		r.array(array, name, r.tables[at].iterator+path, depth+1)
	}
}

var plainNames = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// step returns the step of JSONPath (RFC 9535) to a member.
func step(name string) string {
	if plainNames.MatchString(name) {
		return "." + name
	}
	return "['" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(name) + "']"
}

// reference returns a path within a record as mappings have it: without the "$." that is
// meant anyway.
func reference(path string) string {
	if strings.HasPrefix(path, "[") {
		return "$" + path
	}
	return path[1:]
}

func joined(name, more string) string {
	if name == "" {
		return more
	}
	return name + " " + more
}
