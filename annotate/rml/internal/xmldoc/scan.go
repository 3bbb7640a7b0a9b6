package xmldoc

import (
	"bytes"
	"math"
)

// parse reads the whole input into nodes.
func (d *Document) parse() error {
	d.nodes = append(d.nodes, node{parent: -1})
	i, err := d.readDeclaration()
	if err != nil {
		return err
	}
	data := d.data
	open, depth := int32(0), 0 // the element that is open, and how deep it is
	for i < len(data) && err == nil {
		if data[i] != '<' {
			if open == 0 {
				i, err = d.readBlank(i)
			} else {
				i, err = d.readText(i, open)
			}
			continue
		}
		after := byte(0)
		if i+1 < len(data) {
			after = data[i+1]
		}
		switch after {
		case '/':
			if open == 0 {
				return d.fail(i, "an end tag without a start tag")
			}
			if i, err = d.readEndTag(i, open); err == nil {
				open, depth = d.close(open), depth-1
				d.nodes[open].complete(i, len(d.nodes))
			}
		case '!':
			i, err = d.readDeclared(i, open)
		case '?':
			i, err = d.readInstruction(i)
		default:
			if open == 0 && d.top > 0 {
				return d.fail(i, "expected one element at the top, and %q precedes it", d.qname(&d.nodes[d.top]))
			}
			if depth++; depth > d.maxDepth {
				return d.exceed(i, "the elements are nested deeper than %d", d.maxDepth)
			}
			element := int32(len(d.nodes))
			closed := false
			if i, closed, err = d.readStartTag(i, open); err == nil {
				if open = element; closed {
					open, depth = d.close(open), depth-1
					d.nodes[open].complete(i, len(d.nodes))
				} else {
					d.nodes[open].complete(i, len(d.nodes))
				}
			}
		}
	}
	d.unclosed = open
	if err != nil {
		return err
	}
	if open != 0 {
		n := &d.nodes[open]
		return d.failEnd(len(d.data), "the input ended within the element %q that began on line %d", d.qname(n),
			d.line(int(n.name)))
	}
	if d.top == 0 {
		return d.failEnd(len(d.data), "the input ended before its element")
	}
	d.nodes[0].end = int32(len(d.nodes))
	return nil
}

// hasAt reports whether text is at i.
func hasAt(data []byte, i int, text string) bool {
	return len(data)-i >= len(text) && string(data[i:i+len(text)]) == text
}

// add appends a node that was read at an offset, below a parent, with a text.
// It returns the node, valid until the next add.
func (d *Document) add(kind uint8, parent int32, at int, start, length uint32) (*node, error) {
	i := len(d.nodes)
	if i > d.maxNodes {
		return nil, d.exceed(at, "the input has more than %d nodes", d.maxNodes)
	}
	if i == cap(d.nodes) {
		d.growNodes(at)
	}
	d.nodes = d.nodes[:i+1]
	n := &d.nodes[i]
	*n = node{parent: parent, end: int32(i) + 1, kind: kind, start: start, length: length}
	return n, nil
}

// growNodes reserves room for the nodes that begin from an offset on: for twice as many as
// there are, or for all that the rest can hold if that is less.
func (d *Document) growNodes(at int) {
	room := max(64, len(d.nodes))
	if len(d.nodes) >= keptNodes {
		rest := d.data[at:]
		room = min(room, 1+2*bytes.Count(rest, []byte{'<'})+bytes.Count(rest, []byte{'='}))
	}
	larger := make([]node, len(d.nodes), len(d.nodes)+room)
	copy(larger, d.nodes)
	d.nodes = larger
}

// close ends an element and returns its parent.
func (d *Document) close(element int32) int32 {
	n := &d.nodes[element]
	n.end = int32(len(d.nodes))
	i := len(d.bindings)
	for i > 0 && d.bindings[i-1].element == element {
		i--
	}
	d.bindings = d.bindings[:i]
	return n.parent
}

// complete notes in an element where the last of its content ends that is complete:
// the offset, and the node after it. Elements have no text of their own.
func (n *node) complete(offset, nodes int) {
	n.start = uint32(offset)
	n.length = uint32(nodes)
}

// skipSpace returns the offset after the white space at i.
func (d *Document) skipSpace(i int) int {
	for i < len(d.data) && class[d.data[i]]&space != 0 {
		i++
	}
	return i
}

// readBlank skips the white space outside of the document element.
func (d *Document) readBlank(i int) (int, error) {
	if i = d.skipSpace(i); i < len(d.data) && d.data[i] != '<' {
		where := "before the element, expected <"
		if d.top > 0 {
			where = "after the element, expected the end"
		}
		return 0, d.fail(i, "text %s", where)
	}
	return i, nil
}

