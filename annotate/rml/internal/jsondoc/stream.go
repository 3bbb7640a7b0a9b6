package jsondoc

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
	// windowSize is how much of a text is read at a time at first, and maxWindow how
	// much if the records are large. A window grows beyond for a larger record.
	windowSize = 128 << 10
	maxWindow  = 1 << 20
	// cutShort is the longest distance between the end of a text that was cut and
	// the fault that this causes: it is that of \uD800\uDC00.
	cutShort = 16
)

// stream reads a text in parts. The containers around a part are written before it,
// so that a part is a text of its own but for its end: after
// {"meta":{},"rows":[1,2,3 the next part is {"rows":[ and what follows in the input.
// All values are in one part each, except those containers.
type stream struct {
	r      io.Reader
	ways   []way
	buf    []byte // the head, then the window
	head   int
	from   int     // what was read up to here is done
	levels []level // of the containers in the head
	next   []level // of those in the head of the next part
	chain  []input.Node

	at    input.Position // of the window in the input
	limit int
	last  bool // the input has ended
	done  bool
}

// level is a container that is read in parts.
type level struct {
	array   bool
	key     []byte   // its name as written, nil for the root and for elements
	states  []uint64 // by way
	skipped int      // elements that are in parts before
	names   []string // the members that a way may select
	seen    []bool   // those that were there
}

// Open begins a text that is read in parts, for iterators that [Compiler.Streams]
// allows. No part is loaded yet. A value that cannot be divided may have limit bytes.
func (d *Document) Open(r io.Reader, iterators []input.Path, spread []bool, limit int) {
	if d.window == 0 {
		d.window = windowSize
	}
	s := &stream{r: r, ways: newWays(iterators, spread), at: input.Position{Line: 1, Column: 1}, limit: limit}
	if d.stream != nil {
		s.buf = d.stream.buf[:0]
	}
	if cap(s.buf) < d.window || cap(s.buf) > maxWindow {
		s.buf = make([]byte, 0, d.window)
	}
	d.reset()
	d.stream = s
}

// Next loads the next part of the text that was opened. It reports false at its end.
// A part has the nodes that it shares with parts before, so that the iterators and
// [Document.Place] apply to it unchanged. The errors are those of [Document.Load].
func (d *Document) Next() (bool, error) {
	s := d.stream
	if s.done {
		return false, d.finish()
	}
	s.advance()
	for {
		if err := s.fill(); err != nil {
			return false, err
		}
		d.reset()
		d.data = s.buf
		tape, bad := d.scan(d.data)
		d.tape = tape
		switch {
		case bad != nil:
		case !s.last && tape[0].kind < input.Object:
			bad = &fault{len(s.buf), "a number may go on"}
		default:
			s.from = len(s.buf)
			s.done = true
			s.next = nil
			return true, d.repeated()
		}
		whole := len(tape) > 0 && !d.openNode(0) && tape[0].kind >= input.Object
		if s.last || (whole && s.quotes(bad.offset)) || bad.offset+cutShort <= len(s.buf) {
			return false, d.refuse(bad)
		}
		if whole {
			s.grow()
			continue
		}
		if len(tape) > 0 && d.openNode(0) && d.divisible(nil, 0) {
			s.from = d.cut()
		}
		if s.from > s.head {
			return true, d.repeated()
		}
		if len(s.buf)-s.head >= s.limit {
			refused := d.parted(s.head, fmt.Sprintf("a value of more than %d bytes, the limit for one that is read as a whole", s.limit))
			refused.Limit = true
			return false, refused
		}
		s.grow()
	}
}

// finish reads what follows the text, which is white space.
func (d *Document) finish() error {
	s := d.stream
	for {
		s.advance()
		if s.last && len(s.buf) == 0 {
			return nil
		}
		if err := s.fill(); err != nil {
			return err
		}
		d.data = s.buf
		s.from = skipSpace(s.buf, 0)
		if s.from < len(s.buf) && s.quotes(s.from) {
			return d.refuse(&fault{s.from, "unexpected " + quoteByte(s.buf, s.from) + " after the value"})
		}
	}
}

// quotes reports whether the window has the whole character at an offset, which an error quotes.
func (s *stream) quotes(offset int) bool {
	return s.last || utf8.FullRune(s.buf[min(offset, len(s.buf)):])
}

// advance drops what is done and writes the head of the next part.
func (s *stream) advance() {
	s.at.Advance(s.buf[s.head:s.from])
	s.levels = s.next
	var head []byte
	for _, l := range s.levels {
		if l.key != nil {
			head = append(append(append(head, '"'), l.key...), '"', ':')
		}
		if l.array {
			head = append(head, '[')
		} else {
			head = append(head, '{')
		}
	}
	rest := s.buf[s.from:] // the head is not longer than what it stands for, which is done
	s.buf = s.buf[:len(head)+len(rest)]
	copy(s.buf[len(head):], rest)
	copy(s.buf, head)
	if len(rest) > cap(s.buf)/2 && cap(s.buf) < maxWindow {
		s.grow()
	}
	s.head = len(head)
	s.from = s.head
}

