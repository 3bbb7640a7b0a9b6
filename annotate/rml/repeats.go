package rml

// repeats reports whether two places of a plan could make the same statement
// of one record each: they agree in their predicate and could in their object.
// Where none could, only places that make several statements need a look.
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
	seen[constants], seen[object] = true, true
	return clash
}
