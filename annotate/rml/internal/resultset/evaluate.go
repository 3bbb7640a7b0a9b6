package resultset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// Results are the results of a query over a file, as text in CSV or JSON (SPARQL 1.1 Query Results). They are
// computed while they are read.
type Results struct {
	next    func() ([]rdf.Term, bool)
	stop    func()
	columns []string
	asJSON  bool
	text    []byte
	at      int
	row     int
	done    bool
	err     *error
}

// Evaluate reads the statements of r, up to maxBytes bytes of text, and returns the results of the query over
// the default graph. Close ends the evaluation.
func (q *Query) Evaluate(ctx context.Context, r io.Reader, f rdf.Format, maxBytes int64, asJSON bool) (*Results, error) {
	reader, err := rdf.NewReader(r, f, &rdf.ReaderOptions{Base: "http://example.com/base/", MaxBytes: maxBytes})
	if err != nil {
		return nil, err
	}
	g := graph{
		subjects: make(map[rdf.Term][]rdf.Quad), predicates: make(map[rdf.Term][]rdf.Quad), objects: make(map[rdf.Term][]rdf.Quad),
	}
	seen := make(map[rdf.Quad]struct{})
	for n := 0; ; n++ {
		s, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if _, again := seen[s]; again || s.Graph != (rdf.Term{}) {
			continue
		}
		seen[s] = struct{}{}
		g.add(s)
	}
	var failed error
	e := evaluation{graph: g, query: q, ctx: ctx, err: &failed, bound: make(map[rdf.Term]rdf.Term)}
	next, stop := iter.Pull(e.solutions)
	return &Results{next: next, stop: stop, columns: q.variables, asJSON: asJSON, err: &failed}, nil
}

// Close ends the evaluation. A second Close does nothing.
func (r *Results) Close() error {
	r.stop()
	return nil
}

// Read implements io.Reader.
func (r *Results) Read(p []byte) (int, error) {
	for r.at == len(r.text) {
		if r.done {
			if *r.err != nil {
				return 0, *r.err
			}
			return 0, io.EOF
		}
		r.text = r.text[:0]
		r.at = 0
		if r.asJSON {
			r.json()
		} else {
			r.csv()
		}
		r.row++
	}
	n := copy(p, r.text[r.at:])
	r.at += n
	return n, nil
}

// csv writes the header or one row.
func (r *Results) csv() {
	if r.row == 0 {
		for i, name := range r.columns {
			if i > 0 {
				r.text = append(r.text, ',')
			}
			r.text = quote(r.text, []byte(name))
		}
		r.text = append(r.text, '\n')
		return
	}
	terms, more := r.next()
	if !more {
		r.done = true
		return
	}
	for i, t := range terms {
		if i > 0 {
			r.text = append(r.text, ',')
		}
		switch t.Kind {
		case rdf.Blank:
			r.text = quote(r.text, []byte("_:"+t.Value))
		case rdf.IRI, rdf.Literal:
			r.text = quote(r.text, []byte(t.Value))
		}
	}
	r.text = append(r.text, '\n')
}

// json writes the beginning, one row, or the end.
func (r *Results) json() {
	if r.row == 0 {
		names, _ := json.Marshal(r.columns) // texts
		r.text = append(append(append(r.text, `{"head":{"vars":`...), names...), `},"results":{"bindings":[`...)
		return
	}
	terms, more := r.next()
	if !more {
		r.done = true
		if *r.err == nil {
			r.text = append(r.text, "]}}\n"...)
		}
		return
	}
	row := make(map[string]map[string]string)
	for i, t := range terms {
		switch t.Kind {
		case rdf.IRI:
			row[r.columns[i]] = map[string]string{"type": "uri", "value": t.Value}
		case rdf.Blank:
			row[r.columns[i]] = map[string]string{"type": "bnode", "value": t.Value}
		case rdf.Literal:
			value := map[string]string{"type": "literal", "value": t.Value}
			if t.Lang != "" {
				value["xml:lang"] = t.Lang
			}
			if t.Datatype != "" {
				value["datatype"] = t.Datatype
			}
			row[r.columns[i]] = value
		}
	}
	if r.row > 1 {
		r.text = append(r.text, ',', '\n')
	}
	text, _ := json.Marshal(row) // texts
	r.text = append(r.text, text...)
}

