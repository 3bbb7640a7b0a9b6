package shacl

import "github.com/iotenablers/enablers/annotate/rdf"

// shape is a node shape or property shape.
type shape struct {
	node        rdf.Term
	line        int   // where it begins
	path        *path // nil for a node shape
	pathText    string
	deactivated bool
	severity    string
	messages    []rdf.Term
	constraints []constraint
	properties  []*shape // of sh:property

	targetNodes             []id
	targetClasses           []id
	targetSubjects, objects []id // of predicates

	compiled bool
}

// constraint is one constraint of a shape. It returns whether the value nodes conform.
// Where the run reports it adds a result for each value that does not; otherwise it
// may return at the first.
type constraint interface {
	check(r *run, s *shape, focus id, values []id) bool
}

// targeted reports whether the shape has targets.
func (s *shape) targeted() bool {
	return len(s.targetNodes)+len(s.targetClasses)+len(s.targetSubjects)+len(s.objects) > 0
}
