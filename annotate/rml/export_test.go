package rml

import (
	"io"
	"slices"
)

// Unpack returns the text of a target, for tests that read back what was
// written.
func Unpack(r io.Reader, t Target) (io.Reader, error) {
	return unpack(r, Source{Compression: t.Compression, Encoding: t.Encoding})
}

// Variant returns the plan without its flat predicate-object maps, or without
// the knowledge that its places cannot generate the same statement. Neither may
// change what the plan gives.
func Variant(p *Plan, flat, doubtful bool) *Plan {
	changed := *p
	changed.doubtful = p.doubtful || doubtful
	changed.steps = nil
	for _, s := range p.steps {
		step := *s
		step.poms = slices.Clone(s.poms)
		for i := range step.poms {
			if !flat {
				step.poms[i].flat = nil
			}
		}
		changed.steps = append(changed.steps, &step)
	}
	return &changed
}

// Undivided returns the plan with all messages mapped as a whole.
func Undivided(p *Plan) *Plan {
	changed := *p
	changed.divides = false
	return &changed
}
