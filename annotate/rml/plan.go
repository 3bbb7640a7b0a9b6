package rml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/csvdoc"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/jsondoc"
	"github.com/iotenablers/enablers/annotate/rml/internal/rowdoc"
	"github.com/iotenablers/enablers/annotate/rml/internal/xmldoc"
)

// Plan is a compiled mapping. It is immutable and safe for concurrent use;
// each goroutine runs it through a [Mapper] of its own.
type Plan struct {
	mapping  *Mapping
	format   rdf.Format
	prefixes []rdf.Prefix
	limits   Limits
	inputs   []*inputPlan
	sources  []int // the inputs that are read from outside
	steps    []*step
	joins    []*joinPlan
	targets  []Target
	blanks   bool // whether a term map generates blank nodes
	doubtful bool // whether two places could generate the same statement
	divides  bool // whether a message can be read in parts

	graphless bool // whether the output has no named graphs
	lines     bool // whether a statement of the output is a line of its own
}

// inputPlan is one document format over one source, with the iterators of the
// triples maps that read it.
type inputPlan struct {
	source    Source
	lines     bool   // one JSON document a line
	whole     string // why a batch must read it whole, "" if it is streamed
	compiler  input.Compiler
	iterators []input.Path
	spread    []bool     // by iterator: whether an array that it selects is taken for its elements
	nulls     []string   // texts that stand for no value, but for CSV
	view      *viewPlan  // how it is built from another input, or nil
	table     *tablePlan // how it is read from a database, or nil
}

// step is one triples map, compiled.
type step struct {
	node     node
	input    int
	iterator int
	subject  *generator
	graphs   []*generator
	poms     []pomStep
	joint    bool // whether it generates the statements of one join, with its rows from the database
}

// pomStep is one predicate-object map, compiled.
type pomStep struct {
	node       node // what Trace names
	predicates []*generator
	objects    []objectStep
	graphs     []*generator
	flat       *flatPom // when it is of that kind
}

// objectStep generates objects either from the record or by a join.
type objectStep struct {
	gen  *generator
	join *joinPlan
}

// joinPlan is a join, compiled: it finds the subjects of the records of another
// triples map that match a record of this one.
type joinPlan struct {
	index    int // in Plan.joins
	node     node
	input    int
	iterator int
	child    []*generator // keys, from the record of the child
	parent   []*generator // keys, from the records of the parent
	subject  *generator
}

// Compile turns a mapping into a plan. An expression that is not valid, such as
// a reference that is not JSONPath, is a [*MappingError].
func Compile(m *Mapping, opts *Options) (*Plan, error) {
	c := &compiler{mapping: m, inputs: make(map[string]int), usedIRIs: make(map[string]struct{})}
	if opts != nil {
		c.opts = *opts
	}
	if err := c.opts.checkEvaluators(); err != nil {
		return nil, err
	}
	c.functions = functionsByIRI(c.opts.Functions)
	c.opts.Limits = c.opts.Limits.withDefaults()
	c.plan = &Plan{mapping: m, format: c.opts.Format, limits: c.opts.Limits}
	syntax := c.opts.Format.Syntax()
	c.plan.graphless = !syntax.NamedGraphs
	c.plan.lines = syntax.Lines
	if _, err := rdf.NewEncoder(c.opts.Format, &rdf.EncoderOptions{Prefixes: c.opts.Prefixes}); err != nil {
		return nil, err
	}
	for _, tm := range m.maps {
		if err := c.triplesMap(tm); err != nil {
			return nil, err
		}
	}
	c.plan.prefixes = c.prefixes()
	c.plan.doubtful = c.plan.repeats()
	c.plan.flatten()
	c.plan.decideStreams()
	c.plan.divides = c.plan.divisible()
	return c.plan, nil
}

// Format returns the syntax of the output.
func (p *Plan) Format() rdf.Format { return p.format }

// Targets returns the logical targets of the mapping.
func (p *Plan) Targets() []Target { return slices.Clone(p.targets) }

// compiler holds what is shared while one plan is compiled.
type compiler struct {
	opts     Options
	mapping  *Mapping
	plan     *Plan
	inputs   map[string]int // inputs by logicalSource.key
	usedIRIs map[string]struct{}

	unnamed   map[*termMap]int // subject maps whose blank nodes have no name
	gathering int              // how deep in lists, which reach others through parent triples maps
	gathered  int              // lists that were compiled

	functions map[string]*Function
	joints    []*step // of the triples map that is being compiled
}