func (s *stream) grow() {
	larger := make([]byte, len(s.buf), 2*cap(s.buf))
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
			return err
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

// openNode reports whether a node is a container that does not end in the window.
func (d *Document) openNode(n input.Node) bool {
	return d.tape[n].kind >= input.Object && d.tape[n].end == 0
}

// cut ends a text that continues after the window: behind the last value that is known
// to be complete, inside of the containers that can be divided. It returns the offset
// from which on the input is read again.
func (d *Document) cut() int {
	s := d.stream
	s.next = nil
	s.chain = s.chain[:0]
	at, from := input.Node(0), 0
	for {
		s.chain = append(s.chain, at)
		s.enter(d, at)
		l := &s.next[len(s.next)-1]
		first := at + 1
		last := noNode
		count := 0
		part := first // the first child that is not complete
		for int(part) < len(d.tape) && !d.openNode(part) {
			last = part
			part = input.Node(d.tape[part].next)
			count = count + 1
		}
		end := part
		if int(part) < len(d.tape) {
			from = d.begin(part)
			if d.divisible(l, part) {
				l.skipped += count
				l.mark(d, at, part+1)
				at = part
				continue
			}
		} else if last == noNode {
			from = int(d.tape[at].start) + 1
		} else if from = d.following(last, l.array); from == 0 {
			from = d.begin(last)
			end = last
			count = count - 1
		}
		l.skipped += count
		l.mark(d, at, end)
		d.tape = d.tape[:end]
		break
	}
	if from < s.head {
		from = s.head
	}
	for _, n := range s.chain {
		t := &d.tape[n]
		t.end = uint32(from)
		t.next = uint32(len(d.tape))
		t.class = 0
		t.flags &^= flatObject
	}
	return from
}

// begin returns the offset at which a child begins, with its name.
func (d *Document) begin(n input.Node) int {
	t := &d.tape[n]
	switch {
	case t.keyStart > 0:
		return int(t.keyStart) - 1
	case t.kind == input.String:
		return int(t.start) - 1
	}
	return int(t.start)
}

// following returns the offset of what follows a child and its comma, or 0 if the
// window ends before that.
func (d *Document) following(n input.Node, array bool) int {
	t := &d.tape[n]
	i := int(t.end)
	if t.kind == input.String {
		i++
	}
	if i = skipSpace(d.data, i); i >= len(d.data) || d.data[i] != ',' {
		return 0
	}
	if i = skipSpace(d.data, i+1); i >= len(d.data) || (array && d.data[i] == ']') || (!array && d.data[i] != '"') {
		return 0
	}
	return i
}

// enter appends the level of a container that is divided: that of the head, or that
// of a child of the level before.
func (s *stream) enter(d *Document, n input.Node) {
	if int(n) == len(s.next) && int(n) < len(s.levels) {
		s.next = append(s.next, s.levels[n])
		return
	}
	t := &d.tape[n]
	l := level{array: t.kind == input.Array, states: make([]uint64, len(s.ways))}
	var name []byte
	if t.keyStart > 0 {
		l.key = bytes.Clone(d.data[t.keyStart:t.keyEnd])
		name = d.key(t)
	}
	for i := range s.ways {
		l.states[i] = 1
		if len(s.next) > 0 {
			l.states[i], _ = s.ways[i].step(s.next[len(s.next)-1].states[i], name, t.kind)
		}
		if !l.array {
			l.names = s.ways[i].names(l.names, l.states[i])
		}
	}
	l.seen = make([]bool, len(l.names))
	s.next = append(s.next, l)
}

// divisible reports whether a child of a level, or the root, can be divided.
func (d *Document) divisible(l *level, n input.Node) bool {
	t := &d.tape[n]
	if l == nil {
		return !slices.ContainsFunc(d.stream.ways, func(w way) bool { return !w.divisible(1, t.kind) })
	}
	var name []byte
	if t.keyStart > 0 {
		name = d.key(t)
	}
	for i := range d.stream.ways {
		if _, ok := d.stream.ways[i].step(l.states[i], name, t.kind); !ok {
			return false
		}
	}
	return true
}

// mark notes which of the names of a level are among its members before end.
func (l *level) mark(d *Document, at, end input.Node) {
	if len(l.names) == 0 {
		return
	}
	l.seen = slices.Clone(l.seen)
	for c := at + 1; c < end; c = input.Node(d.tape[c].next) {
		if i := slices.Index(l.names, string(d.key(&d.tape[c]))); i >= 0 {
			l.seen[i] = true
		}
		if d.openNode(c) {
			break
		}
	}
}

// repeated returns an error when an object that is read in parts repeats a name that
// an iterator selects: the last member of a name counts, but the records of the first
// are mapped already.
func (d *Document) repeated() error {
	for at := range d.stream.levels {
		l := &d.stream.levels[at]
		if len(l.names) == 0 {
			continue
		}
		c := input.Node(at) + 1
		if at+1 < len(d.stream.levels) {
			c = input.Node(d.tape[c].next) // it is in the head
		}
		for ; c < input.Node(d.tape[at].next); c = input.Node(d.tape[c].next) {
			t := &d.tape[c]
			if i := slices.Index(l.names, string(d.key(t))); i >= 0 && l.seen[i] {
				reason := "the member name %q is in this object again, after its records were mapped; " +
					"the last member of a name counts, so a large object must not repeat it"
				return d.parted(int(t.keyStart)-1, fmt.Sprintf(reason, l.names[i]))
			}
		}
	}
	return nil
}

// parted is refuse for what only a text that is read in parts cannot have.
func (d *Document) parted(offset int, reason string) *input.SyntaxError {
	err := d.refuse(&fault{offset, reason})
	err.Parted = true
	return err
}
