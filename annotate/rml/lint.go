package rml

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/internal/xsd"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// Finding is a part of a mapping that is valid but probably a mistake, or that
// is more expensive than it seems.
type Finding struct {
	// Node names the mapping node, and Line is its line in the mapping. Line is 0
	// when the finding is about the whole mapping.
	Node string
	Line int
	// Message describes the finding and a remedy.
	Message string
}

// String returns one line with the line of the mapping, the node and the
// message.
func (f Finding) String() string {
	e := MappingError{Node: f.Node, Line: f.Line, Reason: f.Message}
	return e.Error()
}

// Lint reports parts of a mapping that are valid but probably mistakes:
// duplicate statements, terms that do not exist in their vocabulary, joins that
// grow with the product of their inputs. Errors in a mapping are reported by
// [Load] and [Compile] instead.
func (p *Plan) Lint() []Finding {
	l := &linter{plan: p}
	for _, s := range p.steps {
		l.step(s)
	}
	l.prefixes()
	return l.findings
}

// LintSample adds to the findings of [Plan.Lint] those of a sample of the
// input: iterators that select nothing, references that never have a value,
// literals whose text is outside of the lexical space of their datatype, rows of
// CSV without the cells of the header, and records from which no statement is
// generated. files opens the sample as [Mapper.Run] opens the input.
func (p *Plan) LintSample(ctx context.Context, files Files) ([]Finding, error) {
	m := p.NewMapper()
	m.uses = make(map[input.Path]*pathUse)
	files.Create = func(Target) (TargetWriter, error) { return discardTarget{}, nil }
	if err := m.Run(ctx, io.Discard, files); err != nil {
		return nil, err
	}
	l := &linter{plan: p, findings: p.Lint()}
	before := len(l.findings)
	for _, s := range p.steps {
		use := m.uses[p.inputs[s.input].iterators[s.iterator]]
		if use == nil || use.values == 0 {
			l.add(s.node, "its iterator selects no record of the sample")
			continue
		}
		l.deadReferences(s, m.uses)
	}
	for _, found := range m.illTyped {
		l.add(found.generator.node, "%s of the sample with a text that the datatype does not have, such as %s",
			count(found.Count, "literal"), found)
	}
	for _, rows := range m.IrregularRows() {
		l.add(node{}, "%s", rows)
	}
	if tally := m.Tally(); tally.Statements == 0 && tally.Records > 0 && len(l.findings) == before {
		l.add(node{}, "no statement is generated from the %s of the sample", count(tally.Records, "record"))
	}
	return l.findings, nil
}

// pathUse counts how often a path was evaluated and how many values it had.
type pathUse struct{ evaluations, values int }

// use counts an evaluation.
func (m *Mapper) use(path input.Path, values int) {
	u := m.uses[path]
	if u == nil {
		u = &pathUse{}
		m.uses[path] = u
	}
	u.evaluations++
	u.values += values
}

// discardTarget discards the targets of a mapping that runs over a sample.
type discardTarget struct{}

func (discardTarget) Write(p []byte) (int, error) { return len(p), nil }
func (discardTarget) Commit() error               { return nil }
func (discardTarget) Abort() error                { return nil }

// linter collects findings.
type linter struct {
	plan     *Plan
	findings []Finding
}

