package suggest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// element is an element of XML.
type element struct {
	name       xml.Name
	attributes []xml.Attr
	children   []*element
	text       string
}

// readXML returns a table for the records of the document: the elements that come several
// times below one other, or else the root; and one for each such kind within them.
func readXML(sample []byte) ([]table, error) {
	decoder := xml.NewDecoder(bytes.NewReader(sample))
	var open []*element
	var root *element
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name, attributes: token.Attr}
			if len(open) > maxDepth {
				line, _ := decoder.InputPos()
				return nil, fmt.Errorf("line %d: it is nested more than %d deep", line, maxDepth)
			}
			if len(open) > 0 {
				parent := open[len(open)-1]
				parent.children = append(parent.children, e)
			} else {
				root = e
			}
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += string(token)
			}
		}
	}
	if root == nil {
		return nil, ErrEmpty
	}
	r := &xmlReader{}
	r.record([]*element{root}, root.name.Local, "/"+r.qualified(root.name))
	for i := range r.tables {
		r.tables[i].namespaces = r.namespaces
	}
	return r.tables, nil
}

type xmlReader struct {
	tables     []table
	namespaces [][2]string
}

// qualified returns a name with a prefix that the mapping declares.
func (r *xmlReader) qualified(name xml.Name) string {
	if name.Space == "" {
		return name.Local
	}
	for _, known := range r.namespaces {
		if known[1] == name.Space {
			return known[0] + ":" + name.Local
		}
	}
	prefix := fmt.Sprintf("n%d", len(r.namespaces)+1)
	if name.Space == "http://www.w3.org/XML/1998/namespace" || name.Space == "xml" {
		return "xml:" + name.Local
	}
	r.namespaces = append(r.namespaces, [2]string{prefix, name.Space})
	return prefix + ":" + name.Local
}

// record adds the table of elements that have the same place, and those of the records
// within.
func (r *xmlReader) record(records []*element, name, iterator string) {
	if len(r.tables) >= maxTables {
		return
	}
	at := len(r.tables)
	r.tables = append(r.tables, table{name: name, iterator: iterator})
	inner := map[string][]*element{}
	var order []string
	for _, one := range records {
		r.element(at, one, "", "", func(path string, found []*element) {
			if inner[path] == nil {
				order = append(order, path)
			}
			inner[path] = append(inner[path], found...)
		})
	}
	for _, path := range order {
		r.record(inner[path], inner[path][0].name.Local, iterator+"/"+path)
	}
}

// element adds the values below an element to a table. Elements with children that come
// several times are records of their own.
func (r *xmlReader) element(at int, e *element, name, path string, within func(path string, found []*element)) {
	for _, attribute := range e.attributes {
		if attribute.Name.Space == "xmlns" || (attribute.Name.Space == "" && attribute.Name.Local == "xmlns") {
			continue
		}
		r.tables[at].add(joined(name, attribute.Name.Local), below(path, "@"+r.qualified(attribute.Name)), classify(attribute.Value, false))
	}
	if strings.TrimSpace(e.text) != "" && len(e.children) == 0 {
		reference, label := path, name
		if reference == "" {
			reference, label = ".", "value"
		}
		r.tables[at].add(label, reference, classify(e.text, false))
	}
	var seen []xml.Name
	for _, child := range e.children {
		if slices.Contains(seen, child.name) {
			continue
		}
		seen = append(seen, child.name)
		var same []*element
		for _, other := range e.children {
			if other.name == child.name {
				same = append(same, other)
			}
		}
		here := below(path, r.qualified(child.name))
		if len(same) > 1 && slices.ContainsFunc(same, func(e *element) bool { return len(e.children) > 0 || len(e.attributes) > 0 }) {
			within(here, same)
			continue
		}
		for _, one := range same {
			r.element(at, one, joined(name, child.name.Local), here, within)
		}
	}
}

func below(path, step string) string {
	if path == "" {
		return step
	}
	return path + "/" + step
}
