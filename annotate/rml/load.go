package rml

import (
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
)

// LoadOptions tunes [Load].
type LoadOptions struct {
	// Base resolves the relative IRIs of a mapping that declares no @base.
	// Empty means http://example.com/base/.
	Base string
	// MaxBytes bounds the size of the mapping document. Zero means 4 MiB.
	MaxBytes int64
}

const defaultMappingBytes = 4 << 20

// Load reads a mapping in Turtle and checks it. Errors are a [*MappingError].
func Load(src []byte, opts *LoadOptions) (*Mapping, error) {
	var o LoadOptions
	if opts != nil {
		o = *opts
	}
	if o.Base == "" {
		o.Base = defaultBase
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMappingBytes
	}
	g, err := document.Read(src, rdf.ReaderOptions{Base: o.Base, MaxBytes: o.MaxBytes})
	if err != nil {
		return nil, &MappingError{Reason: err.Error(), cause: err}
	}
	return loadGraph(g)
}

// MappingStatement is a statement of a mapping with its line in the text that it comes from.
type MappingStatement struct {
	rdf.Quad
	// Line is the line, or 0 when it is not known.
	Line int
}

// LoadStatements checks a mapping that was read from another notation than Turtle, such as YARRRML.
// The order of the statements is that of the document; graph names are ignored. opts may be nil; only Base
// is used. Errors are a [*MappingError] with the lines of the statements.
func LoadStatements(statements []MappingStatement, prefixes []rdf.Prefix, opts *LoadOptions) (*Mapping, error) {
	base := defaultBase
	if opts != nil && opts.Base != "" {
		base = opts.Base
	}
	g, err := document.New(base, prefixes)
	if err != nil {
		return nil, &MappingError{Reason: err.Error(), cause: err}
	}
	for _, s := range statements {
		s.Graph = rdf.Term{}
		g.Add(s.Quad, s.Line)
	}
	return loadGraph(g)
}

func loadGraph(g *document.Graph) (*Mapping, error) {
	l := &loader{
		Graph: g, maps: make(map[rdf.Term]*triplesMap),
		views: make(map[rdf.Term]*logicalView), finished: make(map[*logicalView]bool),
	}
	return l.load()
}

// loader turns the graph of a mapping document into the model.
type loader struct {
	*document.Graph
	maps map[rdf.Term]*triplesMap
	todo []*triplesMap // created, in document order, and not filled yet

	depth   int // of nodes that may contain each other
	entered int // how many such nodes were loaded, each as often as it is used

	views    map[rdf.Term]*logicalView
	finished map[*logicalView]bool
}

