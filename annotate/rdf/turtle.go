package rdf

import (
	"io"
	"strings"
)

// frame is an open construct of Turtle: a statement, [ ] or ( ).
type frame struct {
	kind      construct
	want      want
	subject   Term // of ( ): the current cell, zero before the first
	predicate Term // of ( ): the first cell
	line      int
	named     bool // the subject of the statement may name a graph instead
	mustName  bool // it must, since GRAPH stands before it
	some      bool // a predicate and its objects have been read
}

type construct uint8

const (
	statement construct = iota
	properties
	collection
)

// want is what a construct expects next.
type want uint8

const (
	wantSubject   want = iota
	wantPredicate      // and nothing else
	wantMore           // a predicate, or the end of the construct
	wantObject
	wantSeparator // one of , ; or the end of the construct
	wantItem      // an item of ( ), or its end
)

// stepTurtle reads one token or a few and acts on them. The grammar is worked
// through with a stack of our own, so that a statement can be returned in the
// middle of a construct and nesting has a limit.
func (r *Reader) stepTurtle() error {
	r.skip()
	if len(r.stack) == 0 {
		return r.readBlock()
	}
	f := &r.stack[len(r.stack)-1]
	c := r.at(0)
	switch f.want {
	case wantPredicate:
		if c == '{' && f.named && !r.inGraph && r.syntax.NamedGraphs {
			r.openGraph(f.subject)
			return nil
		}
		if f.mustName {
			return r.unexpected("\"{\"")
		}
		return r.readPredicate(f)
	case wantMore:
		if r.ends(f, c) {
			return r.close(f, c)
		}
		return r.readPredicate(f)
	case wantSeparator:
		return r.readSeparator(f, c)
	case wantItem:
		if c == ')' {
			return r.close(f, c)
		}
	}
	return r.readTerm(f, c)
}

// readBlock reads what starts a directive, a graph or a statement, or the end.
func (r *Reader) readBlock() error {
	switch c := r.at(0); {
	case c < 0:
		if r.inGraph {
			return r.unexpected("\"}\"")
		}
		return io.EOF
	case c == '}' && r.inGraph:
		r.pos++
		r.inGraph, r.graph = false, Term{}
		return nil
	case c == '{' && !r.inGraph && r.syntax.NamedGraphs:
		r.openGraph(Term{})
		return nil
	case c == '@' && !r.inGraph:
		return r.readAtDirective()
	}
	start := frame{line: r.line}
	if word := r.keyword(); word != "" && !r.inGraph {
		switch {
		case strings.EqualFold(word, "prefix"):
			r.pos += len(word)
			return r.readPrefix()
		case strings.EqualFold(word, "base"):
			r.pos += len(word)
			return r.readBase()
		case strings.EqualFold(word, "graph") && r.syntax.NamedGraphs:
			r.pos += len(word)
			start.mustName = true
		}
	}
	r.stack = append(r.stack[:0], start)
	return nil
}

// openGraph passes "{".
func (r *Reader) openGraph(name Term) {
	r.pos++
	r.stack = r.stack[:0]
	r.inGraph, r.graph = true, name
}

func (r *Reader) readPredicate(f *frame) error {
	if r.at(0) == 'a' && r.nameEnd(0, true) == 1 {
		r.pos++
		f.predicate = NewIRI(Type)
	} else {
		iri, err := r.iri("a predicate")
		if err != nil {
			return err
		}
		f.predicate = NewIRI(iri)
	}
	f.want = wantObject
	return nil
}

func (r *Reader) readSeparator(f *frame, c int) error {
	switch {
	case c == ',':
		r.pos++
		f.want = wantObject
	case c == ';':
		for ; c == ';'; c = r.at(0) {
			r.pos++
			r.skip()
		}
		f.want = wantMore
	case r.ends(f, c):
		return r.close(f, c)
	case f.kind == properties:
		return r.unexpected("\",\", \";\" or \"]\"")
	default:
		return r.unexpected("\",\", \";\" or \".\"")
	}
	return nil
}

