package rml

import (
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
)

// isExecutes reports whether a property is the fno:executes of the Function Ontology, which the
// older form of FNML uses, under any of the names that the ontology has had.
func isExecutes(property string) bool {
	namespace, isExecutes := strings.CutSuffix(property, "executes")
	return isExecutes && slices.Contains([]string{
		"https://w3id.org/function/ontology#", "http://w3id.org/function/ontology#", "http://semweb.datasciencelab.be/ns/function#",
	}, namespace)
}

// maxNesting bounds how deep calls, lists and fields may be nested, and
// maxNested how many there may be. One that is used twice counts twice, with
// everything in it.
const (
	maxNesting = 64
	maxNested  = 10_000
)

// enter returns an error for mappings whose nodes contain themselves.
func (l *loader) enter(n node) (leave func(), err error) {
	if l.depth++; l.depth > maxNesting {
		return nil, n.errorf("it contains itself, or is nested more than %d deep", maxNesting)
	}
	if l.entered++; l.entered > maxNested {
		return nil, n.errorf("with it, the mapping has more than %d calls, lists and fields, as often as they are used",
			maxNested)
	}
	return func() { l.depth-- }, nil
}

// functionCall loads the function of an expression map in its new form: a
// functionExecution and a return.
func (l *loader) functionCall(execution rdf.Term, r *document.Resource, parent node) (*functionCall, error) {
	er := l.About(execution)
	call := &functionCall{node: l.part(er, "function execution", parent)}
	leave, err := l.enter(call.node)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := l.known(er, call.node, "function execution"); err != nil {
		return nil, err
	}
	if call.function, err = l.iri(er, call.node, "function", true); err != nil {
		return nil, err
	}
	if call.output, err = l.iri(r, parent, "return", false); err != nil {
		return nil, err
	}
	for _, t := range er.All("input") {
		ir := l.About(t)
		in := functionInput{node: l.part(ir, "input", call.node)}
		if err := l.known(ir, in.node, "input"); err != nil {
			return nil, err
		}
		if in.parameter, err = l.iri(ir, in.node, "parameter", true); err != nil {
			return nil, err
		}
		if in.value, err = l.expressionMap(ir, in.node, "inputValue"); err != nil {
			return nil, err
		}
		call.inputs = append(call.inputs, in)
	}
	return call, nil
}

// iri returns the constant IRI of a property such as function, or of its long
// form functionMap.
func (l *loader) iri(r *document.Resource, n node, property string, required bool) (string, error) {
	found := r.All(property)
	for _, t := range r.All(property + "Map") {
		mr := l.About(t)
		constants := mr.All("constant")
		if len(constants) != 1 {
			return "", n.errorf("its %sMap is not constant: expected a constant", property)
		}
		found = append(found, declaredIRI(mr, constants[0]))
	}
	switch {
	case len(found) == 0 && !required:
		return "", nil
	case len(found) != 1:
		return "", n.errorf("it has %s: expected exactly one %s", count(len(found), property), property)
	case found[0].Kind != rdf.IRI:
		return "", n.errorf("its %s is %s: expected an IRI", property, l.Write(found[0]))
	}
	return found[0].Value, nil
}

// declaredIRI returns the IRI that the constant of a term map means where the term map declares it one.
func declaredIRI(r *document.Resource, constant rdf.Term) rdf.Term {
	for _, t := range r.All("termType") {
		name, _, ok := document.LocalName(t.Value)
		if _, valid := rdf.ValidIRI([]byte(constant.Value)); ok && valid && termTypes[name].isIRI() {
			return rdf.NewIRI(constant.Value)
		}
	}
	return constant
}

// expressionMap loads the one value of a property such as inputValue, or of
// its long form inputValueMap.
func (l *loader) expressionMap(r *document.Resource, n node, property string) (*termMap, error) {
	constants, maps := r.All(property), r.All(property+"Map")
	switch {
	case len(constants)+len(maps) != 1:
		return nil, n.errorf("it has %s: expected exactly one %s or %[2]sMap", count(len(constants)+len(maps), property),
			property)
	case len(constants) == 1:
		return l.constantMap(constants[0], n, expressionRole)
	}
	return l.termMap(l.About(maps[0]), n, expressionRole, "expression map")
}

// functionValues returns the nodes that describe executions in the older form.
// They look like triples maps, but generate no statements.
func (l *loader) functionValues() map[rdf.Term]bool {
	executions := make(map[rdf.Term]bool)
	for _, r := range l.Index {
		for _, t := range r.All("functionValue") {
			executions[t] = true
		}
	}
	return executions
}

// functionValue loads the function of a term map in its older form: a triples
// map that would describe an fno:Execution.
func (l *loader) functionValue(t rdf.Term, parent node) (*functionCall, error) {
	r := l.About(t)
	call := &functionCall{node: l.part(r, "function value", parent)}
	leave, err := l.enter(call.node)
	if err != nil {
		return nil, err
	}
	defer leave()
	for _, t := range r.All("predicateObjectMap") {
		pr := l.About(t)
		in := functionInput{node: l.part(pr, "predicate-object map", call.node)}
		if err := l.known(pr, in.node, "predicate-object map"); err != nil {
			return nil, err
		}
		if in.parameter, err = l.iri(pr, in.node, "predicate", true); err != nil {
			return nil, err
		}
		values, err := l.termMaps(pr, in.node, "object", expressionRole)
		if err != nil {
			return nil, err
		}
		if len(values) == 0 {
			return nil, in.node.errorf("it has no object: expected one object or objectMap, or several for a list")
		}
		executes := isExecutes(in.parameter)
		for _, in.value = range values {
			switch {
			case !executes:
				call.inputs = append(call.inputs, in)
			case in.value.kind != constantExpression || call.function != "":
				return nil, in.node.errorf("fno:executes names no single constant function: expected exactly one")
			default:
				call.function = in.value.constant.Value
			}
		}
	}
	if call.function == "" {
		return nil, call.node.errorf("it has no fno:executes: expected a predicate-object map that names the function")
	}
	return call, nil
}

// condition loads the condition of an expression map: a function that decides
// whether there is a term.
func (l *loader) condition(r *document.Resource, tm *termMap) error {
	conditions := r.All("condition")
	if len(conditions) == 0 {
		return nil
	}
	if len(conditions) > 1 {
		return tm.node.errorf("it has %d conditions: expected at most one", len(conditions))
	}
	cr := l.About(conditions[0])
	n := l.part(cr, "condition", tm.node)
	executions := cr.All("functionExecution")
	if len(executions) != 1 {
		return n.errorf("it has %s: expected exactly one", count(len(executions), "functionExecution"))
	}
	if err := l.known(cr, n, "condition"); err != nil {
		return err
	}
	call, err := l.functionCall(executions[0], cr, n)
	if err != nil {
		return err
	}
	tm.condition = &termMap{
		node:     n,
		role:     expressionRole,
		vocab:    tm.vocab,
		kind:     functionExpression,
		call:     call,
		termType: literalTerm,
	}
	return nil
}