func (c *compiler) triplesMap(tm *triplesMap) error {
	s := &step{node: tm.node}
	var err error
	if s.input, s.iterator, err = c.records(tm.source); err != nil {
		return err
	}
	g := generatorCompiler{compiler: c, in: s.input, base: c.opts.chooseBase(tm)}
	if s.subject, err = g.compile(tm.subject); err != nil {
		return err
	}
	if s.graphs, err = g.compileAll(tm.graphs); err != nil {
		return err
	}
	if len(tm.classes) > 0 {
		classes, err := g.compileAll(tm.classes)
		if err != nil {
			return err
		}
		pom := pomStep{node: tm.subject.node, predicates: []*generator{c.constant(rdf.NewIRI(rdf.Type))}}
		for _, class := range classes {
			pom.objects = append(pom.objects, objectStep{gen: class})
		}
		s.poms = append(s.poms, pom)
	}
	for _, pom := range tm.poms {
		if pom, err = c.pushJoins(tm, pom); err != nil {
			return err
		}
		if pom == nil {
			continue
		}
		compiled, err := c.predicateObjectMap(pom, g)
		if err != nil {
			return err
		}
		s.poms = append(s.poms, compiled)
	}
	c.plan.steps = append(c.plan.steps, s)
	c.plan.steps = append(c.plan.steps, c.joints...)
	c.joints = nil
	return nil
}

// object compiles an object map.
func (c generatorCompiler) object(om *objectMap) (objectStep, error) {
	var o objectStep
	var err error
	switch {
	case om.parent == nil:
		o.gen, err = c.compile(om.term)
	case len(om.joins) == 0:
		parent := c
		parent.mention = true
		parent.base = c.opts.chooseBase(om.parent)
		o.gen, err = parent.compile(om.parent.subject)
	default:
		o.join, err = c.join(om, c)
	}
	return o, err
}

func (c *compiler) predicateObjectMap(pom *predicateObjectMap, g generatorCompiler) (pomStep, error) {
	s := pomStep{node: pom.node}
	var err error
	if s.predicates, err = g.compileAll(pom.predicates); err != nil {
		return s, err
	}
	for _, predicate := range s.predicates {
		predicate.first = c.opts.Dialect == DialectCARML
	}
	if s.graphs, err = g.compileAll(pom.graphs); err != nil {
		return s, err
	}
	for _, om := range pom.objects {
		o, err := g.object(om)
		if err != nil {
			return s, err
		}
		s.objects = append(s.objects, o)
	}
	return s, nil
}

func (c *compiler) join(om *objectMap, child generatorCompiler) (*joinPlan, error) {
	j := &joinPlan{index: len(c.plan.joins), node: om.node}
	var err error
	if j.input, j.iterator, err = c.records(om.parent.source); err != nil {
		return nil, err
	}
	parent := generatorCompiler{compiler: c, in: j.input, base: c.opts.chooseBase(om.parent)}
	parent.mention = true
	if j.subject, err = parent.compile(om.parent.subject); err != nil {
		return nil, err
	}
	if j.child, j.parent, err = compileKeys(om.joins, child, parent); err != nil {
		return nil, err
	}
	c.plan.joins = append(c.plan.joins, j)
	return j, nil
}

// compileKeys compiles the two sides of join conditions.
func compileKeys(conditions []joinCondition, child, parent generatorCompiler) (left, right []*generator, err error) {
	for _, condition := range conditions {
		l, err := child.compileText(condition.child)
		if err != nil {
			return nil, nil, err
		}
		r, err := parent.compileText(condition.parent)
		if err != nil {
			return nil, nil, err
		}
		left = append(left, l)
		right = append(right, r)
	}
	return left, right, nil
}

// records resolves the logical source of a triples map to an input and one of
// its iterators.
func (c *compiler) records(source logicalSource) (in, iterator int, err error) {
	key := source.key()
	in, ok := c.inputs[key]
	switch {
	case ok:
	case source.view != nil:
		if in, err = c.view(source); err != nil {
			return 0, 0, err
		}
	default:
		if err := source.checkDialect(c.opts.Dialect); err != nil {
			return 0, 0, err
		}
		in = len(c.plan.inputs)
		c.plan.inputs = append(c.plan.inputs, c.newInput(source))
		c.plan.sources = append(c.plan.sources, in)
	}
	c.inputs[key] = in
	plan, spread := c.plan.inputs[in], c.spreads(source)
	for i, path := range plan.iterators {
		if path.String() == source.iterator && plan.spread[i] == spread {
			return in, i, nil
		}
	}
	path, err := plan.compiler.CompileIterator(source.iterator)
	if err != nil {
		return 0, 0, source.node.errorf("its iterator is not valid: %v", err)
	}
	plan.iterators = append(plan.iterators, path)
	plan.spread = append(plan.spread, spread)
	return in, len(plan.iterators) - 1, nil
}

