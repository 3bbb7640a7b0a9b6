package yarrrml

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
)

// Write returns a mapping in RML as YARRRML. [Read] of the result gives a mapping that generates
// the same graph. What YARRRML cannot express is a [*rml.MappingError] that names the map, its
// line and the term.
//
// The mapping must be in the legacy vocabulary, which is the one that YARRRML stands for. Statements of
// other vocabularies, such as comments, say nothing about the graph. They are left out, and each of
// them is a finding; the names and authors of mappings are kept.
func Write(d *Document) ([]byte, []rml.Finding, error) {
	if _, err := rml.LoadStatements(d.Statements, d.Prefixes, nil); err != nil {
		return nil, nil, err
	}
	g, err := document.New("", d.Prefixes)
	if err != nil {
		return nil, nil, &rml.MappingError{Reason: err.Error()}
	}
	for _, s := range d.Statements {
		q := s.Quad
		q.Graph = rdf.Term{}
		g.Add(q, s.Line)
	}
	w := &writer{
		Graph: g, known: knownPrefixes(), used: make(map[string]bool),
		names: make(map[rdf.Term]string), taken: make(map[string]bool), visited: make(map[rdf.Term]bool),
	}
	for _, p := range d.Prefixes {
		w.known[p.Name] = p.IRI
	}
	root := w.document()
	if w.err != nil {
		return nil, nil, w.err
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return nil, nil, fmt.Errorf("yarrrml: write YAML: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return nil, nil, fmt.Errorf("yarrrml: write YAML: %w", err)
	}
	if _, err := Load(out.Bytes(), nil); err != nil { // such as calls that are nested deeper than the reader goes
		return nil, nil, &rml.MappingError{Reason: "it cannot be expressed in YARRRML that can be read again: " + err.Error()}
	}
	return out.Bytes(), w.leftOut(), nil
}

// writer turns the statements of a mapping into a document. Like those of the reader, its methods go on after
// an error; only the first error counts.
type writer struct {
	*document.Graph
	err error

	known   map[string]string // prefixes that need no declaration, and those of the mapping
	used    map[string]bool   // prefixes
	maps    []rdf.Term        // triples maps, in the order of the mapping
	names   map[rdf.Term]string
	taken   map[string]bool // names
	visited map[rdf.Term]bool
	in      string // the triples map that is written
	inTable bool   // whether it reads a database
}

// fail keeps the first error.
func (w *writer) fail(r *document.Resource, what, format string, args ...any) {
	if w.err != nil {
		return
	}
	node := what
	if w.in != "" && what != w.in {
		node = what + " of " + w.in
	}
	w.err = &rml.MappingError{Node: node, Line: r.Line, Reason: fmt.Sprintf(format, args...)}
}

// about returns what the mapping says about a node. A property of the language other than those that the caller
// writes is an error.
func (w *writer) about(t rdf.Term, what string, properties ...string) *document.Resource {
	r := w.About(t)
	w.visited[t] = true
	for _, s := range r.Statements {
		if s.Name != "" && s.Predicate != rdf.Type && !slices.Contains(properties, s.Name) {
			w.fail(r, what, "YARRRML cannot express its %s", w.Shorten(s.Predicate))
		}
	}
	return r
}

func (w *writer) document() *yaml.Node {
	w.findMaps()
	mappings := object()
	for _, t := range w.maps {
		w.in = "triples map"
		if t.Kind == rdf.IRI {
			w.in += " " + w.Shorten(t.Value)
		}
		add(mappings, w.names[t], w.triplesMap(t))
	}
	w.in = ""
	base, authors := w.base(), w.authors()
	root := object()
	if prefixes := w.prefixes(); len(prefixes.Content) > 0 {
		add(root, "prefixes", prefixes)
	}
	if base != "" {
		add(root, "base", text(base))
	}
	if len(authors.Content) > 0 {
		add(root, "authors", authors)
	}
	add(root, "mappings", mappings)
	return root
}

// prefixes returns the prefixes that are used. Those that need no declaration have one too, because not every reader of
// YARRRML has them.
func (w *writer) prefixes() *yaml.Node {
	prefixes := object()
	for _, p := range w.Prefixes {
		if w.used[p.Name] && p.IRI == w.known[p.Name] {
			w.used[p.Name] = false
			add(prefixes, p.Name, text(p.IRI))
		}
	}
	return prefixes
}

// findMaps lists the triples maps and names them.
func (w *writer) findMaps() {
	executions := make(map[rdf.Term]bool)
	parents := make(map[rdf.Term]bool)
	for _, s := range w.Subjects {
		for _, t := range w.About(s).All("functionValue") {
			executions[t] = true
		}
		for _, t := range w.About(s).All("parentTriplesMap") {
			parents[t] = true
		}
	}
	for _, s := range w.Subjects {
		r := w.About(s)
		if parents[s] || (!executions[s] && (r.IsA("TriplesMap") || r.Has("logicalSource") || r.Has("logicalTable") ||
			r.Has("subjectMap") || r.Has("subject"))) {
			w.maps = append(w.maps, s)
			w.names[s] = w.findName(r)
		}
	}
}

// findName returns the name of a mapping: the label of its triples map, or the last part of its IRI.
func (w *writer) findName(r *document.Resource) string {
	name := "map"
	if label, ok := r.Value(nsRDFS + "label"); ok && label.Value != "" {
		name = label.Value
	} else if r.Term.Kind == rdf.IRI {
		parts := strings.FieldsFunc(r.Term.Value, func(c rune) bool { return c == '/' || c == '#' })
		if len(parts) > 0 {
			name = parts[len(parts)-1]
		}
	}
	unique := name
	for i := 2; w.taken[unique]; i++ {
		unique = fmt.Sprintf("%s_%d", name, i)
	}
	w.taken[unique] = true
	return unique
}

// base returns the base IRI that all triples maps have.
func (w *writer) base() string {
	base := ""
	for i, t := range w.maps {
		r := w.About(t)
		own := ""
		if bases := r.All("baseIRI"); len(bases) > 0 {
			own = bases[0].Value
		}
		if i > 0 && own != base {
			w.fail(r, "triples map "+w.Write(t), "its baseIRI is not that of the triples maps before it: "+
				"YARRRML has one base for all mappings")
		}
		base = own
	}
	return base
}

func (w *writer) triplesMap(t rdf.Term) *yaml.Node {
	r := w.about(t, w.in, "logicalSource", "logicalTable", "subjectMap", "subject", "predicateObjectMap", "baseIRI")
	if r.Generation() == document.Modern {
		w.fail(r, w.in, "it is in the vocabulary %s, where values have natural datatypes and terms that cannot be generated are errors: "+
			"YARRRML stands for the legacy vocabulary", nsModern)
	}
	m := object()
	w.inTable = r.Has("logicalTable")
	for _, table := range r.All("logicalTable") {
		add(m, "sources", list(w.table(table)))
	}
	for _, source := range r.All("logicalSource") {
		add(m, "sources", list(w.source(source)))
	}
	po := list()
	for _, subject := range r.All("subject") {
		add(m, "subjects", w.constant(r, "subject", subject).node(iriKind))
	}
	for _, subject := range r.All("subjectMap") {
		s := w.termMap(subject, "subject map", subjectRole, "class", "graph", "graphMap")
		if !s.isFresh() {
			add(m, "subjects", s.node(iriKind))
		}
		w.addGraphs(m, w.About(subject))
		for _, class := range w.About(subject).All("class") {
			po.Content = append(po.Content, flow(text("a"), w.constant(w.About(subject), "class", class).node(iriKind)))
		}
	}
	for _, pom := range r.All("predicateObjectMap") {
		po.Content = append(po.Content, w.predicateObject(pom))
	}
	if len(po.Content) > 0 {
		add(m, "po", po)
	}
	return m
}

// addGraphs adds the graphs of a subject map or a predicate-object map.
func (w *writer) addGraphs(to *yaml.Node, r *document.Resource) {
	graphs := list()
	for _, s := range r.Statements {
		switch s.Name {
		case "graph":
			graphs.Content = append(graphs.Content, w.constant(r, "graph", s.Object).node(iriKind))
		case "graphMap":
			graphs.Content = append(graphs.Content, w.termMap(s.Object, "graph map", graphRole).node(iriKind))
		}
	}
	if len(graphs.Content) > 0 {
		add(to, "graphs", short(graphs))
	}
}

// predicateObject returns [predicate, object], with a datatype or language if there is one, or an object where that is
// not enough.
func (w *writer) predicateObject(t rdf.Term) *yaml.Node {
	const what = "predicate-object map"
	r := w.about(t, what, "predicate", "predicateMap", "object", "objectMap", "graph", "graphMap")
	predicates, usual := list(), iriKind // of objects whose kind is not written
	for _, s := range r.Statements {
		var p termText
		switch s.Name {
		case "predicate":
			p = w.constant(r, "predicate", s.Object)
		case "predicateMap":
			p = w.termMap(s.Object, "predicate map", predicateRole)
		default:
			continue
		}
		if p.isPlain(iriKind) && p.iri == rdf.Type {
			predicates.Content = append(predicates.Content, text("a"))
			continue
		}
		usual = literalKind
		predicates.Content = append(predicates.Content, p.node(iriKind))
	}
	var objects []termText
	written := list()
	for _, s := range r.Statements {
		switch s.Name {
		case "object":
			objects = append(objects, w.constant(r, "object", s.Object))
		case "objectMap":
			if w.About(s.Object).Has("parentTriplesMap") {
				written.Content = append(written.Content, w.reference(s.Object))
				continue
			}
			objects = append(objects, w.termMap(s.Object, "object map", objectRole,
				"datatype", "datatypeMap", "language", "languageMap"))
		default:
			continue
		}
		written.Content = append(written.Content, objects[len(objects)-1].node(usual))
	}
	m := object()
	add(m, "predicates", short(predicates))
	add(m, "objects", short(written))
	w.addGraphs(m, r)
	if len(m.Content) == 4 && len(predicates.Content) == 1 && len(objects) == 1 && len(written.Content) == 1 {
		if parts := objects[0].parts(usual); parts != nil {
			return flow(append([]*yaml.Node{predicates.Content[0]}, parts...)...)
		}
	}
	return m
}

// reference returns the reference of an object to the subjects of another mapping.
func (w *writer) reference(t rdf.Term) *yaml.Node {
	const what = "object map"
	r := w.about(t, what, "parentTriplesMap", "joinCondition")
	m := object()
	for _, parent := range r.All("parentTriplesMap") {
		add(m, "mapping", text(w.names[parent]))
	}
	conditions := list()
	for _, join := range r.All("joinCondition") {
		c := w.about(join, "join condition", "child", "parent", "childMap", "parentMap")
		conditions.Content = append(conditions.Content, object(member{"function", text("equal")}, member{"parameters", list(
			flow(text("str1"), w.joinSide(c, "child"), text("s")), flow(text("str2"), w.joinSide(c, "parent"), text("o")))}))
	}
	if len(conditions.Content) > 0 {
		add(m, "condition", short(conditions))
	}
	return m
}

// joinSide returns the expression of one side of a join.
func (w *writer) joinSide(r *document.Resource, side string) *yaml.Node {
	for _, ref := range r.All(side) {
		return text(referenceText(ref.Value))
	}
	for _, t := range r.All(side + "Map") {
		m := w.termMap(t, side+" map", argumentRole)
		m.kind = literalKind
		if m.isPlain(literalKind) {
			return text(m.value)
		}
		w.fail(w.About(t), side+" map", "YARRRML takes a reference or a template on a side of a join only")
	}
	return text("")
}
