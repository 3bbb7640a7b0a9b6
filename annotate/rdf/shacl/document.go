package shacl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// Error is why a shapes graph cannot be loaded.
type Error struct {
	// Line is where the shape begins, from 1; 0 when it is unknown.
	Line int
	// Shape is the shape as in N-Triples; "[ ]" for one without a name.
	Shape string
	// Reason describes what is wrong.
	Reason string
}

// Error returns the line, the shape and the reason.
func (e *Error) Error() string {
	return fmt.Sprintf("line %d: shape %s: %s", e.Line, e.Shape, e.Reason)
}

// document is a shapes graph while it is compiled.
type document struct {
	subjects []rdf.Term // in the order of their first statement
	nodes    map[rdf.Term]*description
	used     map[rdf.Term][]rdf.Term // parents of each value of sh:property
}

// description has the statements about a subject.
type description struct {
	line       int
	predicates []rdf.Term
	objects    map[rdf.Term][]rdf.Term
}

// readDocument reads Turtle.
func readDocument(turtle []byte, opts *Options) (*document, error) {
	r, err := rdf.NewReader(bytes.NewReader(turtle), rdf.Turtle, &rdf.ReaderOptions{Base: opts.Base, MaxBytes: opts.MaxBytes})
	if err != nil {
		return nil, err
	}
	d := &document{nodes: map[rdf.Term]*description{}, used: map[rdf.Term][]rdf.Term{}}
	seen := map[rdf.Quad]bool{}
	for {
		q, err := r.Read()
		if errors.Is(err, io.EOF) {
			return d, nil
		}
		if err != nil {
			return nil, err
		}
		if seen[q] {
			continue
		}
		seen[q] = true
		node := d.nodes[q.Subject]
		if node == nil {
			node = &description{line: r.Line(), objects: map[rdf.Term][]rdf.Term{}}
			d.nodes[q.Subject] = node
			d.subjects = append(d.subjects, q.Subject)
		}
		if node.objects[q.Predicate] == nil {
			node.predicates = append(node.predicates, q.Predicate)
		}
		node.objects[q.Predicate] = append(node.objects[q.Predicate], q.Object)
		if q.Predicate == shTerm("property") {
			d.used[q.Object] = append(d.used[q.Object], q.Subject)
		}
	}
}

// all returns the values of a predicate of SHACL.
func (d *document) all(subject rdf.Term, name string) []rdf.Term {
	return d.values(subject, shTerm(name))
}

func (d *document) values(subject, predicate rdf.Term) []rdf.Term {
	if node := d.nodes[subject]; node != nil {
		return node.objects[predicate]
	}
	return nil
}

func (d *document) has(subject rdf.Term, name string) bool { return len(d.all(subject, name)) > 0 }

// one returns the only value of a predicate, the zero Term if absent.
func (d *document) one(subject rdf.Term, name string) (rdf.Term, error) {
	values := d.all(subject, name)
	switch len(values) {
	case 0:
		return rdf.Term{}, nil
	case 1:
		return values[0], nil
	}
	return rdf.Term{}, d.errorf(subject, "it has %d values of sh:%s, at most one is allowed", len(values), name)
}

// list returns the members of a list.
func (d *document) list(subject rdf.Term, name string, head rdf.Term) ([]rdf.Term, error) {
	var members []rdf.Term
	seen := map[rdf.Term]bool{}
	for head != rdf.NewIRI(rdf.Nil) {
		first, rest := d.values(head, rdf.NewIRI(rdf.First)), d.values(head, rdf.NewIRI(rdf.Rest))
		if len(first) != 1 || len(rest) != 1 || seen[head] {
			return nil, d.errorf(subject, "the value of sh:%s is not a well-formed list ( … )", name)
		}
		seen[head] = true
		members = append(members, first[0])
		head = rest[0]
	}
	return members, nil
}

func (d *document) errorf(shape rdf.Term, format string, args ...any) *Error {
	e := &Error{Shape: show(shape), Reason: fmt.Sprintf(format, args...)}
	if node := d.nodes[shape]; node != nil {
		e.Line = node.line
	}
	return e
}

// show returns a term for people.
func show(t rdf.Term) string {
	if t.Kind == rdf.Blank {
		return "[ ]"
	}
	text := string(rdf.AppendTerm(nil, t))
	if name, ok := strings.CutPrefix(text, "<"+Namespace); ok {
		return "sh:" + strings.TrimSuffix(name, ">")
	}
	return text
}