// graph is a set of statements, by each of their terms.
type graph struct {
	all                           []rdf.Quad
	subjects, predicates, objects map[rdf.Term][]rdf.Quad
}

func (g *graph) add(s rdf.Quad) {
	g.all = append(g.all, s)
	g.subjects[s.Subject] = append(g.subjects[s.Subject], s)
	g.predicates[s.Predicate] = append(g.predicates[s.Predicate], s)
	g.objects[s.Object] = append(g.objects[s.Object], s)
}

// candidates returns the statements that a pattern can match: the fewest that one of its terms selects.
func (g *graph) candidates(pattern rdf.Quad) []rdf.Quad {
	fewest := g.all
	for _, side := range []struct {
		term  rdf.Term
		index map[rdf.Term][]rdf.Quad
	}{{pattern.Subject, g.subjects}, {pattern.Predicate, g.predicates}, {pattern.Object, g.objects}} {
		if !isVariable(side.term) && len(side.index[side.term]) < len(fewest) {
			fewest = side.index[side.term]
		}
	}
	return fewest
}

// isVariable reports whether a term of a pattern is a variable.
func isVariable(t rdf.Term) bool {
	return t.Kind == rdf.IRI && strings.HasPrefix(t.Value, variablePrefix)
}

// evaluation finds the solutions of a query over a graph.
type evaluation struct {
	graph graph
	query *Query
	ctx   context.Context
	steps int
	err   *error
	bound map[rdf.Term]rdf.Term // variables
}

// solutions yields the values of the columns of each solution.
func (e *evaluation) solutions(yield func([]rdf.Term) bool) {
	seen := make(map[string]struct{})
	row := make([]rdf.Term, len(e.query.variables))
	e.match(append([]rdf.Quad(nil), e.query.patterns...), func() bool {
		for i, name := range e.query.variables {
			row[i] = e.bound[rdf.NewIRI(variablePrefix+name)]
		}
		if e.query.distinct {
			key := fmt.Sprintf("%q", row)
			if _, again := seen[key]; again {
				return true
			}
			seen[key] = struct{}{}
		}
		return yield(row)
	})
}

// match matches the patterns that are left, those with the fewest candidates first. It reports false when the
// evaluation ends.
func (e *evaluation) match(patterns []rdf.Quad, found func() bool) bool {
	if len(patterns) == 0 {
		return found()
	}
	best, candidates := 0, []rdf.Quad(nil)
	for i, p := range patterns {
		if c := e.graph.candidates(e.bind(p)); i == 0 || len(c) < len(candidates) {
			best, candidates = i, c
		}
	}
	pattern := e.bind(patterns[best])
	rest := append(append([]rdf.Quad(nil), patterns[:best]...), patterns[best+1:]...)
	for _, s := range candidates {
		if e.steps++; e.steps%1024 == 0 && e.ctx.Err() != nil {
			*e.err = e.ctx.Err()
			return false
		}
		var added []rdf.Term
		matches := true
		for _, side := range [][2]rdf.Term{
			{pattern.Subject, s.Subject}, {pattern.Predicate, s.Predicate}, {pattern.Object, s.Object},
		} {
			switch value, known := e.bound[side[0]]; {
			case known:
				matches = matches && value == side[1]
			case isVariable(side[0]):
				e.bound[side[0]] = side[1]
				added = append(added, side[0])
			default:
				matches = matches && side[0] == side[1]
			}
		}
		more := !matches || e.match(rest, found)
		for _, variable := range added {
			delete(e.bound, variable)
		}
		if !more {
			return false
		}
	}
	return true
}

// bind replaces the variables of a pattern that have a value.
func (e *evaluation) bind(pattern rdf.Quad) rdf.Quad {
	for _, term := range []*rdf.Term{&pattern.Subject, &pattern.Predicate, &pattern.Object} {
		if value, known := e.bound[*term]; known {
			*term = value
		}
	}
	return pattern
}
