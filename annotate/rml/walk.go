package rml

import (
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// walk calls use for every generator of a triples map, with those inside
// others.
func (s *step) walk(use func(*generator)) {
	s.subject.walk(use)
	walkAll(s.graphs, use)
	for i := range s.poms {
		s.poms[i].walk(use)
	}
}

// walk calls use for every generator of a predicate-object map.
func (pom *pomStep) walk(use func(*generator)) {
	walkAll(pom.predicates, use)
	walkAll(pom.graphs, use)
	for _, o := range pom.objects {
		o.walk(use)
	}
}

func (o objectStep) walk(use func(*generator)) {
	if o.join == nil {
		o.gen.walk(use)
		return
	}
	o.join.subject.walk(use)
	walkAll(o.join.child, use)
	walkAll(o.join.parent, use)
}

func walkAll(generators []*generator, use func(*generator)) {
	for _, g := range generators {
		g.walk(use)
	}
}

func (g *generator) walk(use func(*generator)) {
	if g == nil {
		return
	}
	use(g)
	g.datatype.walk(use)
	g.language.walk(use)
	g.when.walk(use)
	if g.call != nil {
		for _, list := range g.call.arguments {
			walkAll(list, use)
		}
	}
	if g.gather != nil {
		for _, o := range g.gather.members {
			o.walk(use)
		}
	}
}

// paths returns the references of a generator itself.
func (g *generator) paths() []input.Path {
	if g.path != nil {
		return []input.Path{g.path}
	}
	var paths []input.Path
	for _, s := range g.segments {
		if s.path != nil {
			paths = append(paths, s.path)
		}
	}
	return paths
}

// repeats reports whether two predicate-object maps of a plan could generate the
// same statement: their predicates are equal and their objects may be. If it is
// false, only maps that generate several statements from a record can generate
// duplicates.
func (p *Plan) repeats() bool {
	seen := make(map[string]bool) // a predicate, or a predicate and its object
	for _, s := range p.steps {
		if s.subject.gather != nil {
			return true
		}
		for _, pom := range s.poms {
			for _, predicate := range pom.predicates {
				if predicate.kind != constantExpression || predicate.gather != nil {
					return true
				}
				for _, o := range pom.objects {
					if repeats(seen, string(predicate.constant), o) {
						return true
					}
				}
			}
		}
	}
	return false
}

func repeats(seen map[string]bool, predicate string, o objectStep) bool {
	if o.gen != nil && o.gen.gather != nil {
		return true
	}
	anything, constants := predicate+"\n*", predicate+"\n"
	if o.gen == nil || o.gen.kind != constantExpression {
		clash := seen[anything] || seen[constants]
		seen[anything] = true
		return clash
	}
	object := constants + string(o.gen.constant)
	clash := seen[anything] || seen[object]
	seen[constants] = true
	seen[object] = true
	return clash
}
