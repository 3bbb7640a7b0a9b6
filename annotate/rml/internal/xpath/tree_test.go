package xpath_test

import (
	"bytes"
	"encoding/xml"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/xpath"
)

// document is a tree built with encoding/xml.
type document struct {
	nodes []xpath.Node
	names []xpath.Name
	texts []string
}

func (d *document) Len() int32              { return int32(len(d.nodes)) }
func (d *document) Node(n int32) xpath.Node { return d.nodes[n] }
func (d *document) Name(n int32) xpath.Name { return d.names[n] }

func (d *document) Named(dst []int32, from, to, known int32) ([]int32, int) {
	siblings := 0
	for i := from; i < to; i = d.nodes[i].End {
		if siblings++; d.nodes[i].Known == known {
			dst = append(dst, i)
		}
	}
	return dst, siblings
}

func (d *document) Value(n int32) []byte {
	if d.nodes[n].Kind > xpath.Element {
		return []byte(d.texts[n])
	}
	var value []byte
	for i := n; i < d.nodes[n].End; i++ {
		if d.nodes[i].Kind == xpath.Text {
			value = append(value, d.texts[i]...)
		}
	}
	return value
}

func (d *document) add(kind xpath.Kind, parent int32, name xpath.Name, text string) int32 {
	n := int32(len(d.nodes))
	d.nodes = append(d.nodes, xpath.Node{Kind: kind, Parent: parent, End: n + 1})
	d.names = append(d.names, name)
	d.texts = append(d.texts, text)
	return n
}

// readTree reads a document whose only prefixes are xml and p, which stands for http://p/.
func readTree(t testing.TB, data []byte) *document {
	t.Helper()
	d := &document{}
	open := []int32{d.add(xpath.Root, -1, xpath.Name{}, "")}
	name := func(n xml.Name) xpath.Name {
		out := xpath.Name{Local: []byte(n.Local), Space: n.Space}
		switch n.Space {
		case "http://p/":
			out.Prefix = []byte("p")
		case "http://www.w3.org/XML/1998/namespace":
			out.Prefix = []byte("xml")
		}
		return out
	}
	r := xml.NewDecoder(bytes.NewReader(bytes.TrimSpace(data)))
	for len(open) > 0 {
		token, err := r.Token()
		if len(open) == 1 && token == nil {
			break
		}
		require.NoError(t, err)
		parent := open[len(open)-1]
		switch token := token.(type) {
		case xml.StartElement:
			n := d.add(xpath.Element, parent, name(token.Name), "")
			open = append(open, n)
			for _, a := range token.Attr {
				if a.Name.Space == "xmlns" {
					continue
				}
				d.add(xpath.Attribute, n, name(a.Name), a.Value)
				d.nodes[n].Attributes++
			}
		case xml.EndElement:
			d.nodes[parent].End = int32(len(d.nodes))
			open = open[:len(open)-1]
		case xml.CharData:
			d.add(xpath.Text, parent, xpath.Name{}, string(token))
		case xml.Comment:
			d.add(xpath.Comment, parent, xpath.Name{}, string(token))
		}
	}
	d.nodes[0].End = int32(len(d.nodes))
	return d
}