// spreads reports whether each element of an array that the iterator selects is
// a record. Under the legacy vocabulary it is, as in CARML, if the iterator
// names one place of the document: "$" or "$.list". Each value that "$.list[*]"
// selects is a record, even if it is an array. In RML-Core an array is one
// record.
func (c *compiler) spreads(s logicalSource) bool {
	if _, chosen := c.opts.Evaluators[JSONPath]; c.opts.Dialect == DialectCARML && !chosen {
		return false // the documents of the dialect do it
	}
	if s.vocab != document.Legacy || s.view != nil || s.Formulation != JSONPath {
		return false
	}
	path, err := jsondoc.ParseReference(cmp.Or(s.iterator, "$"))
	return err == nil && path.Singular()
}

// key identifies the input of a logical source. Two logical sources share an
// input when their source and all settings of its parser are equal.
func (s logicalSource) key() string {
	var b strings.Builder
	write := func(parts ...string) {
		for _, p := range parts {
			b.WriteString(p)
			b.WriteByte(0)
		}
	}
	write(s.String(), string(s.Formulation))
	if s.WorkingDirectory {
		write("cwd")
	}
	write(s.Name, s.Access.Method, s.Access.MediaType, s.Access.Headers)
	write(string(s.Access.Security.Scheme), s.Access.Security.In, s.Access.Security.Name)
	write(s.Query, s.Database.URL, s.Database.Username, string(s.Database.Password))
	write(string(rune(s.Encoding)), string(rune(s.Compression)))
	for _, ns := range s.details.namespaces {
		write(ns.prefix, ns.iri)
	}
	write(fmt.Sprintf("%#v", s.details.dialect))
	return b.String()
}

func (c *compiler) newInput(source logicalSource) *inputPlan {
	limits := input.Limits{MaxDepth: c.opts.Limits.MaxDepth, MaxNodes: c.opts.Limits.MaxNodes}
	in := &inputPlan{source: source.Source}
	switch source.Formulation {
	case SQL:
		in.table = &tablePlan{columns: rowdoc.New()}
		in.compiler = in.table.columns
	case CSV:
		format := source.details.dialect
		format.Lenient = c.opts.Dialect == DialectCARML
		in.compiler = csvdoc.New(format, limits)
	case XPath:
		namespaces := make([]xmldoc.Namespace, len(source.details.namespaces))
		for i, ns := range source.details.namespaces {
			namespaces[i] = xmldoc.Namespace{Prefix: ns.prefix, IRI: ns.iri}
		}
		xml := xmldoc.New(namespaces, limits)
		if c.opts.Dialect == DialectCARML {
			xml.ReadAsCARML()
		}
		in.compiler = xml
	default:
		json := jsondoc.New(limits)
		if c.opts.Dialect == DialectCARML {
			json = jsondoc.NewJayway(limits)
		}
		if c.opts.StrictInput {
			json.ReadStrictly()
		}
		in.compiler = json
		lower := strings.ToLower(source.Name)
		in.lines = source.Kind == SourceFile && (strings.HasSuffix(lower, ".ndjson") || strings.HasSuffix(lower, ".jsonl"))
	}
	if source.Formulation != CSV { // whose reader finds them itself
		in.nulls = source.details.dialect.Null
	}
	if e, chosen := c.opts.Evaluators[source.Formulation]; chosen {
		in.compiler = e.compiler(source, in.compiler, limits)
	}
	return in
}

// prefixes returns the prefixes for Turtle: those given, or those of the
// mapping that a constant of the plan uses.
func (c *compiler) prefixes() []rdf.Prefix {
	if c.opts.Prefixes != nil {
		return c.opts.Prefixes
	}
	var used []rdf.Prefix
	for _, p := range c.mapping.prefixes {
		for iri := range c.usedIRIs {
			if p.IRI != "" && strings.HasPrefix(iri, p.IRI) {
				used = append(used, p)
				break
			}
		}
	}
	return used
}