// readDeclaration reads a byte order mark and the XML declaration, if any.
func (d *Document) readDeclaration() (int, error) {
	i := 0
	if hasAt(d.data, 0, "\xEF\xBB\xBF") {
		i = 3
	}
	if !hasAt(d.data, i, "<?xml") || (i+5 < len(d.data) && class[d.data[i+5]]&inName != 0) {
		return i, nil
	}
	end := bytes.Index(d.data[i:], []byte("?>"))
	if end < 0 {
		return 0, d.failEnd(i, "the XML declaration does not end with ?>")
	}
	end += i
	// Each pseudo attribute may be left out but the first; their order is fixed.
	at := i + 5
	for _, want := range []string{"version", "encoding", "standalone"} {
		next := d.skipSpace(at)
		if !hasAt(d.data[:end], next, want) {
			if want == "version" {
				return 0, d.fail(next, "the XML declaration must begin with version")
			}
			continue
		}
		if next == at {
			return 0, d.fail(at, "expected white space before %s", want)
		}
		from, to, err := d.readPseudo(next+len(want), end)
		if err != nil {
			return 0, err
		}
		if err := d.checkDeclared(want, d.data[from:to], from); err != nil {
			return 0, err
		}
		at = to + 1
	}
	if at = d.skipSpace(at); at != end {
		return 0, d.fail(at, "expected ?>, or version, encoding and standalone in this order, in the XML declaration")
	}
	return end + 2, nil
}

// readPseudo returns where the value of a pseudo attribute stands whose name
// ends at i.
func (d *Document) readPseudo(i, end int) (from, to int, err error) {
	if i = d.skipSpace(i); d.data[i] != '=' {
		return 0, 0, d.fail(i, "expected = in the XML declaration")
	}
	i = d.skipSpace(i + 1)
	quote := d.data[i]
	if quote != '"' && quote != '\'' {
		return 0, 0, d.fail(i, "expected a quote in the XML declaration")
	}
	n := bytes.IndexByte(d.data[i+1:end], quote)
	if n < 0 {
		return 0, 0, d.failEnd(i, "the quote that begins here is never closed")
	}
	return i + 1, i + 1 + n, nil
}

// checkDeclared checks the value of a pseudo attribute.
func (d *Document) checkDeclared(name string, value []byte, at int) error {
	switch name {
	case "version":
		digits, ok := bytes.CutPrefix(value, []byte("1."))
		if !ok || len(digits) == 0 || len(bytes.TrimLeft(digits, "0123456789")) > 0 {
			return d.fail(at, "the XML version is %q, expected 1.0", value)
		}
	case "encoding":
		switch {
		case d.transcoded || bytes.EqualFold(value, []byte("UTF-8")):
		case d.compiler.carml:
			return d.fail(at, "the encoding is %q, expected one of %s, as the bytes are", value, readable())
		default:
			return d.fail(at, "the encoding is %q, but only UTF-8 is read", value)
		}
	case "standalone":
		if string(value) != "yes" && string(value) != "no" {
			return d.fail(at, "standalone is %q, expected yes or no", value)
		}
	}
	return nil
}

// readDeclared reads what begins with <! at i.
func (d *Document) readDeclared(i int, open int32) (int, error) {
	switch {
	case hasAt(d.data, i, "<!--"):
		return d.readComment(i, open)
	case hasAt(d.data, i, "<!DOCTYPE") && d.compiler.carml:
		return d.readDoctype(i, open)
	case hasAt(d.data, i, "<!DOCTYPE"):
		return 0, d.fail(i, "a document type declaration is not allowed; nothing is read that it could declare")
	case open != 0 && hasAt(d.data, i, "<![CDATA["):
		return d.readText(i, open)
	}
	if open == 0 {
		return 0, d.fail(i, "expected a comment after <!")
	}
	return 0, d.fail(i, "expected a comment or a CDATA section after <!")
}

// readComment reads the comment at i. Those outside of the document element
// are nodes too, below the root.
func (d *Document) readComment(i int, parent int32) (int, error) {
	n := bytes.Index(d.data[i+4:], []byte("--"))
	if n < 0 {
		return 0, d.failEnd(i, "the comment that begins here is never closed")
	}
	end := i + 4 + n
	if !hasAt(d.data, end, "-->") {
		return 0, d.fail(end, "-- within a comment")
	}
	start, length, err := d.plainText(i+4, end)
	if err != nil {
		return 0, err
	}
	_, err = d.add(commentNode, parent, i, start, length)
	return end + 3, err
}

// readInstruction skips the processing instruction at i.
func (d *Document) readInstruction(i int) (int, error) {
	end, colon, err := d.readName(i + 2)
	if err != nil {
		return 0, err
	}
	switch {
	case colon >= 0:
		return 0, d.fail(colon, "a colon in the target of a processing instruction")
	case bytes.EqualFold(d.data[i+2:end], []byte("xml")):
		return 0, d.fail(i, "an XML declaration is allowed only at the very beginning")
	}
	n := bytes.Index(d.data[end:], []byte("?>"))
	switch {
	case n < 0:
		return 0, d.failEnd(i, "the processing instruction that begins here is never closed")
	case n > 0 && class[d.data[end]]&space == 0:
		return 0, d.fail(end, "expected white space or ?> after the target of the processing instruction")
	}
	return end + n + 2, nil
}