func (l *loader) load() (*Mapping, error) {
	executions := l.functionValues()
	for _, subject := range l.Subjects {
		if executions[subject] {
			continue
		}
		if r := l.Index[subject]; r.IsA("TriplesMap") || r.Has("logicalSource") || r.Has("logicalTable") ||
			r.Has("subjectMap") || r.Has("subject") {
			l.triplesMap(subject)
		}
	}
	if len(l.todo) == 0 {
		return nil, &MappingError{Reason: "it holds no triples map: expected a node of type rr:TriplesMap or rml:TriplesMap"}
	}
	m := &Mapping{prefixes: l.Prefixes}
	for len(l.todo) > 0 {
		tm := l.todo[0]
		l.todo = l.todo[1:]
		if err := l.fill(tm); err != nil {
			return nil, err
		}
		m.maps = append(m.maps, tm)
	}
	for _, tm := range m.maps {
		if err := checkParents(tm); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// triplesMap returns the triples map of a node; it is filled in later, so that
// triples maps may refer to each other.
func (l *loader) triplesMap(t rdf.Term) *triplesMap {
	if tm := l.maps[t]; tm != nil {
		return tm
	}
	r := l.About(t)
	tm := &triplesMap{node: l.node(r, "triples map"), vocab: r.Generation()}
	l.maps[t] = tm
	l.todo = append(l.todo, tm)
	return tm
}

// node names a resource for error messages. Unnamed nodes are named by their
// kind alone; the line identifies them.
func (l *loader) node(r *document.Resource, kind string) node {
	n := node{term: r.Term, line: r.Line, name: kind}
	if r.Term.Kind == rdf.IRI {
		n.name += " " + l.Write(r.Term)
	}
	return n
}

// part names a resource by its kind and its parent. One without statements has the line of the parent.
func (l *loader) part(r *document.Resource, kind string, parent node) node {
	n := l.node(r, kind+" of "+parent.name)
	if n.line == 0 {
		n.line = parent.line
	}
	return n
}

func (l *loader) fill(tm *triplesMap) error {
	r := l.About(tm.node.term)
	if err := l.known(r, tm.node, "triples map"); err != nil {
		return err
	}
	if err := l.base(r, tm); err != nil {
		return err
	}
	if err := l.recordSource(r, tm); err != nil {
		return err
	}
	if err := l.subject(r, tm); err != nil {
		return err
	}
	for _, object := range r.All("predicateObjectMap") {
		pom, err := l.predicateObjectMap(object, tm)
		if err != nil {
			return err
		}
		tm.poms = append(tm.poms, pom)
	}
	return nil
}

// recordSource loads the logical source or the logical table of a triples map.
func (l *loader) recordSource(r *document.Resource, tm *triplesMap) (err error) {
	sources, tables := r.All("logicalSource"), r.All("logicalTable")
	switch {
	case len(sources)+len(tables) != 1:
		return tm.node.errorf("it has %s: expected exactly one logicalSource or logicalTable",
			count(len(sources)+len(tables), "logical source"))
	case len(tables) == 1:
		tm.source, err = l.logicalTable(tables[0], tm.node)
	default:
		tm.source, err = l.logicalSource(sources[0], tm.node)
	}
	return err
}

func (l *loader) base(r *document.Resource, tm *triplesMap) error {
	switch bases := r.All("baseIRI"); {
	case len(bases) > 1:
		return tm.node.errorf("it has %d base IRIs: expected at most one", len(bases))
	case len(bases) == 1 && bases[0].Kind != rdf.IRI:
		return tm.node.errorf("its baseIRI is %s: expected an IRI", l.Write(bases[0]))
	case len(bases) == 1:
		tm.base = bases[0].Value
	}
	return nil
}

func (l *loader) subject(r *document.Resource, tm *triplesMap) error {
	shortcuts, subjects := r.All("subject"), r.All("subjectMap")
	if n := len(shortcuts) + len(subjects); n != 1 {
		return tm.node.errorf("it has %s: expected exactly one subjectMap or subject", count(n, "subject map"))
	}
	if len(shortcuts) == 1 {
		var err error
		tm.subject, err = l.constantMap(shortcuts[0], tm.node, subjectRole)
		return err
	}
	sr := l.About(subjects[0])
	var err error
	if tm.subject, err = l.termMap(sr, tm.node, subjectRole, "subject map"); err != nil {
		return err
	}
	for _, class := range sr.All("class") {
		if class.Kind != rdf.IRI {
			return tm.subject.node.errorf("its class is %s: expected an IRI", l.Write(class))
		}
		c, err := l.constantMap(class, tm.subject.node, objectRole)
		if err != nil {
			return err
		}
		tm.classes = append(tm.classes, c)
	}
	tm.graphs, err = l.termMaps(sr, tm.subject.node, "graph", graphRole)
	return err
}

func (l *loader) predicateObjectMap(t rdf.Term, tm *triplesMap) (*predicateObjectMap, error) {
	r := l.About(t)
	pom := &predicateObjectMap{node: l.part(r, "predicate-object map", tm.node)}
	if err := l.known(r, pom.node, "predicate-object map"); err != nil {
		return nil, err
	}
	var err error
	if pom.predicates, err = l.termMaps(r, pom.node, "predicate", predicateRole); err != nil {
		return nil, err
	}
	if len(pom.predicates) == 0 {
		return nil, pom.node.errorf("it has no predicate: expected at least one predicate or predicateMap")
	}
	if pom.graphs, err = l.termMaps(r, pom.node, "graph", graphRole); err != nil {
		return nil, err
	}
	for _, s := range r.Statements {
		var om *objectMap
		switch s.Name {
		case "object":
			om = &objectMap{}
			om.term, err = l.constantMap(s.Object, pom.node, objectRole)
		case "objectMap":
			om, err = l.objectMap(s.Object, pom.node)
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		pom.objects = append(pom.objects, om)
	}
	if len(pom.objects) == 0 {
		return nil, pom.node.errorf("it has no object: expected at least one object or objectMap")
	}
	return pom, nil
}

func (l *loader) objectMap(t rdf.Term, parent node) (*objectMap, error) {
	r := l.About(t)
	if !r.Has("parentTriplesMap") {
		tm, err := l.termMap(r, parent, objectRole, "object map")
		return &objectMap{term: tm}, err
	}
	om := &objectMap{node: l.part(r, "referencing object map", parent)}
	parents := r.All("parentTriplesMap")
	if len(parents) != 1 {
		return nil, om.node.errorf("it has %d parent triples maps: expected one", len(parents))
	}
	for _, property := range document.ExpressionProperties() {
		if r.Has(property) {
			return nil, om.node.errorf("it has both a parentTriplesMap and a %s: expected one of them", property)
		}
	}
	if err := l.known(r, om.node, "referencing object map"); err != nil {
		return nil, err
	}
	if _, said := l.Index[parents[0]]; !said {
		return nil, om.node.errorf("its parentTriplesMap %s is not in the mapping", l.Write(parents[0]))
	}
	om.parent = l.triplesMap(parents[0])
	var err error
	om.joins, err = l.joinConditions(r, om.node)
	return om, err
}

func (l *loader) joinConditions(r *document.Resource, parent node) ([]joinCondition, error) {
	var joins []joinCondition
	for _, c := range r.All("joinCondition") {
		join, err := l.joinCondition(c, parent)
		if err != nil {
			return nil, err
		}
		joins = append(joins, join)
	}
	return joins, nil
}

func (l *loader) joinCondition(t rdf.Term, parent node) (joinCondition, error) {
	r := l.About(t)
	n := l.part(r, "join condition", parent)
	if err := l.known(r, n, "join condition"); err != nil {
		return joinCondition{}, err
	}
	var join joinCondition
	for _, side := range []struct {
		name string
		to   **termMap
	}{{"child", &join.child}, {"parent", &join.parent}} {
		shortcuts, maps := r.All(side.name), r.All(side.name+"Map")
		switch {
		case len(shortcuts)+len(maps) != 1:
			return join, n.errorf("it has %s: expected exactly one %s or %[2]sMap",
				count(len(shortcuts)+len(maps), side.name), side.name)
		case len(shortcuts) == 1 && shortcuts[0].Kind != rdf.Literal:
			return join, n.errorf("its %s is %s: expected a reference in quotes", side.name, l.Write(shortcuts[0]))
		case len(shortcuts) == 1:
			*side.to = &termMap{
				node:     n,
				role:     side.name,
				kind:     referenceExpression,
				ref:      shortcuts[0].Value,
				termType: literalTerm,
				vocab:    r.Generation(),
			}
		default:
			var err error
			if *side.to, err = l.termMap(l.About(maps[0]), n, expressionRole, side.name+" map"); err != nil {
				return join, err
			}
		}
	}
	return join, nil
}

// checkParents checks the references to other triples maps, once all are
// filled: without a join condition the parent must read the same records.
func checkParents(tm *triplesMap) error {
	if err := checkMembers(tm, tm.subject); err != nil {
		return err
	}
	for _, pom := range tm.poms {
		for _, om := range pom.objects {
			if err := checkParent(tm, om); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkParent(tm *triplesMap, om *objectMap) error {
	if om.parent == nil {
		return checkMembers(tm, om.term)
	}
	if len(om.joins) == 0 &&
		(om.parent.source.Source != tm.source.Source || om.parent.source.iterator != tm.source.iterator) {
		return om.node.errorf("it has no joinCondition, yet %s reads other records: expected a joinCondition or the "+
			"same logical source", om.parent.node.name)
	}
	return nil
}

// checkMembers checks the members of the collection that a term map generates.
func checkMembers(tm *triplesMap, gathers *termMap) error {
	if gathers.gather == nil {
		return nil
	}
	for _, om := range gathers.gather.maps {
		if err := checkParent(tm, om); err != nil {
			return err
		}
	}
	return nil
}

// known returns an error for a property of the language that does not belong on
// a node.
func (l *loader) known(r *document.Resource, n node, kinds ...string) error {
	for _, s := range r.Statements {
		if s.Name == "" || s.Predicate == rdf.Type {
			continue
		}
		if slices.ContainsFunc(kinds, func(kind string) bool { return slices.Contains(document.Properties(kind), s.Name) }) {
			continue
		}
		if kinds[0] != "triples map" && slices.Contains(document.ExpressionProperties(), s.Name) &&
			slices.Contains(termMapKinds, kinds[0]) {
			continue
		}
		written := l.Shorten(s.Predicate)
		var allowed []string
		for _, kind := range kinds {
			allowed = append(allowed, document.Properties(kind)...)
		}
		if len(allowed) == 0 {
			return n.errorf("%s does not belong here: expected no property of the mapping language", written)
		}
		return n.errorf("%s does not belong here: expected one of %s", written, strings.Join(allowed, ", "))
	}
	return nil
}
