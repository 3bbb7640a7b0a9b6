package rml

// repeats reports whether two predicate-object maps of a plan could make the
// same statement: their predicates are equal and their objects may be. If it is
// false, only maps that make several statements of a record can make
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
	seen[constants], seen[object] = true, true
	return clash
}
