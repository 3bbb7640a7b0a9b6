package yarrrml

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
)

// ReadRML reads a mapping in Turtle and checks it. opts may be nil. Errors are a [*rml.MappingError].
func ReadRML(src []byte, opts *rml.LoadOptions) (*Document, error) {
	if _, err := rml.Load(src, opts); err != nil {
		return nil, err
	}
	base := "http://example.com/base/"
	if opts != nil && opts.Base != "" {
		base = opts.Base
	}
	reader, err := rdf.NewReader(bytes.NewReader(src), rdf.Turtle, &rdf.ReaderOptions{Base: base, MaxBytes: int64(len(src)) + 1})
	if err != nil {
		return nil, &rml.MappingError{Reason: err.Error()}
	}
	var d Document
	for {
		q, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, &rml.MappingError{Reason: err.Error()}
		}
		d.Statements = append(d.Statements, rml.MappingStatement{Quad: q, Line: reader.Line()})
	}
	d.Prefixes = reader.Prefixes()
	return &d, nil
}

// WriteRML returns a mapping as RML in Turtle. Blank nodes that one statement refers to stand within that
// statement. Graph names are ignored.
func WriteRML(d *Document) []byte {
	t := &turtle{
		about: make(map[rdf.Term][]rdf.Quad), uses: make(map[rdf.Term]int), done: make(map[rdf.Term]bool),
	}
	t.addPrefixes(d.Prefixes)
	seen := make(map[rdf.Quad]bool)
	for _, s := range d.Statements {
		q := s.Quad
		q.Graph = rdf.Term{}
		if seen[q] {
			continue
		}
		seen[q] = true
		if t.about[q.Subject] == nil {
			t.subjects = append(t.subjects, q.Subject)
		}
		t.about[q.Subject] = append(t.about[q.Subject], q)
		t.uses[q.Object]++
	}
	for _, s := range t.subjects {
		if !t.isInner(s) {
			t.subject(s)
		}
	}
	for _, s := range t.subjects { // blank nodes that refer to each other
		if !t.done[s] {
			t.uses[s] = 2
			t.subject(s)
		}
	}
	var out bytes.Buffer
	for _, p := range t.prefixes {
		if t.used[p.Name] {
			out.WriteString("@prefix " + p.Name + ": " + string(rdf.AppendTerm(nil, rdf.NewIRI(p.IRI))) + " .\n")
		}
	}
	out.Write(t.out.Bytes())
	return out.Bytes()
}

// turtle writes a document by subject.
type turtle struct {
	out      bytes.Buffer
	subjects []rdf.Term
	about    map[rdf.Term][]rdf.Quad
	uses     map[rdf.Term]int // how many statements have the term as their object
	done     map[rdf.Term]bool
	prefixes []rdf.Prefix
	used     map[string]bool
}

// addPrefixes takes the prefixes of the document that Turtle allows, and those of the language where their names are
// free.
func (t *turtle) addPrefixes(declared []rdf.Prefix) {
	t.used = make(map[string]bool)
	taken := make(map[string]bool)
	for _, p := range declared {
		_, isIRI := rdf.ValidIRI([]byte(p.IRI))
		if isIRI && !taken[p.Name] && (p.Name == "" || (isLocalName(p.Name) && p.Name[0] != '_')) {
			taken[p.Name] = true
			t.prefixes = append(t.prefixes, p)
		}
	}
	for _, p := range []rdf.Prefix{{Name: "rr", IRI: nsRR}, {Name: "rml", IRI: nsRML}, {Name: "ql", IRI: nsQL},
		{Name: "carml", IRI: nsCARML}, {Name: "fnml", IRI: nsFNML}, {Name: "fno", IRI: nsFNO}, {Name: "rdfs", IRI: nsRDFS},
		{Name: "xsd", IRI: nsXSD}, {Name: "grel", IRI: nsGREL}, {Name: "idlab-fn", IRI: nsIDLab}, {Name: "d2rq", IRI: nsD2RQ},
		{Name: "void", IRI: nsVoID}, {Name: "csvw", IRI: nsCSVW}} {
		if !taken[p.Name] {
			t.prefixes = append(t.prefixes, p)
		}
	}
}

// isInner reports whether a node stands within the one statement that refers to it.
func (t *turtle) isInner(s rdf.Term) bool { return s.Kind == rdf.Blank && t.uses[s] == 1 }

func (t *turtle) subject(s rdf.Term) {
	t.done[s] = true
	t.out.WriteByte('\n')
	if s.Kind == rdf.Blank && t.uses[s] == 0 {
		t.out.WriteString("[]")
	} else {
		t.term(s)
	}
	t.statements(s, 1)
	t.out.WriteString(" .\n")
}

// maxInner bounds how deep blank nodes stand within statements; deeper ones have a label.
const maxInner = 100

// statements writes the predicates and objects of a subject.
func (t *turtle) statements(s rdf.Term, depth int) {
	last := ""
	for i, q := range t.about[s] {
		switch {
		case q.Predicate.Value == last:
			t.out.WriteString(", ")
		default:
			if i > 0 {
				t.out.WriteString(" ;")
			}
			if i > 0 || depth > 1 {
				t.out.WriteString("\n" + strings.Repeat("  ", depth))
			} else {
				t.out.WriteByte(' ')
			}
			if q.Predicate.Value == rdf.Type {
				t.out.WriteString("a ")
			} else {
				t.term(q.Predicate)
				t.out.WriteByte(' ')
			}
			last = q.Predicate.Value
		}
		if !t.isInner(q.Object) || t.done[q.Object] || depth > maxInner {
			t.term(q.Object)
			continue
		}
		t.done[q.Object] = true
		t.out.WriteByte('[')
		t.statements(q.Object, depth+1)
		if len(t.about[q.Object]) > 0 {
			t.out.WriteString("\n" + strings.Repeat("  ", depth))
		}
		t.out.WriteByte(']')
	}
}

// term writes a term, an IRI with a prefix where there is one.
func (t *turtle) term(term rdf.Term) {
	datatype := term.Datatype
	switch {
	case term.Kind == rdf.IRI:
		t.iri(term.Value)
	case datatype != "":
		t.out.Write(rdf.AppendTerm(nil, rdf.NewLiteral(term.Value)))
		t.out.WriteString("^^")
		t.iri(datatype)
	default:
		t.out.Write(rdf.AppendTerm(nil, term))
	}
}

func (t *turtle) iri(iri string) {
	for _, p := range t.prefixes {
		if local, ok := strings.CutPrefix(iri, p.IRI); ok && p.IRI != "" && isLocalName(local) {
			t.used[p.Name] = true
			t.out.WriteString(p.Name + ":" + local)
			return
		}
	}
	t.out.Write(rdf.AppendTerm(nil, rdf.NewIRI(iri)))
}

// isLocalName reports whether a text needs no escape after a prefix.
func isLocalName(s string) bool {
	for i, c := range s {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		case i > 0 && ((c >= '0' && c <= '9') || c == '-'):
		default:
			return false
		}
	}
	return s != ""
}
