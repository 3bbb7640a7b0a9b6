package yarrrml

import (
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// mapping is a mapping of the document. It becomes a triples map for each of its sources and
// each of its subjects.
type mapping struct {
	name     string
	value    value
	members  map[string]value
	sources  []value
	subjects []value // one without a value for new blank nodes
	terms    []rdf.Term
}

func mappingKeys() []key {
	return []key{{"sources", "source"}, {"subjects", "subject", "s"}, {"predicateobjects", "predicateobject", "po"},
		{"graphs", "graph", "g"}, {"conditions", "condition", "c"}}
}

// announce names the triples maps of a mapping, so that others can refer to them.
func (r *reader) announce(p pair) {
	m := &mapping{name: p.name, value: p.value, members: r.members(p.value, mappingKeys())}
	m.value.node = p.key.node // the line of its name
	m.sources = r.oneOrMore(m.members["sources"])
	m.subjects = r.oneOrMore(m.members["subjects"])
	if list := m.members["sources"]; isInline(m.sources) {
		m.sources = []value{list}
	}
	if len(m.sources) == 0 {
		r.fail(m.value, "it has no source: expected the key sources")
	}
	if len(m.subjects) == 0 {
		m.subjects = []value{{path: m.value.path}}
	}
	for range len(m.sources) * len(m.subjects) {
		r.enter(m.value)
		if r.err != nil {
			return
		}
		m.terms = append(m.terms, r.name(m.name))
	}
	r.mappings[m.name] = m
	r.order = append(r.order, m)
}

// isInline reports whether a list of sources is one source that is written without the list
// around it: ['data.json~jsonpath', '$[*]'].
func isInline(sources []value) bool {
	return len(sources) == 2 && sources[0].isScalar() && sources[1].isScalar() && hasFormulation(sources[0].raw()) &&
		(strings.HasPrefix(sources[1].raw(), "$") || strings.HasPrefix(sources[1].raw(), "/"))
}

// mapping states the triples maps of a mapping.
func (r *reader) mapping(m *mapping) {
	next := 0
	for _, source := range m.sources {
		logical := r.source(source)
		for _, subject := range m.subjects {
			if r.err != nil {
				return
			}
			t := m.terms[next]
			next++
			r.state(m.value, t, rdf.Type, rdf.NewIRI(nsRR+"TriplesMap"))
			r.state(m.value, t, nsRDFS+"label", rdf.NewLiteral(m.name))
			r.stateSource(source, t, logical)
			if r.base != "" {
				r.state(m.value, t, nsRML+"baseIRI", rdf.NewIRI(r.base))
			}
			r.triplesMap(m, t, logical, subject)
		}
	}
}

// stateSource states the logical source or logical table of a triples map.
func (r *reader) stateSource(v value, t, logical rdf.Term) {
	property := nsRML + "logicalSource"
	if r.tables[logical] {
		property = nsRR + "logicalTable"
	}
	r.state(v, t, property, logical)
}

func (r *reader) triplesMap(m *mapping, t, logical rdf.Term, subject value) {
	conditions := r.oneOrMore(m.members["conditions"])
	at := subject
	if subject.isZero() {
		at.node = m.value.node
	}
	s := r.node()
	r.state(at, t, nsRR+"subjectMap", s)
	r.state(at, s, rdf.Type, rdf.NewIRI(nsRR+"SubjectMap"))
	r.term(s, termOptions{at: at, source: logical, role: subjectRole, conditions: conditions}, subject)
	r.graphs(m.members["graphs"], s, logical)
	list := m.members["predicateobjects"]
	for _, po := range r.oneOrMore(list) {
		r.predicateObject(m, t, logical, subject, po)
	}
}

// graphs states the graphs of a subject map or a predicate-object map.
func (r *reader) graphs(v value, of, logical rdf.Term) {
	for _, graph := range r.oneOrMore(v) {
		g := r.node()
		r.state(graph, of, nsRR+"graphMap", g)
		r.state(graph, g, rdf.Type, rdf.NewIRI(nsRR+"GraphMap"))
		r.term(g, termOptions{at: graph, source: logical, role: graphRole}, graph)
	}
}

func predicateObjectKeys() []key {
	return []key{{"predicates", "predicate", "p"}, {"objects", "object", "o"}, {"graphs", "graph", "g"},
		{"conditions", "condition", "c"}, {"inversepredicates", "inversepredicate", "i"}}
}

// predicateObject states a predicate-object map.
func (r *reader) predicateObject(m *mapping, t, logical rdf.Term, subject, v value) {
	parts, short := r.predicateObjectParts(v)
	predicates := r.oneOrMore(parts["predicates"])
	if len(predicates) == 0 {
		r.fail(v, "it has no predicate: expected one")
	}
	objects := r.oneOrMore(parts["objects"])
	if len(objects) == 0 {
		r.fail(v, "it has no object: expected one")
	}
	if r.err != nil {
		return
	}
	pom := r.node()
	r.state(v, t, nsRR+"predicateObjectMap", pom)
	r.state(v, pom, rdf.Type, rdf.NewIRI(nsRR+"PredicateObjectMap"))
	types := true
	for _, predicate := range predicates {
		p := r.node()
		r.state(predicate, pom, nsRR+"predicateMap", p)
		r.state(predicate, p, rdf.Type, rdf.NewIRI(nsRR+"PredicateMap"))
		r.term(p, termOptions{at: predicate, source: logical, role: predicateRole}, predicate)
		types = types && isType(r, predicate.raw())
	}
	r.graphs(parts["graphs"], pom, logical)
	conditions := r.oneOrMore(parts["conditions"])
	for _, object := range objects {
		opts := termOptions{at: object, source: logical, role: objectRole, conditions: conditions, tag: short}
		if types {
			opts.kind = iriKind
		}
		r.object(pom, opts, object)
		for _, inverse := range r.oneOrMore(parts["inversepredicates"]) {
			r.inverse(m, logical, subject, inverse, opts, object)
		}
	}
}

// predicateObjectParts returns the parts of a predicate-object map, and the datatype or language
// of its short form.
func (r *reader) predicateObjectParts(v value) (parts map[string]value, tag value) {
	if v.isMap() {
		return r.members(v, predicateObjectKeys()), value{}
	}
	items := r.items(v)
	if r.err != nil {
		return nil, value{}
	}
	if len(items) < 2 || len(items) > 3 {
		r.fail(v, "it has %d parts: expected [predicate, object] or [predicate, object, datatype or language]", len(items))
		return nil, value{}
	}
	if len(items) == 3 {
		tag = items[2]
	}
	return map[string]value{"predicates": items[0], "objects": items[1]}, tag
}

func isType(r *reader, predicate string) bool {
	predicate, _ = cutSuffix(predicate)
	return predicate == "a" || r.expand(predicate) == rdf.Type
}

// object states the object map, or the reference to another mapping.
func (r *reader) object(pom rdf.Term, opts termOptions, v value) {
	if v.isList() { // [object, datatype or language] in a list of objects
		items := r.items(v)
		if len(items) == 0 || len(items) > 2 {
			r.fail(v, "it has %d parts: expected [object] or [object, datatype or language]", len(items))
			return
		}
		if len(items) == 2 {
			opts.tag = items[1]
		}
		v = items[0]
	}
	if v.isMap() {
		for _, p := range r.pairs(v) {
			if p.name == "mapping" || p.name == "mappings" || p.name == "m" {
				r.joins(pom, opts, v)
				return
			}
		}
	}
	for _, each := range r.eachValue(v) {
		o := r.node()
		r.state(v, pom, nsRR+"objectMap", o)
		r.state(v, o, rdf.Type, rdf.NewIRI(nsRR+"ObjectMap"))
		r.fillTermMap(o, opts, v, each)
	}
}

// eachValue returns the values of an object whose key value has a list, or the one that it has.
func (r *reader) eachValue(v value) []value {
	if v.isMap() {
		for _, p := range r.pairs(v) {
			if (p.name == "value" || p.name == "v") && p.value.isList() {
				return r.items(p.value)
			}
		}
	}
	return []value{{}}
}

// inverse states the statements from the object to the subject, as a triples map of its own.
func (r *reader) inverse(m *mapping, logical rdf.Term, subject, predicate value, opts termOptions, object value) {
	if object.isMap() {
		if keys := r.members(object, termKeys()); !keys["mapping"].isZero() {
			r.fail(object, "an inverse predicate of a mapping cannot be expressed in RML: "+
				"expected a predicate in the other mapping")
			return
		}
	}
	if subject.isZero() {
		r.fail(predicate, "an inverse predicate needs a subject, and the mapping generates new blank nodes")
		return
	}
	if k := r.kindOfObject(object, opts.kind); k != iriKind && k != blankKind {
		r.fail(predicate, "an inverse predicate needs an object that is an IRI or a blank node: expected an object with the type iri or blank")
		return
	}
	t := r.name(m.name + "_inverse")
	r.state(predicate, t, rdf.Type, rdf.NewIRI(nsRR+"TriplesMap"))
	r.stateSource(predicate, t, logical)
	if r.base != "" {
		r.state(predicate, t, nsRML+"baseIRI", rdf.NewIRI(r.base))
	}
	s := r.node()
	pom := r.node()
	p := r.node()
	o := r.node()
	r.state(object, t, nsRR+"subjectMap", s)
	opts.role = subjectRole
	r.term(s, opts, object)
	r.state(predicate, t, nsRR+"predicateObjectMap", pom)
	r.state(predicate, pom, nsRR+"predicateMap", p)
	r.term(p, termOptions{at: predicate, source: logical, role: predicateRole}, predicate)
	r.state(subject, pom, nsRR+"objectMap", o)
	r.term(o, termOptions{at: subject, source: logical, role: objectRole, kind: iriKind,
		conditions: r.oneOrMore(m.members["conditions"])}, subject)
}

// valueKindObject returns the kind that an object names, or the usual one.
func (r *reader) kindOfObject(v value, usual kind) kind {
	if v.isMap() {
		m := r.members(v, termKeys())
		if k := r.kindOfType(m["type"]); k != noKind {
			return k
		}
		v = m["value"]
	}
	if _, k := cutSuffix(v.raw()); k != noKind {
		return k
	}
	return usual
}
