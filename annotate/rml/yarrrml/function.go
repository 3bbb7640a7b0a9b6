package yarrrml

import (
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// call states a function that a term map has, and returns the node for its inputs.
func (r *reader) call(v value, t, source rdf.Term, function string) rdf.Term {
	execution := r.node()
	pom := r.node()
	p := r.node()
	o := r.node()
	r.state(v, t, rdf.Type, rdf.NewIRI(nsFNML+"FunctionTermMap"))
	r.state(v, t, nsFNML+"functionValue", execution)
	r.state(v, execution, nsRML+"logicalSource", source)
	r.state(v, execution, nsRR+"predicateObjectMap", pom)
	r.state(v, pom, nsRR+"predicateMap", p)
	r.state(v, p, nsRR+"constant", rdf.NewIRI(nsFNO+"executes"))
	r.state(v, pom, nsRR+"objectMap", o)
	r.state(v, o, nsRR+"constant", rdf.NewIRI(function))
	return execution
}

// input binds a new term map to a parameter.
func (r *reader) input(v value, execution rdf.Term, parameter string) rdf.Term {
	pom, p := r.node(), r.node()
	r.state(v, execution, nsRR+"predicateObjectMap", pom)
	r.state(v, pom, nsRR+"predicateMap", p)
	r.state(v, p, nsRR+"constant", rdf.NewIRI(parameter))
	return r.argument(v, pom)
}

func (r *reader) argument(v value, pom rdf.Term) rdf.Term {
	o := r.node()
	r.state(v, pom, nsRR+"objectMap", o)
	return o
}

// guarded states a term that exists where its conditions hold.
func (r *reader) guarded(t rdf.Term, opts termOptions, k kind, say func(rdf.Term, kind)) {
	for _, c := range opts.conditions {
		execution := r.call(c, t, opts.source, nsIDLab+"trueCondition")
		condition := r.input(c, execution, nsIDLab+"strBoolean")
		m := r.members(c, []key{{"function", "fn", "f"}, {"parameters", "pms"}})
		if m["function"].isZero() {
			r.fail(c, "it has no function: expected the key function")
		}
		r.function(condition, opts.source, m["function"], m["parameters"])
		t = r.input(c, execution, nsIDLab+"str")
		r.stateKind(opts.at, t, k)
	}
	say(t, k)
}

// function states a call that is written in its long form, with parameters, or in its short one.
func (r *reader) function(t, source rdf.Term, v, parameters value) {
	text := r.text(v)
	name, arguments, isShort := strings.Cut(text, "(")
	name = strings.TrimSpace(name)
	iri := nsIDLab + name
	isPlain := name == "equal" || name == "notEqual"
	if !isPlain {
		iri = r.iri(v, name).Value
	}
	if r.err != nil {
		return
	}
	execution := r.call(v, t, source, iri)
	if isShort {
		if !parameters.isZero() {
			r.fail(parameters, "the function has its parameters in parentheses already: expected them in one place")
		}
		r.shortArguments(v, execution, name, arguments)
		return
	}
	for _, p := range r.oneOrMore(parameters) {
		r.parameter(p, execution, source, isPlain)
	}
}

// parameter states the value of a parameter, or its values.
func (r *reader) parameter(v value, execution, source rdf.Term, isPlain bool) {
	name, bound, _ := r.parameterParts(v)
	if r.err != nil {
		return
	}
	iri := ""
	switch text := r.text(name); {
	case isPlain && text == "str1":
		iri = nsGREL + "valueParameter"
	case isPlain && text == "str2":
		iri = nsGREL + "valueParameter2"
	default:
		iri = r.iri(name, text).Value
	}
	for _, each := range r.oneOrMore(bound) {
		r.term(r.input(v, execution, iri), termOptions{at: v, source: source, role: argumentRole}, each)
	}
}

// parameterParts returns the name and the value of a parameter, and s or o, the side of a join
// whose value it is.
func (r *reader) parameterParts(v value) (name, bound value, side string) {
	if v.isMap() {
		m := r.members(v, []key{{"parameter", "pm"}, {"value", "v"}, {"type"}, {"from"}})
		name, bound = m["parameter"], m["value"]
		if !m["type"].isNull() { // of the value
			r.fail(m["type"], "a type belongs to a value: expected value: {value: …, type: …}")
		}
		side = strings.TrimSuffix(strings.TrimSuffix(m["from"].raw(), "ubject"), "bject")
	} else {
		items := r.items(v)
		if len(items) < 2 || len(items) > 3 {
			r.fail(v, "it has %d parts: expected [parameter, value]", len(items))
			return
		}
		name, bound = items[0], items[1]
		if len(items) == 3 {
			side = items[2].raw()
		}
	}
	if name.isNull() || bound.isZero() {
		r.fail(v, "it is incomplete: expected a parameter and a value")
	}
	if side != "" && side != "s" && side != "o" {
		r.fail(v, "it names the side %q: expected s for the subject or o for the object", side)
	}
	return name, bound, side
}

// shortArguments states the arguments of the short form: name = value, name = value. A name
// without a prefix has that of the function.
func (r *reader) shortArguments(v value, execution rdf.Term, function, text string) {
	prefix, _, _ := strings.Cut(function, ":")
	text = strings.TrimSpace(text)
	inner, closed := strings.CutSuffix(text, ")")
	if !closed {
		r.fail(v, "its parameters do not end: expected a closing parenthesis")
		return
	}
	for _, argument := range splitArguments(inner) {
		name, bound, ok := strings.Cut(argument, "=")
		name, bound = strings.TrimSpace(name), strings.TrimSpace(bound)
		if !ok || name == "" {
			r.fail(v, "its parameter %q has no value: expected name = value", argument)
			return
		}
		if !strings.Contains(name, ":") {
			name = prefix + ":" + name
		}
		if len(bound) >= 2 && (bound[0] == '"' || bound[0] == '\'') && bound[len(bound)-1] == bound[0] {
			bound = bound[1 : len(bound)-1]
		}
		t := r.input(v, execution, r.iri(v, name).Value)
		bound, k := cutSuffix(bound)
		if k == noKind {
			k = literalKind
		}
		r.expression(v, t, bound, k)
		r.stateKind(v, t, k)
	}
}

// splitArguments splits at the commas outside of parentheses and quotes.
func splitArguments(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var parts []string
	open := 0
	start := 0
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\\':
			i++
		case c == '"' || c == '\'':
			quote = c
		case c == '(':
			open++
		case c == ')':
			open--
		case c == ',' && open <= 0:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}