// readName returns where the name at i ends and where its colon is, -1 for
// none.
func (d *Document) readName(i int) (end, colon int, err error) {
	if i >= len(d.data) || class[d.data[i]]&startName == 0 {
		return 0, 0, d.fail(i, "expected a name")
	}
	colon, end = -1, i
	for end < len(d.data) && class[d.data[end]]&plainName != 0 {
		end++
	}
	if end == len(d.data) || class[d.data[end]]&inName == 0 {
		if end-i > maxName {
			return 0, 0, d.fail(i, "a name longer than %d bytes", maxName)
		}
		return end, colon, nil
	}
	var bits byte
	for ; end < len(d.data) && class[d.data[end]]&inName != 0; end++ {
		b := d.data[end]
		bits |= b
		if b == ':' {
			if colon >= 0 {
				return 0, 0, d.fail(end, "a second colon in a name")
			}
			colon = end
		}
	}
	switch {
	case end-i > maxName:
		return 0, 0, d.fail(i, "a name longer than %d bytes", maxName)
	case colon >= 0 && (colon == i || !isName(d.data[colon+1:end])), bits >= 0x80 && !isName(d.data[i:end]):
		return 0, 0, d.fail(i, "%q is not a name", d.data[i:end])
	}
	return end, colon, nil
}

// readStartTag reads the tag at i, with its attributes, and reports whether
// it closes its element as well.
func (d *Document) readStartTag(i int, parent int32) (next int, closed bool, err error) {
	element := int32(len(d.nodes))
	end, colon, err := d.readName(i + 1)
	if err != nil {
		return 0, false, err
	}
	n, err := d.add(elementNode, parent, i, 0, 0)
	if err != nil {
		return 0, false, err
	}
	n.setName(i+1, end, colon)
	if parent == 0 {
		d.top = element
	}
	if end < len(d.data) && d.data[end] == '>' {
		return end + 1, false, d.nameElement(element)
	}
	for i = end; ; {
		at := d.skipSpace(i)
		if at == len(d.data) {
			return 0, false, d.failEnd(at, "the input ended within a start tag")
		}
		switch b := d.data[at]; {
		case b == '>':
			return at + 1, false, d.nameElement(element)
		case b == '/':
			if !hasAt(d.data, at, "/>") {
				return 0, false, d.fail(at, "expected > after / in a start tag")
			}
			return at + 2, true, d.nameElement(element)
		case at == i:
			return 0, false, d.fail(at, "expected white space, > or /> in a start tag")
		}
		if i, err = d.readAttribute(at, element); err != nil {
			return 0, false, err
		}
	}
}

// setName sets where the name of a node stands.
func (n *node) setName(start, end, colon int) {
	n.name = uint32(start)
	n.size = uint16(end - start)
	if colon >= 0 {
		n.local = uint16(colon + 1 - start)
	}
}

// readAttribute reads the attribute at i, a node or a namespace declaration.
func (d *Document) readAttribute(i int, element int32) (int, error) {
	end, colon, err := d.readName(i)
	if err != nil {
		return 0, err
	}
	at := end
	if at == len(d.data) || d.data[at] != '=' {
		at = d.skipSpace(end)
	}
	if at == len(d.data) || d.data[at] != '=' {
		return 0, d.fail(at, "expected = after the name of the attribute %q", d.data[i:end])
	}
	if at++; at < len(d.data) && class[d.data[at]]&space != 0 {
		at = d.skipSpace(at)
	}
	if at == len(d.data) || (d.data[at] != '"' && d.data[at] != '\'') {
		return 0, d.fail(at, "expected a quote around the value of the attribute %q", d.data[i:end])
	}
	start, length, next, err := d.attributeText(at)
	if err != nil {
		return 0, err
	}
	switch {
	case colon < 0 && string(d.data[i:end]) == "xmlns":
		return next, d.bind(element, end, 0, d.text(start, length))
	case colon >= 0 && string(d.data[i:colon]) == "xmlns":
		return next, d.bind(element, colon+1, end-colon-1, d.text(start, length))
	}
	a, err := d.add(attributeNode, element, i, start, length)
	if err != nil {
		return 0, err
	}
	a.setName(i, end, colon)
	if e := &d.nodes[element]; e.attrs == math.MaxUint16 {
		return 0, d.exceed(i, "the element has more than %d attributes", math.MaxUint16)
	} else {
		e.attrs++
	}
	return next, nil
}

// readEndTag reads the tag at i, which must close the open element.
func (d *Document) readEndTag(i int, open int32) (int, error) {
	n := &d.nodes[open]
	end := i + 2 + int(n.size)
	same := end <= len(d.data) && string(d.data[i+2:end]) == string(d.qname(n))
	if same && end < len(d.data) && d.data[end] == '>' {
		return end + 1, nil
	}
	if !same || (end < len(d.data) && class[d.data[end]]&inName != 0) {
		return 0, d.fail(i, "expected the end tag of %q, which began on line %d", d.qname(n), d.line(int(n.name)))
	}
	if end = d.skipSpace(end); end == len(d.data) || d.data[end] != '>' {
		return 0, d.fail(end, "expected > in the end tag")
	}
	return end + 1, nil
}