func (l *linter) add(n node, format string, args ...any) {
	f := Finding{Node: n.name, Line: n.line, Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(l.findings, f) {
		l.findings = append(l.findings, f)
	}
}

func (l *linter) step(s *step) {
	if len(s.poms) == 0 && s.subject.gather == nil {
		l.add(s.node, "it generates no statement: it has neither a class nor a predicate-object map")
	}
	if s.subject.kind == constantExpression &&
		!slices.ContainsFunc(s.poms, func(pom pomStep) bool { return pom.depends() }) {
		l.add(s.node, "every record generates the same statements: nothing in it refers to the record")
	}
	seen := make(map[string]bool)
	for i := range s.poms {
		pom := &s.poms[i]
		for _, predicate := range pom.predicates {
			for _, o := range pom.objects {
				l.object(s, o)
				key := predicate.expression() + " " + o.describe() + describeGraphs(pom)
				if seen[key] {
					l.add(s.node, "it generates the same statement twice, with the predicate %s and the object %s",
						predicate.expression(), o.describe())
				}
				seen[key] = true
			}
		}
	}
	s.walk(func(g *generator) { l.generator(g) })
}

func describeGraphs(pom *pomStep) string {
	var b strings.Builder
	for _, g := range pom.graphs {
		b.WriteString(" " + g.describe())
	}
	return b.String()
}

func (o objectStep) describe() string {
	if o.join != nil {
		return fmt.Sprintf("of join %d", o.join.index)
	}
	return o.gen.describe()
}

// depends reports whether a predicate-object map refers to the record.
func (pom pomStep) depends() bool {
	depends := false
	pom.walk(func(g *generator) { depends = depends || g.kind != constantExpression })
	return depends
}

func (l *linter) object(s *step, o objectStep) {
	j := o.join
	if j == nil {
		return
	}
	constant := func(g *generator) bool { return g.kind == constantExpression }
	if slices.ContainsFunc(j.child, constant) && slices.ContainsFunc(j.parent, constant) {
		l.add(j.node, "a join condition compares constants: the index does not narrow the join, which grows with the "+
			"product of the records")
	}
	if j.input == s.input && j.iterator == s.iterator && sameExpressions(j.child, j.parent) {
		l.add(j.node, "it joins the records with themselves by the same reference: without a joinCondition the "+
			"subject of the same record is meant, at no cost")
	}
}

func sameExpressions(a, b []*generator) bool {
	return slices.EqualFunc(a, b, func(x, y *generator) bool { return x.expression() == y.expression() })
}

func (l *linter) generator(g *generator) {
	l.unknownTerms(g)
	if g.kind == templateExpression &&
		!slices.ContainsFunc(g.segments, func(s templateStep) bool { return s.path != nil }) {
		l.add(g.node, "its template has no reference: a constant says so")
	}
	if g.kind == referenceExpression && g.form == iriForm && !g.unsafe {
		l.add(g.node, "it takes the IRI from the input as it is: a value that is not a valid IRI %s; a template would "+
			"encode it", map[bool]string{
			true:  "fails the message",
			false: "drops its statements",
		}[g.strict])
	}
	for _, s := range g.segments {
		if s.path == nil && g.form == iriForm && strings.Contains(string(s.text), " ") {
			l.add(g.node, "its template holds a space")
		}
	}
}

// prefixes reports well-known prefixes that are declared for another namespace.
func (l *linter) prefixes() {
	known := map[string]string{
		"rdf": nsRDF, "rdfs": "http://www.w3.org/2000/01/rdf-schema#", "xsd": xsd.Namespace,
		"owl": "http://www.w3.org/2002/07/owl#", "foaf": "http://xmlns.com/foaf/0.1/", "sosa": "http://www.w3.org/ns/sosa/",
		"ssn": "http://www.w3.org/ns/ssn/", "rr": document.NamespaceR2RML, "ql": document.NamespaceQL, "carml": document.NamespaceCARML,
	}
	for _, p := range l.plan.mapping.prefixes {
		if usual := known[p.Name]; usual != "" && usual != p.IRI {
			l.add(node{}, "the prefix %s: stands for <%s>, where <%s> is usual: is it a misspelling?", p.Name, p.IRI, usual)
		}
	}
}

// deadReferences reports the references of a triples map that never had a
// value.
func (l *linter) deadReferences(s *step, uses map[input.Path]*pathUse) {
	s.walk(func(g *generator) {
		for _, path := range g.paths() {
			if use := uses[path]; use != nil && use.evaluations > 0 && use.values == 0 {
				l.add(g.node, "its reference %q has no value in any of the %d records of the sample where it was looked up",
					path, use.evaluations)
			}
		}
	})
}

// rdfNames are the terms of the RDF vocabulary, container members aside.
func rdfNames() []string {
	return strings.Fields(`type subject predicate object value first rest nil language direction reifies
		Property Statement Bag Seq Alt List langString dirLangString HTML XMLLiteral JSON PlainLiteral CompoundLiteral`)
}

// unknownTerms reports terms that do not exist in the closed vocabularies, XML
// Schema and RDF.
func (l *linter) unknownTerms(g *generator) {
	for _, vocabulary := range []struct {
		namespace, name string
		terms           []string
	}{{xsd.Namespace, "XML Schema", xsd.Names()}, {nsRDF, "RDF", rdfNames()}} {
		for _, term := range [][]byte{g.constant, bytes.TrimPrefix(g.suffix, []byte("^^"))} {
			name, ok := strings.CutPrefix(string(bytes.Trim(term, "<>")), vocabulary.namespace)
			if !ok || slices.Contains(vocabulary.terms, name) || strings.HasPrefix(name, "_") {
				continue
			}
			l.add(g.node, "%s has no term %q: is it a misspelling?", vocabulary.name, name)
		}
	}
}
