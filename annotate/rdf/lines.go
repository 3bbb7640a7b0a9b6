package rdf

import (
	"fmt"
	"io"
	"strings"
)

// readLine reads one statement of N-Triples or N-Quads with its line end, and
// the empty lines before it.
func (r *Reader) readLine() error {
	r.skip()
	if r.at(0) < 0 {
		return io.EOF
	}
	line := r.line
	var q Quad
	var err error
	if q.Subject, err = r.lineTerm("a subject", false); err != nil {
		return err
	}
	r.skipInline()
	if r.at(0) != '<' {
		return r.unexpected("a predicate")
	}
	if q.Predicate, err = r.lineTerm("a predicate", false); err != nil {
		return err
	}
	r.skipInline()
	if q.Object, err = r.lineTerm("an object", true); err != nil {
		return err
	}
	r.skipInline()
	if r.syntax.NamedGraphs && r.at(0) != '.' {
		if q.Graph, err = r.lineTerm("a graph or \".\"", false); err != nil {
			return err
		}
		r.skipInline()
	}
	if r.at(0) != '.' {
		return r.unexpected("\".\"")
	}
	r.pos++
	r.skipInline()
	if c := r.at(0); c >= 0 && c != '\n' && c != '\r' && c != '#' {
		return r.unexpected("the end of the line")
	}
	r.emit(q, line)
	return nil
}

// lineTerm reads one term as N-Triples writes it.
func (s *scanner) lineTerm(want string, literal bool) (Term, error) {
	switch s.at(0) {
	case '<':
		iri, err := s.absoluteIRI()
		return NewIRI(iri), err
	case '_':
		return s.blankTerm()
	case '"':
		if literal {
			return s.literalTerm(false, s.absoluteIRI)
		}
	}
	return Term{}, s.unexpected(want)
}

// absoluteIRI reads an IRI that must be absolute.
func (s *scanner) absoluteIRI() (string, error) {
	if s.at(0) != '<' {
		return "", s.unexpected("an IRI")
	}
	column := s.column(0)
	iri, err := s.iriRef()
	if err != nil {
		return "", err
	}
	if schemeLen(iri) <= 0 {
		return "", &SyntaxError{Line: s.line, Column: column, Reason: fmt.Sprintf("relative IRI <%s>", shorten(iri))}
	}
	return s.intern(iri), nil
}

// ParseTerm returns the term that is written in N-Triples syntax; it is the
// inverse of [AppendTerm]. Nothing may stand before or after the term.
func ParseTerm(encoded []byte) (Term, error) {
	s := scanner{buf: encoded, end: len(encoded), read: int64(len(encoded)), stopped: io.EOF, line: 1}
	t, err := s.lineTerm("a term", true)
	if err == nil && s.at(0) >= 0 {
		err = s.unexpected("the end of the term")
	}
	if err != nil {
		return Term{}, fmt.Errorf("parse term %q: %w", shorten(encoded), err)
	}
	return t, nil
}

// shorten returns the start of a text that an error quotes.
func shorten(b []byte) string {
	const most = 80
	if len(b) <= most {
		return string(b)
	}
	return strings.ToValidUTF8(string(b[:most]), "") + "…"
}
