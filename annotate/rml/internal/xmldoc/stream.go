package xmldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

const (
	// windowSize is how much of an input is read at a time at first, and maxWindow
	// how much if the records are large. A window grows beyond for a larger record.
	windowSize = 128 << 10
	maxWindow  = 1 << 20
	// maxWay is the largest number of steps of an iterator that is streamed.
	maxWay = 60
)

// stream reads an input in parts. The start tags of the elements around a part are
// written before it, so that a part is a document but for its end.
type stream struct {
	r         io.Reader
	iterators []*path
	buf       []byte // the head, then the window
	head      int
	from      int      // what was read up to here is done
	levels    []*level // of the head, the root first
	next      []*level // of the next head

	at      input.Position // of the window in the input
	limit   int
	started bool // whether a part was read
	last    bool // whether the input has ended
	closed  bool // whether the document element has ended
	done    bool
}

// level is an element, or the root, that is read in parts.
type level struct {
	node   int32
	tag    []byte // its start tag
	line   int    // on which it began
	before map[string]int
}

// Streams returns why the records of the iterators cannot be found in an input that
// is read in parts, and "" if they can.
func (c *Compiler) Streams(iterators []input.Path, _ []bool) string {
	for _, iterator := range iterators {
		p, ok := iterator.(*path)
		switch {
		case !ok:
			return "its iterators are of another engine"
		case len(p.steps) == 0 && p.absolute && p.full == nil:
			return "the iterator " + p.expr + " selects the whole document"
		case !p.goesDown():
			return "the iterator " + p.expr + " is more than names of elements"
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outside != "" {
		return "the reference " + c.outside + " may look outside of its record"
	}
	return ""
}

// goesDown reports whether a path has only names of elements, or *, from the root.
func (p *path) goesDown() bool {
	return p.full == nil && len(p.steps) > 0 && len(p.steps) <= maxWay && !slices.ContainsFunc(p.steps, func(s step) bool {
		return s.axis != childAxis || s.test > starTest || s.position > 0
	})
}

// goInside reports whether the steps lead from the context node to what is inside of it.
func (p *plain) goInside() bool {
	return len(p.list) > 0 && !p.absolute && !slices.ContainsFunc(p.list, func(s step) bool { return s.axis == parentAxis })
}

// Open begins an input that is read in parts, for iterators that [Compiler.Streams]
// allows. No part is loaded yet. An element that cannot be divided may have limit
// bytes. An input that is not in UTF-8 or has a document type declaration is one part.
func (d *Document) Open(r io.Reader, iterators []input.Path, _ []bool, limit int) {
	if d.window == 0 {
		d.window = windowSize
	}
	s := &stream{r: r, limit: limit, at: input.Position{Line: 1, Column: 1}}
	for _, iterator := range iterators {
		s.iterators = append(s.iterators, iterator.(*path))
	}
	if d.stream != nil && cap(d.stream.buf) >= d.window && cap(d.stream.buf) <= maxWindow {
		s.buf = d.stream.buf[:0]
	} else {
		s.buf = make([]byte, 0, d.window)
	}
	s.levels = []*level{{before: map[string]int{}}}
	s.next = s.levels
	d.reset(0)
	d.stream = s
}

// Next loads the next part of the input that was opened. It reports false at its end.
// A part has the elements that it shares with parts before, so that the iterators and
// [Document.Place] apply to it unchanged. The errors are those of [Document.Load].
func (d *Document) Next() (bool, error) {
	s := d.stream
	if s == nil || s.done {
		return false, nil
	}
	s.advance(d)
	for {
		if err := s.fill(); err != nil {
			return false, err
		}
		if !s.started && s.needsWhole() {
			rest, err := io.ReadAll(s.r)
			if err != nil {
				return false, err
			}
			return true, d.Load(append(s.buf, rest...))
		}
		err := d.loadPart()
		switch {
		case err == nil && s.closed && s.last:
			return false, nil
		case err == nil && !s.closed:
			s.started = true
			s.done = s.last
			s.closed = true
			s.close(d)
			return true, nil
		case err != nil && !s.closed && !s.last && d.cut():
			s.started = true
			return true, nil
		case err != nil && (s.last || !d.endless(err)):
			return false, err
		case len(s.buf)-s.head >= s.limit:
			refused := d.exceed(s.head, "more than %d bytes, the limit for an element that is read as a whole", s.limit)
			refused.Parted = true
			return false, refused
		}
		s.grow()
	}
}

// endless reports whether an error may go away when more of the input is read.
func (d *Document) endless(err error) bool {
	var e *input.SyntaxError
	return d.unended || !errors.As(err, &e) || e.Offset-d.stream.at.Offset+d.stream.head+maxName+8 > len(d.stream.buf)
}

// needsWhole reports whether a part cannot be read on its own.
func (s *stream) needsWhole() bool {
	b := s.buf
	if hasAt(b, 0, "\xFE\xFF") || hasAt(b, 0, "\xFF\xFE") || bytes.IndexByte(b[:min(4, len(b))], 0) >= 0 {
		return true
	}
	if end := bytes.Index(b, []byte("?>")); end > 0 && bytes.HasPrefix(bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF")), []byte("<?xml")) {
		declared := bytes.ToLower(b[:end])
		if bytes.Contains(declared, []byte("encoding")) && !bytes.Contains(declared, []byte("utf-8")) {
			return true
		}
	}
	return bytes.Contains(b, []byte("<!DOCTYPE"))
}

// loadPart parses the head and the window.
func (d *Document) loadPart() error {
	s := d.stream
	end := len(s.buf)
	if !s.last {
		for back := 1; back < utf8.UTFMax && back <= end-s.head; back++ {
			if c := s.buf[end-back]; utf8.RuneStart(c) {
				if c >= utf8.RuneSelf && !utf8.FullRune(s.buf[end-back:end]) {
					end -= back
				}
				break
			}
		}
	}
	d.reset(cap(s.buf))
	d.data = s.buf[:end]
	d.unended = false
	d.unclosed = 0
	err := d.checkChars()
	if err == nil {
		err = d.parse()
	}
	at := int32(0)
	for _, l := range s.levels {
		if l.node = at; int(at) >= len(d.nodes) {
			break
		}
		at += 1 + int32(d.nodes[at].attrs)
	}
	return err
}

// cut ends a part behind the last element that is complete, inside of the elements
// that can be divided. It reports whether it got any further.
func (d *Document) cut() bool {
	s := d.stream
	if len(d.nodes) == 0 {
		return false // not all are characters
	}
	var chain []int32
	for at := d.unclosed; at > 0; at = d.nodes[at].parent {
		chain = append(chain, at)
	}
	slices.Reverse(chain)
	states := make([]uint64, len(s.iterators))
	for i := range states {
		states[i] = 1
	}
	inner := int32(0)
	s.next = s.levels[:1:1]
	for i, at := range chain {
		if !s.divisible(states, &d.nodes[at]) {
			break
		}
		inner = at
		if i+1 < len(s.levels) && s.levels[i+1].node == at {
			s.next = append(s.next, s.levels[i+1])
			continue
		}
		n := &d.nodes[at]
		tag := d.data[n.name-1 : tagEnd(d.data, int(n.name))]
		s.next = append(s.next, &level{node: at, tag: bytes.Clone(tag), line: d.line(int(n.name)), before: map[string]int{}})
	}
	from, end := int(d.nodes[inner].start), int32(d.nodes[inner].length)
	if from <= s.head {
		return false
	}
	if inner == 0 {
		s.closed = true
		s.close(d)
	}
	d.nodes = d.nodes[:end]
	for at := inner; at >= 0; at = d.nodes[at].parent {
		d.nodes[at].end = end
	}
	s.from = from
	return true
}

// divisible moves states to a child of the place that they describe. It reports
// whether the child is not a record. State n of an iterator is there when its first n
// steps select the place.
func (s *stream) divisible(states []uint64, n *node) bool {
	for i, p := range s.iterators {
		next := uint64(0)
		for j := range p.steps {
			if states[i]>>j&1 == 0 {
				continue
			}
			if p.steps[j].deep {
				next |= 1 << j
			}
			if p.steps[j].accepts(n) {
				next |= 1 << (j + 1)
			}
		}
		if states[i] = next; next>>len(p.steps)&1 != 0 {
			return false
		}
	}
	return true
}

// tagEnd returns the offset after the start tag whose name is at i.
func tagEnd(data []byte, i int) int {
	for quote := byte(0); ; i++ {
		switch c := data[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i + 1
		}
	}
}

// close ends the document: what follows the document element is read as a document
// with an empty one of that name.
func (s *stream) close(d *Document) {
	n := &d.nodes[d.top]
	tag := []byte("<" + string(d.qname(n)))
	if n.local > 0 {
		tag = append(tag, " xmlns:"+string(d.prefix(n))+`="x"`...)
	}
	s.from = len(d.data)
	s.next = []*level{{before: map[string]int{}}, {tag: append(tag, "/>"...), line: d.line(int(n.name))}}
}

// count notes the elements of the divided elements that the next part no longer has.
func (s *stream) count(d *Document) {
	for _, l := range s.next {
		if s.closed || int(l.node) >= len(d.nodes) {
			continue
		}
		n := &d.nodes[l.node]
		for i := l.node + 1 + int32(n.attrs); i < n.end; i = d.nodes[i].end {
			c := &d.nodes[i]
			if c.kind == elementNode && !slices.ContainsFunc(s.next, func(o *level) bool { return o.node == i }) {
				l.before[string(d.qname(c))]++
			}
		}
	}
}

// advance drops what is done and writes the head of the next part.
func (s *stream) advance(d *Document) {
	s.count(d)
	s.at.Advance(s.buf[s.head:s.from])
	s.levels = s.next
	var head []byte
	for _, l := range s.levels {
		head = append(head, l.tag...)
	}
	rest := bytes.Clone(s.buf[s.from:])
	if room := len(head) + len(rest); room > cap(s.buf) {
		s.buf = make([]byte, 0, room)
	}
	s.buf = append(append(s.buf[:0], head...), rest...)
	if len(rest) > cap(s.buf)/2 && cap(s.buf) < maxWindow {
		s.grow()
	}
	s.head = len(head)
	s.from = len(head)
}

func (s *stream) grow() {
	larger := make([]byte, len(s.buf), 2*max(cap(s.buf), 1))
	copy(larger, s.buf)
	s.buf = larger
}

// fill reads until the window is full or the input ends.
func (s *stream) fill() error {
	for empty := 0; !s.last && len(s.buf) < cap(s.buf); {
		n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		switch {
		case errors.Is(err, io.EOF):
			s.last = true
		case err != nil:
			return fmt.Errorf("read the input: %w", err)
		case n > 0:
			empty = 0
		default:
			if empty++; empty > 100 {
				return io.ErrNoProgress
			}
		}
	}
	return nil
}
