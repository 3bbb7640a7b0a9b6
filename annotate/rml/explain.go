package rml

import (
	"fmt"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/csvdoc"
)

// Explain describes the plan in plain text: the inputs, how records are found,
// and how each triples map generates statements from a record.
func (p *Plan) Explain() string {
	e := &explanation{plan: p}
	e.line(0, "output: %s", p.format)
	for i, in := range p.inputs {
		e.input(i, in)
	}
	for i, t := range p.targets {
		e.line(0, "target %d: file %q as %s", i, t.Name, t.Format)
	}
	for _, s := range p.steps {
		e.step(s)
	}
	return e.text.String()
}

// explanation is the text as it grows.
type explanation struct {
	plan *Plan
	text strings.Builder
}

func (e *explanation) line(indent int, format string, args ...any) {
	e.text.WriteString(strings.Repeat("  ", indent))
	fmt.Fprintf(&e.text, format, args...)
	e.text.WriteByte('\n')
}

func (e *explanation) input(i int, in *inputPlan) {
	switch {
	case in.view != nil:
		e.line(0, "input %d: %s, rows built from input %d", i, in.source, in.view.input)
		e.line(1, "columns: %s", strings.Join(in.view.columns, " "))
		for _, j := range in.view.joins {
			e.line(1, "%s with the rows of input %d: %s", joinKind(j.inner), j.view, e.conditions(j.child, j.parent))
		}
	case in.table != nil:
		e.table(i, in)
	case in.source.Kind == 0:
		e.line(0, "input %d: %s inside a field of a view", i, in.source.Formulation)
	default:
		e.line(0, "input %d: %s, %s, %s", i, in.source, in.source.Formulation, in.manner())
	}
	if compiler, ok := in.compiler.(*csvdoc.Compiler); ok {
		for _, rule := range compiler.Explain() {
			e.line(1, "%s", rule)
		}
	}
}

func joinKind(inner bool) string {
	if inner {
		return "inner join"
	}
	return "left join"
}

func (e *explanation) conditions(child, parent []*generator) string {
	parts := make([]string, len(child))
	for i := range child {
		parts[i] = child[i].expression() + " = " + parent[i].expression()
	}
	return strings.Join(parts, " and ")
}

func (e *explanation) step(s *step) {
	in := e.plan.inputs[s.input]
	records := "each record"
	if expr := in.iterators[s.iterator].String(); expr != "" {
		records = "each record of " + expr
	}
	if s.joint {
		records = "each joined row"
	}
	e.line(0, "%s: %s of input %d", s.node, records, s.input)
	e.line(1, "subject %s", s.subject.describe())
	for _, g := range s.graphs {
		e.line(1, "graph %s", g.describe())
	}
	e.cost(s)
	for i := range s.poms {
		pom := &s.poms[i]
		for _, predicate := range pom.predicates {
			e.line(1, "predicate %s%s", predicate.describe(), way(s, pom.flat))
		}
		for _, g := range pom.graphs {
			e.line(2, "graph %s", g.describe())
		}
		for _, o := range pom.objects {
			if o.join == nil {
				e.line(2, "object %s", o.gen.describe())
				continue
			}
			e.line(2, "object %s of input %d where %s, by a hash index", o.join.subject.describe(), o.join.input,
				e.conditions(o.join.child, o.join.parent))
		}
	}
}

// cost adds how many references are evaluated for a record, and which indexes
// are built before.
func (e *explanation) cost(s *step) {
	references, joins := 0, 0
	s.walk(func(g *generator) { references += len(g.paths()) })
	for i := range s.poms {
		for _, o := range s.poms[i].objects {
			if o.join != nil {
				joins++
			}
		}
	}
	line := "cost: " + count(references, "reference") + " per record"
	if joins > 0 {
		line += ", " + count(joins, "join") + " by an index over all records of the parent, built for every message"
	}
	e.line(1, "%s", line)
}

// way describes how the statements of a predicate-object map are written.
func way(s *step, f *flatPom) string {
	switch {
	case f == nil || len(s.graphs) > 0:
		return ", combined on stacks"
	case f.plain:
		return ", written directly"
	}
	return ""
}

// describe describes the terms of a generator and their expression.
func (g *generator) describe() string {
	var b strings.Builder
	if g.when != nil {
		fmt.Fprintf(&b, "if %s: ", g.when.expression())
	}
	if g.gather != nil {
		kind := "container"
		if g.gather.list {
			kind = "list"
		}
		fmt.Fprintf(&b, "%s of %d term maps, headed by ", kind, len(g.gather.members))
	}
	if g.kind != constantExpression {
		b.WriteString([...]string{
			iriForm:     "IRI ",
			blankForm:   "blank node ",
			literalForm: "literal ",
			textForm:    "text ",
		}[g.form])
	}
	b.WriteString(g.expression())
	b.Write(g.suffix)
	switch {
	case g.natural:
		b.WriteString(" with its natural datatype")
	case g.datatype != nil:
		b.WriteString(" with the datatype " + g.datatype.expression())
	case g.language != nil:
		b.WriteString(" in the language " + g.language.expression())
	}
	return b.String()
}

// expression writes what a generator evaluates.
func (g *generator) expression() string {
	switch g.kind {
	case constantExpression:
		if len(g.constant) == 0 {
			return "the default graph"
		}
		return string(g.constant)
	case referenceExpression:
		return g.path.String()
	case templateExpression:
		var b strings.Builder
		for _, s := range g.segments {
			if s.path != nil {
				b.WriteString("{" + s.path.String() + "}")
			} else {
				b.Write(s.text)
			}
		}
		return b.String()
	case functionExpression:
		arguments := make([]string, 0, len(g.call.arguments))
		for _, list := range g.call.arguments {
			for _, a := range list {
				arguments = append(arguments, a.expression())
			}
		}
		return fmt.Sprintf("<%s>(%s)", g.call.function.IRI, strings.Join(arguments, ", "))
	}
	return "that is new"
}

// Made is a statement with the part of the mapping that generated it.
type Made struct {
	rdf.Quad
	// Node names the predicate-object map, or the subject map for statements of its classes,
	// and Line is its line in the mapping. A statement that several parts generate is that of the
	// first one.
	Node string
	Line int
	// IllTyped says what is wrong if the object is a literal whose text its datatype of XML Schema
	// does not have; it is empty otherwise.
	IllTyped string
}

// Trace is [Mapper.Quads] for tools that explain a mapping: it says of each statement which
// part of the mapping generated it.
func (m *Mapper) Trace(message []byte) ([]Made, error) {
	m.tracing = true
	m.rules = nil
	defer func() {
		m.tracing = false
		m.rules = nil
	}()
	quads, err := m.Quads(message)
	if err != nil {
		return nil, err
	}
	made := make([]Made, len(quads))
	for i, q := range quads {
		made[i] = Made{Quad: q, Node: m.rules[i].name, Line: m.rules[i].line, IllTyped: illTypedReason(q.Object)}
	}
	return made, nil
}