// ends reports whether c ends the statement or the [ ].
func (r *Reader) ends(f *frame, c int) bool {
	if f.kind == properties {
		return c == ']'
	}
	return c == '.' || (c == '}' && r.inGraph)
}

// close ends the construct on top of the stack.
func (r *Reader) close(f *frame, c int) error {
	if c != '}' { // which ends the graph as well
		r.pos++
	}
	closed := *f
	r.stack = r.stack[:len(r.stack)-1]
	switch closed.kind {
	case properties:
		return r.complete(closed.subject, !closed.some, closed.some)
	case collection:
		if closed.subject.IsZero() {
			return r.complete(NewIRI(Nil), false, false)
		}
		r.emit(Quad{Subject: closed.subject, Predicate: NewIRI(Rest), Object: NewIRI(Nil), Graph: r.graph}, closed.line)
		return r.complete(closed.predicate, false, false)
	}
	return nil
}

// readTerm reads a subject, an object or an item, or opens the construct that is
// one.
func (r *Reader) readTerm(f *frame, c int) error {
	switch c {
	case '[':
		return r.open(frame{kind: properties, want: wantMore, subject: r.anonymous(), line: r.line})
	case '(':
		return r.open(frame{kind: collection, want: wantItem, line: r.line})
	case '_':
		t, err := r.blankTerm()
		if err != nil {
			return err
		}
		return r.complete(t, true, false)
	}
	if f.want != wantSubject {
		t, err := r.literal(c)
		if err != nil {
			return err
		}
		if !t.IsZero() {
			return r.complete(t, false, false)
		}
	}
	wanted := "an object"
	switch f.want {
	case wantSubject:
		wanted = "a subject"
	case wantItem:
		wanted = "an item or \")\""
	}
	iri, err := r.iri(wanted)
	if err != nil {
		return err
	}
	return r.complete(NewIRI(iri), true, false)
}

// literal reads a literal; it returns the zero Term if none starts with c.
func (r *Reader) literal(c int) (Term, error) {
	switch {
	case c == '"' || c == '\'':
		return r.literalTerm(true, func() (string, error) { return r.iri("a datatype") })
	case (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.':
		text, datatype, err := r.number()
		if err != nil {
			return Term{}, err
		}
		return NewTyped(r.intern(text), datatype), nil
	case c == 't' || c == 'f':
		if word := r.keyword(); word == "true" || word == "false" {
			r.pos += len(word)
			return NewTyped(word, XSDBoolean), nil
		}
	}
	return Term{}, nil
}

func (r *Reader) open(f frame) error {
	if len(r.stack) > r.maxDepth {
		return r.limit("brackets nested deeper than %d", r.maxDepth)
	}
	r.pos++
	r.stack = append(r.stack, f)
	return nil
}

// complete hands a term to the construct that waits for it. The term may be the
// name of a graph if plain; as a subject it may occur alone if alone.
func (r *Reader) complete(t Term, plain, alone bool) error {
	f := &r.stack[len(r.stack)-1]
	switch f.want {
	case wantSubject:
		if f.mustName && !plain {
			return r.fail(0, "only an IRI or a blank node may name a graph")
		}
		f.subject, f.named = t, plain
		f.want = wantPredicate
		if alone {
			f.want = wantMore
		}
	case wantItem:
		cell := r.anonymous()
		if f.subject.IsZero() {
			f.predicate = cell
		} else {
			r.emit(Quad{Subject: f.subject, Predicate: NewIRI(Rest), Object: cell, Graph: r.graph}, f.line)
		}
		f.subject = cell
		r.emit(Quad{Subject: cell, Predicate: NewIRI(First), Object: t, Graph: r.graph}, r.line)
	default:
		f.some = true
		f.want = wantSeparator
		r.emit(Quad{Subject: f.subject, Predicate: f.predicate, Object: t, Graph: r.graph}, f.line)
	}
	return nil
}
