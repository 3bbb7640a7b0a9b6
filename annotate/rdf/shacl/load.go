package shacl

import (
	"fmt"
	"sync"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// Options are the optional settings of [Load]. A nil *Options means the defaults.
type Options struct {
	// Base resolves relative IRIs of the shapes graph. Without one they are errors.
	Base string
	// MaxBytes bounds the length of the shapes graph in bytes; 0 means 1 MiB.
	MaxBytes int64
	// MaxSteps bounds the work of one validation: a step is a statement that is read
	// or found, or a node that a shape is tried on. 0 means 10,000,000.
	MaxSteps int
	// MaxResults bounds the results that a report lists; it counts all. 0 means 1000.
	MaxResults int
}

const (
	defaultMaxBytes   = 1 << 20
	defaultMaxSteps   = 10_000_000
	defaultMaxResults = 1000
	maxShapeDepth     = 64
)

// Shapes is a compiled shapes graph. It does not change and is safe for concurrent use.
type Shapes struct {
	constants  map[rdf.Term]id
	terms      []rdf.Term
	targeted   []*shape
	typeOf     id
	subclasses *path // from a class to itself and its subclasses
	classes    *path // from an instance to its classes and their superclasses
	maxSteps   int
	maxResults int
	runs       sync.Pool // of *run
}

// Load reads a shapes graph in Turtle and compiles it. Errors are those of
// [rdf.Reader], or an [*Error] for an ill-formed shape.
func Load(turtle []byte, opts *Options) (*Shapes, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.MaxBytes < 0 || o.MaxSteps < 0 || o.MaxResults < 0 {
		return nil, fmt.Errorf("load shapes: MaxBytes %d, MaxSteps %d, MaxResults %d: none may be below 0",
			o.MaxBytes, o.MaxSteps, o.MaxResults)
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = defaultMaxSteps
	}
	if o.MaxResults == 0 {
		o.MaxResults = defaultMaxResults
	}
	doc, err := readDocument(turtle, &o)
	if err != nil {
		return nil, fmt.Errorf("load shapes: %w", err)
	}
	c := &compiler{
		doc: doc, shapes: map[rdf.Term]*shape{},
		out: &Shapes{constants: map[rdf.Term]id{}, maxSteps: o.MaxSteps, maxResults: o.MaxResults},
	}
	if err := c.compile(); err != nil {
		return nil, fmt.Errorf("load shapes: %w", err)
	}
	return c.out, nil
}

// Targeted returns the number of shapes that have targets. Shapes without targets
// validate nothing by themselves.
func (s *Shapes) Targeted() int { return len(s.targeted) }

// compiler compiles the shapes of a document.
type compiler struct {
	doc       *document
	shapes    map[rdf.Term]*shape
	out       *Shapes
	pathParts int
}

func (c *compiler) constant(t rdf.Term) id {
	n, ok := c.out.constants[t]
	if !ok {
		n = id(len(c.out.terms))
		c.out.constants[t] = n
		c.out.terms = append(c.out.terms, t)
	}
	return n
}

func (c *compiler) constantIDs(terms []rdf.Term) []id {
	var all []id
	for _, t := range terms {
		all = append(all, c.constant(t))
	}
	return all
}

func (c *compiler) compile() error {
	c.out.typeOf = c.constant(rdf.NewIRI(rdf.Type))
	super := &path{kind: predicatePath, predicate: c.constant(rdf.NewIRI(rdfsSubClassOf))}
	c.out.subclasses = &path{kind: zeroOrMorePath, parts: []*path{super.inverse()}}
	c.out.classes = &path{kind: sequencePath, parts: []*path{
		{kind: predicatePath, predicate: c.out.typeOf}, {kind: zeroOrMorePath, parts: []*path{super}},
	}}
	for _, subject := range c.doc.subjects {
		if !c.isShape(subject) {
			continue
		}
		s, err := c.shape(subject, 0)
		if err != nil {
			return err
		}
		if s.targeted() && !s.deactivated {
			c.out.targeted = append(c.out.targeted, s)
		}
	}
	return nil
}

// isShape reports whether a subject is a shape by its own statements (SHACL, section 2.1).
func (c *compiler) isShape(subject rdf.Term) bool {
	node := c.doc.nodes[subject]
	for _, t := range node.objects[rdf.NewIRI(rdf.Type)] {
		if t == rdf.NewIRI(nodeShapeType) || t == rdf.NewIRI(propertyShape) {
			return true
		}
	}
	for _, p := range node.predicates {
		if name, ok := shaclName(p); ok {
			switch findRole(name) {
			case target, parameter, shapeValued, shapeList:
				return true
			}
		}
	}
	return false
}

func shaclName(t rdf.Term) (string, bool) {
	if t.Kind != rdf.IRI || len(t.Value) <= len(Namespace) || t.Value[:len(Namespace)] != Namespace {
		return "", false
	}
	return t.Value[len(Namespace):], true
}

// shape compiles a shape, and those it refers to, once.
func (c *compiler) shape(node rdf.Term, depth int) (*shape, error) {
	if s := c.shapes[node]; s != nil {
		if !s.compiled {
			return nil, c.doc.errorf(node, "the shape refers to itself over other shapes; SHACL does not define that. "+
				"Use sh:class in place of sh:node, or repeat the constraints")
		}
		return s, nil
	}
	if depth > maxShapeDepth {
		return nil, c.doc.errorf(node, "shapes are nested more than %d deep", maxShapeDepth)
	}
	if node.Kind == rdf.Literal {
		return nil, c.doc.errorf(node, "a literal cannot be a shape")
	}
	s := &shape{node: node, severity: Violation}
	c.shapes[node] = s
	if described := c.doc.nodes[node]; described != nil {
		s.line = described.line
	}
	for _, step := range []func(*shape) error{c.describe, c.target} {
		if err := step(s); err != nil {
			return nil, err
		}
	}
	if err := c.constrain(s, depth); err != nil {
		return nil, err
	}
	s.compiled = true
	return s, nil
}

// describe compiles what is not a constraint.
func (c *compiler) describe(s *shape) error {
	d := c.doc
	if node := d.nodes[s.node]; node != nil {
		for _, p := range node.predicates {
			if name, ok := shaclName(p); ok && (findRole(name) == foreign || findRole(name) == pathPart) {
				if name == "declare" || name == "shapesGraph" || name == "entailment" || name == "suggestedShapesGraph" {
					continue
				}
				return d.errorf(s.node, "sh:%s is not a property of shapes in SHACL Core", name)
			}
		}
	}
	where, err := d.one(s.node, "path")
	if err != nil {
		return err
	}
	if !where.IsZero() {
		if s.path, s.pathText, err = c.compilePath(s.node, where, 0); err != nil {
			return err
		}
	}
	for _, t := range d.values(s.node, rdf.NewIRI(rdf.Type)) {
		if t == rdf.NewIRI(propertyShape) && s.path == nil {
			return d.errorf(s.node, "a property shape needs sh:path")
		}
		if t == rdf.NewIRI(nodeShapeType) && s.path != nil {
			return d.errorf(s.node, "a node shape must not have sh:path; make it a sh:PropertyShape")
		}
	}
	severity, err := d.one(s.node, "severity")
	if err != nil {
		return err
	}
	if !severity.IsZero() {
		if severity.Kind != rdf.IRI {
			return d.errorf(s.node, "sh:severity %s: expected an IRI such as sh:Warning", show(severity))
		}
		s.severity = severity.Value
	}
	s.messages = d.all(s.node, "message")
	for _, m := range s.messages {
		if m.Kind != rdf.Literal || m.Datatype != "" {
			return d.errorf(s.node, "sh:message %s: expected a text", show(m))
		}
	}
	s.deactivated, err = c.flag(s.node, "deactivated")
	return err
}

// target compiles the targets (SHACL, section 2.1.3).
func (c *compiler) target(s *shape) error {
	d := c.doc
	for _, name := range []string{"targetClass", "targetSubjectsOf", "targetObjectsOf", "targetNode"} {
		for _, t := range d.all(s.node, name) {
			if t.Kind != rdf.IRI && (name != "targetNode" || t.Kind == rdf.Blank) {
				return d.errorf(s.node, "sh:%s %s: expected an IRI", name, show(t))
			}
		}
	}
	s.targetNodes = c.constantIDs(d.all(s.node, "targetNode"))
	s.targetClasses = c.constantIDs(d.all(s.node, "targetClass"))
	s.targetSubjects = c.constantIDs(d.all(s.node, "targetSubjectsOf"))
	s.objects = c.constantIDs(d.all(s.node, "targetObjectsOf"))
	if s.node.Kind == rdf.IRI && c.isClass(s.node) {
		s.targetClasses = append(s.targetClasses, c.constant(s.node))
	}
	return nil
}

// isClass reports whether a shape is a class too, and so its own target.
func (c *compiler) isClass(node rdf.Term) bool {
	seen := map[rdf.Term]bool{}
	types := append([]rdf.Term(nil), c.doc.values(node, rdf.NewIRI(rdf.Type))...)
	for len(types) > 0 {
		t := types[len(types)-1]
		types = types[:len(types)-1]
		if t == rdf.NewIRI(rdfsClass) || t == rdf.NewIRI(owlClass) {
			return true
		}
		if !seen[t] {
			seen[t] = true
			types = append(types, c.doc.values(t, rdf.NewIRI(rdfsSubClassOf))...)
		}
	}
	return false
}

func (c *compiler) flag(node rdf.Term, name string) (bool, error) {
	value, err := c.doc.one(node, name)
	if err != nil || value.IsZero() {
		return false, err
	}
	if value.Datatype == rdf.XSDBoolean {
		switch value.Value {
		case "true", "1":
			return true, nil
		case "false", "0":
			return false, nil
		}
	}
	return false, c.doc.errorf(node, "sh:%s %s: expected true or false", name, show(value))
}
