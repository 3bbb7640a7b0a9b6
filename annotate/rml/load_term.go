package rml

import (
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
)

// The positions of term maps.
const (
	subjectRole    = "subject"
	predicateRole  = "predicate"
	objectRole     = "object"
	graphRole      = "graph"
	languageRole   = "language"
	datatypeRole   = "datatype"
	expressionRole = "expression"
)

// termMapKinds are the kinds of node that hold an expression.
var termMapKinds = []string{
	"subject map", "predicate map", "object map", "graph map",
	"language map", "datatype map", "child map", "parent map", "expression map", "field",
}

// termTypes maps the term types of the language, by local name.
var termTypes = map[string]termType{
	"IRI": iriTerm, "URI": uriTerm, "UnsafeIRI": unsafeIRITerm, "UnsafeURI": unsafeURITerm,
	"BlankNode": blankTerm, "Literal": literalTerm,
}

// allowedTypes lists the term types that are allowed in each position.
var allowedTypes = map[string][]termType{
	subjectRole:    {iriTerm, blankTerm},
	predicateRole:  {iriTerm},
	objectRole:     {iriTerm, blankTerm, literalTerm},
	graphRole:      {iriTerm, blankTerm},
	languageRole:   {literalTerm},
	datatypeRole:   {iriTerm},
	expressionRole: {iriTerm, blankTerm, literalTerm},
}

// String returns the name that the language has for the term type.
func (t termType) String() string {
	switch t {
	case iriTerm:
		return "IRI"
	case uriTerm:
		return "URI"
	case unsafeIRITerm:
		return "UnsafeIRI"
	case unsafeURITerm:
		return "UnsafeURI"
	case blankTerm:
		return "BlankNode"
	case literalTerm:
		return "Literal"
	}
	return "none"
}

// isIRI reports whether the term is an IRI or a URI, safe or not.
func (t termType) isIRI() bool { return t >= iriTerm && t <= unsafeURITerm }

