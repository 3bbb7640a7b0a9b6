package xmldoc

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"unsafe"

	"github.com/iotenablers/enablers/annotate/rml/internal/xpath"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// Document is one XML input. It is reused from input to input, by one
// goroutine at a time.
type Document struct {
	compiler *Compiler
	maxNodes int
	maxDepth int
	data     []byte
	nodes    []node
	top      int32            // the document element, 0 before it was read
	scratch  []byte           // texts that differ from what is written
	joins    []byte           // the last string-values of elements with several texts
	joined   map[int32][]byte // where all of those are
	kept     int              // their bytes, at most those of the input

	lexicon     lexicon
	spaces      []string         // namespaces by index: the compiler's, then those of the document
	ownSpaces   int              // number of namespaces of the compiler
	otherSpaces map[string]int32 // the others
	bindings    []binding        // the declarations in scope

	same                []kept     // the values that are the same at every record, by path
	work                [2][]int32 // node sets under evaluation
	doctype, transcoded bool       // whether a document type was read, and the input was not in UTF-8

	window   int     // the bytes of a part at first
	stream   *stream // nil for an input that is loaded as a whole
	unclosed int32   // the element that was open when the data ended
	unended  bool    // whether an error says that the data ended too early

	sameSize  int // the bytes of same
	evaluator xpath.Evaluator
	items     []xpath.Item // buffer of the evaluator's values
	texts     []byte       // what is left of a chunk for their texts

	room int // the bytes that the values of an expression may take, 0 for the default
}

// Load reads a whole input.
func (d *Document) Load(data []byte) error {
	d.stream = nil
	d.reset(len(data))
	if uint64(len(data)) > maxInput {
		return input.TooLarge("XML", len(data), maxInput)
	}
	var err error
	if d.doctype, d.transcoded = false, false; d.compiler.carml {
		data, err = d.transcode(data)
	}
	if d.data = data; err == nil {
		err = d.checkChars()
	}
	if err == nil {
		err = d.parse()
	}
	if err != nil {
		d.reset(len(data))
	}
	return err
}

// Bound implements [input.Bounded]. The values of an expression may take as much again.
func (d *Document) Bound(bytes int) {
	d.room = bytes
	d.maxNodes = input.Within(bytes, int(unsafe.Sizeof(node{})), limit(d.compiler.limits.MaxNodes))
}

// reset empties the document, and frees buffers that are far too large for an
// input of a size.
func (d *Document) reset(size int) {
	d.data = nil
	d.top = 0
	d.forgetSame()
	d.nodes = d.nodes[:0]
	d.scratch = d.scratch[:0]
	d.joins = d.joins[:0]
	d.bindings = d.bindings[:0]
	d.kept = 0
	if len(d.joined) > 0 {
		clear(d.joined)
	}
	d.forgetSpaces()
	room := max(keptNodes, 8*size)
	if cap(d.nodes) > room || cap(d.scratch) > room || cap(d.joins) > room || cap(d.work[0]) > room || cap(d.work[1]) > room {
		d.nodes = nil
		d.scratch = nil
		d.joins = nil
		d.joined = nil
		d.work = [2][]int32{}
	}
}

// Records appends the nodes that the iterator selects from the root.
func (d *Document) Records(dst []input.Node, iterator input.Path) ([]input.Node, error) {
	p, err := d.own(iterator)
	if err != nil {
		return dst, err
	}
	selected, err := d.selectNodes(p, 0)
	if err != nil {
		return dst, fmt.Errorf("iterate %q: %w", p.expr, err)
	}
	for _, at := range selected {
		dst = append(dst, input.Node(at))
	}
	return dst, nil
}

// Values appends the string-value of each node that the reference selects,
// or the strings, numbers and booleans that an expression yields, which stand
// at the record. An element without content has the
// empty text as its value.
//
// In the dialect of CARML an empty value does not count.
func (d *Document) Values(dst []input.Value, record input.Node, reference input.Path) ([]input.Value, error) {
	p, err := d.own(reference)
	if err != nil {
		return dst, err
	}
	if record < 0 || int(record) >= len(d.nodes) {
		return dst, fmt.Errorf("evaluate %q: the node %d does not exist", p.expr, record)
	}
	from := len(dst)
	if p.same {
		dst, err = d.sameValues(dst, p, record)
	} else {
		dst, err = d.values(dst, p, record, record)
	}
	if d.compiler.carml {
		dst = withoutEmpty(dst, from)
	}
	return dst, err
}

// values is Values with the values that are empty. An item that is not a node gets a place.
func (d *Document) values(dst []input.Value, p *path, record, place input.Node) ([]input.Value, error) {
	if p.name {
		return d.named(dst, int32(record), &p.steps[0]), nil
	}
	if p.full != nil {
		return d.fullValues(dst, p, record, place)
	}
	selected, err := d.selectNodes(p, int32(record))
	if err != nil {
		return dst, fmt.Errorf("evaluate %q: %w", p.expr, err)
	}
	for _, at := range selected {
		dst = append(dst, input.Value{Text: d.value(at), Kind: input.String, Node: input.Node(at)})
	}
	return dst, nil
}

