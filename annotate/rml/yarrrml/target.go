package yarrrml

import (
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// serializations returns the identifiers of the formats of targets by their names
// in the language.
func serializations() map[string]string {
	identifiers := map[string]string{"n3": "N3"}
	for _, f := range rdf.Formats() {
		identifiers[f.String()] = f.Syntax().Identifier
	}
	return identifiers
}

// logicalTargets states the targets of a term: names, inline ones, or both in a list.
func (r *reader) logicalTargets(t rdf.Term, v value) {
	targets := r.oneOrMore(v)
	if len(targets) > 0 && v.isList() && targets[0].isScalar() && strings.Contains(targets[0].raw(), "~") {
		targets = []value{v} // one inline target without the list around it
	}
	for _, target := range targets {
		if name := target.raw(); name != "" && !strings.Contains(name, "~") {
			known, ok := r.targets[name]
			if !ok {
				r.fail(target, "the target %q is not in the document: expected the name of a target, or an access such as "+
					"out.nq~void", name)
				return
			}
			target = known
		}
		r.logicalTarget(t, target)
	}
}

func (r *reader) logicalTarget(t rdf.Term, v value) {
	var access, kind, serialization, compression string
	if v.isMap() {
		m := r.members(v, []key{{"access"}, {"type"}, {"serialization"}, {"compression"}, {"credentials"}})
		if c := m["credentials"]; !c.isNull() {
			r.fail(c, "targets with credentials are not supported")
		}
		access, kind = r.text(m["access"]), m["type"].raw()
		serialization, compression = m["serialization"].raw(), m["compression"].raw()
	} else {
		items := r.oneOrMore(v)
		if len(items) == 0 || len(items) > 3 {
			r.fail(v, "it has %d parts: expected [access~type, serialization, compression]", len(items))
			return
		}
		access = r.text(items[0])
		if i := strings.LastIndexByte(access, '~'); i >= 0 {
			access, kind = access[:i], access[i+1:]
		}
		if len(items) > 1 {
			serialization = r.text(items[1])
		}
		if len(items) > 2 {
			compression = r.text(items[2])
		}
	}
	node, place := r.node(), r.node()
	r.state(v, t, nsRML+"logicalTarget", node)
	r.state(v, node, rdf.Type, rdf.NewIRI(nsModern+"LogicalTarget"))
	r.state(v, node, nsModern+"target", place)
	switch strings.ToLower(kind) {
	case "", "void", "localfile":
		r.state(v, place, rdf.Type, rdf.NewIRI(nsVoID+"Dataset"))
		r.state(v, place, nsVoID+"dataDump", rdf.NewLiteral(strings.TrimPrefix(access, "file://")))
	case "dcat":
		r.state(v, place, nsDCAT+"downloadURL", rdf.NewLiteral(strings.TrimPrefix(access, "file://")))
	default:
		r.fail(v, "the type %q of a target is not supported: expected void, dcat or localfile", kind)
	}
	if serialization != "" {
		format, ok := serializations()[strings.ToLower(serialization)]
		if !ok {
			r.fail(v, "the serialization %q is not known: expected one of n3, %s", serialization, rdf.FormatNames(nil))
		}
		r.state(v, node, nsModern+"serialization", rdf.NewIRI(nsFormats+format))
	}
	if compression != "" {
		r.state(v, node, nsModern+"compression", rdf.NewIRI(nsModern+strings.ToLower(compression)))
	}
}
