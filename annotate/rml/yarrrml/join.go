package yarrrml

import (
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// joins states the references of an object to the subjects of other mappings.
func (r *reader) joins(pom rdf.Term, opts termOptions, v value) {
	m := r.members(v, []key{{"mapping", "mappings", "m"}, {"conditions", "condition", "c"}})
	conditions := append(r.oneOrMore(m["conditions"]), opts.conditions...)
	for _, name := range r.oneOrMore(m["mapping"]) {
		parent := r.mappings[r.text(name)]
		if r.err != nil {
			return
		}
		if parent == nil {
			r.fail(name, "the mapping %q is not in the document: expected the name of a mapping", name.raw())
			return
		}
		for _, t := range parent.terms {
			o := r.node()
			r.state(v, pom, nsRR+"objectMap", o)
			r.state(v, o, rdf.Type, rdf.NewIRI(nsRR+"RefObjectMap"))
			r.state(name, o, nsRR+"parentTriplesMap", t)
			for _, c := range conditions {
				r.join(c, o)
			}
		}
	}
}

// join states a join condition.
func (r *reader) join(v value, o rdf.Term) {
	m := r.members(v, []key{{"function", "fn", "f"}, {"parameters", "pms"}})
	if name := m["function"].raw(); name != "equal" && r.expand(name) != nsIDLab+"equal" && r.expand(name) != nsGREL+"equal" {
		r.fail(at(m["function"], v), "the condition of a join has the function %q: expected equal", name)
		return
	}
	parameters := r.oneOrMore(m["parameters"])
	if len(parameters) != 2 {
		r.fail(v, "a join has %d parameters: expected str1 and str2", len(parameters))
		return
	}
	c := r.node()
	r.state(v, o, nsRR+"joinCondition", c)
	said := map[string]bool{}
	for i, p := range parameters {
		name, bound, side := r.parameterParts(p)
		if side == "" {
			side = "so"[i : i+1]
			if text := name.raw(); text == "str2" || strings.HasSuffix(text, "valueParameter2") {
				side = "o"
			} else if text == "str1" || strings.HasSuffix(text, "valueParameter") {
				side = "s"
			}
		}
		if said[side] {
			r.fail(p, "both parameters belong to the side %s: expected one s and one o", side)
		}
		said[side] = true
		r.joinSide(bound, c, map[string]string{"s": "child", "o": "parent"}[side])
	}
}

// joinSide states the expression of one side of a join.
func (r *reader) joinSide(v value, c rdf.Term, side string) {
	text := r.text(v)
	if r.err != nil {
		return
	}
	if segments := r.template(v, text); len(segments) == 1 && segments[0].ref != "" {
		r.state(v, c, nsRR+side, rdf.NewLiteral(segments[0].ref))
		return
	}
	e := r.node()
	r.state(v, c, nsRML+side+"Map", e)
	r.expression(v, e, text, literalKind)
}