// named appends the values of the children or attributes of a name, which is
// what most references are.
func (d *Document) named(dst []input.Value, at int32, s *step) []input.Value {
	n := &d.nodes[at]
	i, end := at+1, at+1+int32(n.attrs)
	if s.axis == childAxis {
		i, end = end, n.end
	}
	nodes := d.nodes[:end]
	for i < end {
		c := &nodes[i]
		if c.known == s.known {
			dst = append(dst, input.Value{Text: d.value(i), Kind: input.String, Node: input.Node(i)})
		}
		i = c.end
	}
	return dst
}

// own returns a copy of a path that this document can evaluate.
func (d *Document) own(p input.Path) (*path, error) {
	own, ok := p.(*path)
	switch {
	case !ok || own.owner != d.compiler:
		return nil, fmt.Errorf("evaluate %v: the expression was compiled for another source", p)
	case own.names > len(d.lexicon.names):
		return nil, fmt.Errorf("evaluate %q: the expression was compiled after the document was created", own.expr)
	case len(d.nodes) == 0:
		return nil, fmt.Errorf("evaluate %q: nothing is loaded", own.expr)
	}
	return own, nil
}

// Place describes a node by an XPath of names as written in the document,
// such as /students[1]/student[2]/@id.
func (d *Document) Place(n input.Node) string {
	if n < 0 || int(n) >= len(d.nodes) {
		return "outside of the document"
	}
	if n == 0 {
		return "/"
	}
	var steps []string
	for at := int32(n); at > 0; at = d.nodes[at].parent {
		steps = append(steps, d.placeStep(at))
	}
	slices.Reverse(steps)
	place := ""
	for _, s := range steps {
		place += "/" + s
	}
	return place
}

// placeStep describes a node below its parent.
func (d *Document) placeStep(at int32) string {
	n := &d.nodes[at]
	parent := &d.nodes[n.parent]
	step := ""
	switch n.kind {
	case attributeNode:
		return "@" + string(d.qname(n))
	case textNode:
		step = "text()"
	case commentNode:
		step = "comment()"
	default:
		step = string(d.qname(n))
	}
	position := 1
	if d.stream != nil && n.kind == elementNode {
		for _, l := range d.stream.levels {
			if l.node == n.parent {
				position += l.before[string(d.qname(n))]
			}
		}
	}
	for i := n.parent + 1 + int32(parent.attrs); i < at; i = d.nodes[i].end {
		if s := &d.nodes[i]; s.kind == n.kind && string(d.qname(s)) == string(d.qname(n)) {
			position++
		}
	}
	return step + "[" + strconv.Itoa(position) + "]"
}

// checkChars returns an error for data that is not UTF-8 or has characters that
// XML does not allow.
func (d *Document) checkChars() error {
	if hasAt(d.data, 0, "\xFE\xFF") || hasAt(d.data, 0, "\xFF\xFE") {
		return d.fail(0, "the encoding is UTF-16, but only UTF-8 is read")
	}
	at := illegal(d.data)
	if at < 0 {
		return nil
	}
	if b := d.data[at]; b < 0x20 {
		return d.fail(at, "the control character U+%04X is not allowed in XML", b)
	}
	return d.fail(at, "the byte 0x%02X begins no character of XML in UTF-8", d.data[at])
}

// line returns the line of an offset.
func (d *Document) line(offset int) int {
	return d.position(offset).Line
}

// position returns the place of an offset in the input.
func (d *Document) position(offset int) input.Position {
	at, head := input.Position{Line: 1, Column: 1}, 0
	if s := d.stream; s != nil {
		end := 0
		for _, l := range s.levels {
			if end += len(l.tag); offset < end {
				return input.Position{Line: l.line, Column: 1, Offset: s.at.Offset}
			}
		}
		at, head = s.at, s.head
	}
	at.Advance(d.data[head:max(head, min(offset, len(d.data)))])
	return at
}

// failEnd is fail for data that ended too early.
func (d *Document) failEnd(offset int, format string, args ...any) error {
	d.unended = true
	return d.fail(offset, format, args...)
}

// fail returns the error for an offset of the data.
func (d *Document) fail(offset int, format string, args ...any) *input.SyntaxError {
	at := d.position(offset)
	return &input.SyntaxError{
		Format: "XML",
		Line:   at.Line,
		Column: at.Column,
		Offset: at.Offset,
		Reason: fmt.Sprintf(format, args...),
	}
}

// exceed is fail for an input that exceeds a limit.
func (d *Document) exceed(offset int, format string, args ...any) *input.SyntaxError {
	err := d.fail(offset, format, args...)
	err.Limit = true
	return err
}

// limit turns a limit, 0 for none, into one to check against.
func limit(limit int) int {
	if limit <= 0 {
		return math.MaxInt32 - 1
	}
	return min(limit, math.MaxInt32-1)
}