// termMaps loads the values of a property and of its long form, such as
// predicate and predicateMap.
func (l *loader) termMaps(r *document.Resource, parent node, property, role string) ([]*termMap, error) {
	var maps []*termMap
	for _, s := range r.Statements {
		var tm *termMap
		var err error
		switch s.Name {
		case property:
			tm, err = l.constantMap(s.Object, parent, role)
		case property + "Map":
			tm, err = l.termMap(l.About(s.Object), parent, role, property+" map")
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		maps = append(maps, tm)
	}
	return maps, nil
}

// constantMap returns the term map of a shortcut, such as rr:predicate.
func (l *loader) constantMap(t rdf.Term, parent node, role string) (*termMap, error) {
	tm := &termMap{node: parent, role: role, kind: constantExpression, constant: t}
	return tm, l.checkConstant(tm)
}

// termMap loads a node that generates terms.
func (l *loader) termMap(r *document.Resource, parent node, role, kind string) (*termMap, error) {
	tm := &termMap{node: l.part(r, kind, parent), role: role, vocab: r.Generation()}
	if err := l.known(r, tm.node, kind); err != nil {
		return nil, err
	}
	if err := l.expression(r, tm); err != nil {
		return nil, err
	}
	if err := l.condition(r, tm); err != nil {
		return nil, err
	}
	if err := l.gather(r, tm); err != nil {
		return nil, err
	}
	if err := l.targets(r, tm); err != nil {
		return nil, err
	}
	if err := l.literalParts(r, tm); err != nil {
		return nil, err
	}
	return tm, l.decideTermType(r, tm)
}

// expression loads the one constant, reference or template of a term map.
func (l *loader) expression(r *document.Resource, tm *termMap) error {
	var found []string
	for _, s := range r.Statements {
		switch s.Name {
		case "constant":
			tm.kind = constantExpression
			tm.constant = s.Object
		case "reference":
			tm.kind = referenceExpression
			tm.ref = s.Object.Value
		case "template":
			tm.kind = templateExpression
		case "functionExecution", "functionValue":
			tm.kind = functionExpression
		default:
			continue
		}
		found = append(found, s.Name)
		if s.Name == "constant" {
			continue
		}
		if tm.kind == functionExpression {
			var err error
			if s.Name == "functionValue" {
				tm.call, err = l.functionValue(s.Object, tm.node)
			} else {
				tm.call, err = l.functionCall(s.Object, r, tm.node)
			}
			if err != nil {
				return err
			}
			continue
		}
		if s.Object.Kind != rdf.Literal {
			return tm.node.errorf("its %s is %s: expected text in quotes", s.Name, l.Write(s.Object))
		}
		if s.Name == "template" {
			var err error
			if tm.template, err = document.ParseTemplate(s.Object.Value); err != nil {
				return tm.node.errorf("its template %q is not valid: %v", s.Object.Value, err)
			}
		} else if s.Object.Value == "" {
			return tm.node.errorf("its reference is empty: expected a reference into the source")
		}
	}
	switch {
	case len(found) > 1:
		return tm.node.errorf("it has %s: expected exactly one constant, reference, template or function",
			strings.Join(found, " and "))
	case len(found) == 0 && !l.isFreshBlank(r, tm):
		return tm.node.errorf("it has no expression: expected a constant, a reference, a template or a function")
	}
	return nil
}

// isFreshBlank reports whether a term map without an expression is one that
// generates a new blank node for each record (RML-Core, section on term maps).
func (l *loader) isFreshBlank(r *document.Resource, tm *termMap) bool {
	if tm.role != subjectRole && tm.role != objectRole && tm.role != graphRole {
		return false
	}
	if r.Has("gather") {
		return true
	}
	for _, t := range r.All("termType") {
		if name, _, ok := document.LocalName(t.Value); ok && termTypes[name] == blankTerm {
			return true
		}
	}
	return false
}

// literalParts loads the datatype and the language of an object map.
func (l *loader) literalParts(r *document.Resource, tm *termMap) error {
	for _, part := range []struct {
		role string
		to   **termMap
	}{{datatypeRole, &tm.datatype}, {languageRole, &tm.language}} {
		maps, err := l.termMaps(r, tm.node, part.role, part.role)
		switch {
		case err != nil:
			return err
		case len(maps) > 1:
			return tm.node.errorf("it has %d %ss: expected at most one", len(maps), part.role)
		case len(maps) == 1:
			*part.to = maps[0]
		}
	}
	if tm.datatype != nil && tm.language != nil {
		return tm.node.errorf("it has both a datatype and a language: expected at most one of them")
	}
	return nil
}

// decideTermType determines the term type (R2RML section 7.4) and checks that it is
// allowed in the position of the term map.
func (l *loader) decideTermType(r *document.Resource, tm *termMap) error {
	var declared termType
	types := r.All("termType")
	if len(types) > 1 {
		return tm.node.errorf("it has %d term types: expected at most one", len(types))
	}
	if len(types) == 1 {
		name, _, ok := document.LocalName(types[0].Value)
		if declared = termTypes[name]; !ok || declared == 0 {
			return tm.node.errorf("its termType is %s: expected IRI, BlankNode or Literal", l.Write(types[0]))
		}
	}
	if tm.kind == constantExpression && declared.isIRI() && tm.role != expressionRole {
		if err := l.constantIRI(tm, declared); err != nil {
			return err
		}
	}
	if tm.kind == constantExpression {
		return l.checkConstant(tm)
	}
	switch {
	case declared != 0:
		tm.termType = declared
	case tm.gather != nil && tm.kind == noExpression:
		tm.termType = blankTerm
	case tm.gather != nil:
		tm.termType = iriTerm
	case tm.role == languageRole, tm.role == expressionRole,
		tm.role == objectRole &&
			(tm.kind == referenceExpression || tm.kind == functionExpression || tm.datatype != nil || tm.language != nil):
		tm.termType = literalTerm
	default:
		tm.termType = iriTerm
	}
	if tm.gather != nil && tm.termType == literalTerm {
		return tm.node.errorf("it names a collection, yet its termType is Literal: expected IRI or BlankNode")
	}
	if (tm.datatype != nil || tm.language != nil) && tm.termType != literalTerm {
		return tm.node.errorf("it has a datatype or a language, yet its termType is %s: expected Literal", tm.termType)
	}
	return tm.checkRole()
}

func (tm *termMap) checkRole() error {
	kind := tm.termType
	if kind.isIRI() {
		kind = iriTerm
	}
	if allowed := allowedTypes[tm.role]; !slices.Contains(allowed, kind) {
		names := make([]string, len(allowed))
		for i, t := range allowed {
			names[i] = t.String()
		}
		return tm.node.errorf("it generates a %s as the %s of a statement: expected %s", tm.termType, tm.role,
			strings.Join(names, " or "))
	}
	return nil
}

// constantIRI turns a text that is declared an IRI into the IRI or, if it is relative, into a template that
// the base precedes.
func (l *loader) constantIRI(tm *termMap, declared termType) error {
	text := tm.constant
	if text.Kind != rdf.Literal {
		return nil
	}
	if tm.datatype != nil || tm.language != nil {
		return tm.node.errorf("it has a datatype or a language, yet its termType is %s: expected Literal", declared)
	}
	if _, ok := rdf.ValidIRI([]byte(text.Value)); ok {
		tm.constant = rdf.NewIRI(text.Value)
		return nil
	}
	if at, ok := rdf.ValidReference([]byte(text.Value)); !ok || text.Value == "" {
		return tm.node.errorf("its constant %s is not an IRI (byte %d), yet its termType is %s: expected an IRI, or the termType Literal",
			l.Write(text), at, declared)
	}
	tm.kind = templateExpression
	tm.constant = rdf.Term{}
	tm.template = []document.Segment{{Text: text.Value}}
	return nil
}

// checkConstant determines the type of a constant and checks that it is a valid
// term in its position. Another declared term type has no effect on it.
func (l *loader) checkConstant(tm *termMap) error {
	c := tm.constant
	switch c.Kind {
	case rdf.IRI:
		tm.termType = iriTerm
		if _, ok := rdf.ValidIRI([]byte(c.Value)); !ok {
			return tm.node.errorf("its %s %s is not a valid absolute IRI", tm.role, l.Write(c))
		}
	case rdf.Literal:
		tm.termType = literalTerm
	default:
		return tm.node.errorf("its constant %s is a blank node: expected an IRI or a literal", tm.role)
	}
	if tm.role == datatypeRole && c.Value == rdf.LangString {
		return tm.node.errorf("%v", errLangString)
	}
	if tm.role == languageRole && !rdf.ValidLangTag([]byte(c.Value)) {
		return tm.node.errorf("its language %q is not a valid language tag (BCP 47)", c.Value)
	}
	if tm.termType == literalTerm && (tm.datatype != nil || tm.language != nil) {
		return l.typedConstant(tm)
	}
	return tm.checkRole()
}

// typedConstant folds a constant datatype or language into the constant.
func (l *loader) typedConstant(tm *termMap) error {
	if part := tm.datatype; part != nil && part.kind == constantExpression && part.condition == nil {
		tm.constant = rdf.NewTyped(tm.constant.Value, part.constant.Value)
		tm.datatype = nil
	}
	if part := tm.language; part != nil && part.kind == constantExpression && part.condition == nil {
		tm.constant = rdf.NewLang(tm.constant.Value, part.constant.Value)
		tm.language = nil
	}
	if tm.datatype != nil || tm.language != nil {
		return tm.node.errorf("it is a constant with a datatype or language that is not: expected a constant one")
	}
	return tm.checkRole()
}

// count renders a number with its noun, as in "no subject map" and "2 subject
// maps".
func count(n int, what string) string {
	switch n {
	case 0:
		return "no " + what
	case 1:
		return "one " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
