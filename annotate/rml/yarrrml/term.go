package yarrrml

import (
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// role is the position of a term.
type role uint8

const (
	subjectRole role = iota
	predicateRole
	objectRole
	graphRole
	argumentRole // of a function
)

// termOptions say what a term is for.
type termOptions struct {
	at         value // where there is no other place
	source     rdf.Term
	role       role
	kind       kind // unless the term names another
	conditions []value
	tag        value // the datatype or language of the short form
}

func termKeys() []key {
	return []key{{"value", "v"}, {"type"}, {"datatype", "d"}, {"language", "lang", "l"}, {"function", "fn", "f"},
		{"parameters", "pms"}, {"mapping", "mappings", "m"}, {"conditions", "condition", "c"}, {"targets", "target"},
		{"quoted"}, {"quotedNonAsserted"}}
}

// term states the map of a term: a text, or an object with a value or a function.
func (r *reader) term(t rdf.Term, opts termOptions, v value) { r.fillTermMap(t, opts, v, value{}) }

// fillTermMap is term with one of the values that the object lists.
func (r *reader) fillTermMap(t rdf.Term, opts termOptions, v, each value) {
	if r.err != nil {
		return
	}
	m := map[string]value{"value": v}
	switch {
	case v.isMap():
		m = r.members(v, termKeys())
		opts.at = v
	case v.isList():
		r.fail(v, "it is a list: expected text or an object")
	case v.isNull() && opts.role != subjectRole:
		r.fail(opts.at, "it is empty: expected text or an object")
	}
	if !each.isZero() {
		m["value"] = each
	}
	for _, quoted := range []string{"quoted", "quotedNonAsserted"} {
		if !m[quoted].isZero() {
			r.fail(m[quoted], "quoted triples are not supported: expected a value, a function or a mapping")
		}
	}
	if !m["mapping"].isZero() {
		r.fail(m["mapping"], "a reference to a mapping is possible for an object only: expected a value or a function")
	}
	k := r.kindOfType(m["type"])
	for _, c := range r.oneOrMore(m["conditions"]) {
		opts.conditions = append(opts.conditions[:len(opts.conditions):len(opts.conditions)], c)
	}
	if r.err != nil {
		return
	}
	text := ""
	isFunction := !m["function"].isZero()
	if value := m["value"]; !isFunction && !value.isNull() {
		var suffix kind
		if text, suffix = cutSuffix(r.text(value)); k == noKind {
			k = suffix
		}
		if text == "a" && opts.role == predicateRole {
			text = rdf.Type
		}
	}
	k = r.defaultKind(k, opts, m, isFunction)
	r.parts(t, opts, m, &k)
	say := func(t rdf.Term, k kind) {
		if isFunction {
			r.function(t, opts.source, m["function"], m["parameters"])
			return
		}
		r.expression(at(m["value"], opts.at), t, text, k)
	}
	hasValue := isFunction || !m["value"].isNull()
	switch {
	case !hasValue && (len(opts.conditions) > 0 || k != blankKind):
		r.fail(opts.at, "it has no value: expected a value or a function, or the type blank without a condition")
	case !hasValue:
		r.stateKind(opts.at, t, blankKind)
	case len(opts.conditions) > 0:
		r.stateKind(opts.at, t, orIRI(k, opts.role))
		r.guarded(t, opts, orIRI(k, opts.role), say)
	default:
		say(t, orIRI(k, opts.role))
		if k != noKind {
			r.stateKind(opts.at, t, k)
		}
	}
}

// at returns the place of a value, or another for an absent value.
func at(v, other value) value {
	if v.isZero() {
		return other
	}
	return v
}

// orIRI returns the kind of a term, that of its position if it has none of its own.
func orIRI(k kind, in role) kind {
	if k == noKind && in != argumentRole && in != objectRole {
		return iriKind
	}
	return k
}

// defaultKind returns the kind of a term that names none, noKind if its position says enough.
func (r *reader) defaultKind(k kind, opts termOptions, m map[string]value, isFunction bool) kind {
	switch {
	case k != noKind:
		return k
	case m["value"].isNull() && !isFunction && opts.role == subjectRole:
		return blankKind
	case opts.kind != noKind:
		return opts.kind
	case opts.role == objectRole, opts.role == argumentRole && !isFunction:
		return literalKind
	case isFunction && opts.role != argumentRole:
		return iriKind
	}
	return noKind
}

// parts states the datatype, the language and the targets of a term.
func (r *reader) parts(t rdf.Term, opts termOptions, m map[string]value, k *kind) {
	datatype, language := m["datatype"], m["language"]
	if !opts.tag.isNull() {
		if text, ok := strings.CutSuffix(opts.tag.raw(), "~lang"); ok {
			r.language(opts.tag, t, text)
		} else {
			datatype = opts.tag
		}
		*k = literalKind
	}
	if !language.isNull() {
		text, _ := strings.CutSuffix(r.text(language), "~lang")
		r.language(language, t, text)
		*k = literalKind
	}
	if !datatype.isNull() && (language.isNull() || r.expand(datatype.raw()) != rdf.LangString) {
		text, _ := cutSuffix(r.text(datatype))
		*k = literalKind
		if segments := r.template(datatype, r.expand(text)); len(segments) == 1 && segments[0].ref == "" {
			r.state(datatype, t, nsRR+"datatype", r.absolute(datatype, segments[0].text))
		} else {
			d := r.node()
			r.state(datatype, t, nsRML+"datatypeMap", d)
			r.expression(datatype, d, text, iriKind)
		}
	}
	r.logicalTargets(t, m["targets"])
}

func (r *reader) language(v value, t rdf.Term, text string) {
	l := r.node()
	r.state(v, t, nsRML+"languageMap", l)
	r.expression(v, l, text, literalKind)
}
