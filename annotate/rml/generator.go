package rml

import (
	"github.com/iotenablers/enablers/annotate/internal/xsd"
	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
	"github.com/iotenablers/enablers/annotate/rml/internal/escape"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// generator is a term map, compiled: everything that does not depend on the
// record is resolved and rendered. Terms are rendered in canonical N-Triples
// form, which every encoder accepts.
type generator struct {
	node      node
	kind      expressionKind
	form      form
	constant  []byte // the whole term, rendered; empty for the default graph
	path      input.Path
	segments  []templateStep
	call      *callPlan
	when      *generator // its condition
	gather    *gatherPlan
	subject   int        // number of a subject map whose blank nodes have no name; 0 for other term maps
	mention   bool       // whether collections are only named, not generated
	targets   targetSet  // where statements with its terms go
	suffix    []byte     // datatype or language of a literal, rendered
	datatype  *generator // when it depends on the record
	language  *generator // when it depends on the record
	base      []byte     // put before relative IRIs
	absolute  bool       // whether a template begins with the scheme of an IRI
	ascii     bool       // whether an IRI must be a URI
	unsafe    bool       // whether an IRI consists of its parts as they are
	natural   bool       // whether the value gets its natural datatype
	double    bool       // whether numbers are written in the canonical form of xsd:double
	lexical   xsd.LexicalSpace
	number    func(dst, text []byte) ([]byte, bool) // converts to a datatype derived from xsd:decimal, or nil
	unscaled  bool                                  // whether numbers stand without an exponent, in the dialect of CARML
	canonical func(dst, text []byte) []byte         // of the datatype in the dialect of CARML, or nil
	checked   bool                                  // whether text outside the lexical space is an error
	strict    bool                                  // whether a term that cannot be generated is an error
	expand    bool                                  // whether each element of an array is a value
	carml     bool                                  // whether IRIs and literals are written as in CARML
	first     bool                                  // whether only the first term counts
}

// form is the kind of text that a generator renders.
type form uint8

const (
	iriForm     form = iota // <iri>
	blankForm               // _:label
	literalForm             // "text"^^<datatype>
	textForm                // the bare text: join keys, language tags
)

// templateStep is text, rendered for the form of its generator, or a reference.
type templateStep struct {
	text []byte
	path input.Path
}

// generatorCompiler compiles the term maps that read one input.
type generatorCompiler struct {
	*compiler
	in   int // in Plan.inputs
	base string
	text bool // whether references would be into the text of a field

	parent  bool // whether references are to columns of the parent of a join
	mention bool // whether this is the subject map of another triples map, which generates the collections
}

func (c generatorCompiler) compileAll(maps []*termMap) ([]*generator, error) {
	generators := make([]*generator, 0, len(maps))
	for _, tm := range maps {
		g, err := c.compile(tm)
		if err != nil {
			return nil, err
		}
		generators = append(generators, g)
	}
	return generators, nil
}

// compile compiles a term map.
func (c generatorCompiler) compile(tm *termMap) (*generator, error) {
	g, err := c.term(tm)
	if err != nil {
		return nil, err
	}
	g.mention = c.mention
	if tm.role == subjectRole && tm.kind == noExpression {
		g.subject = c.unnamedSubject(tm)
	}
	g.targets, err = c.targets(tm)
	for _, part := range []*termMap{tm.datatype, tm.language} {
		if part != nil && err == nil {
			var more targetSet
			more, err = c.targets(part)
			g.targets |= more
		}
	}
	return g, err
}

func (c generatorCompiler) term(tm *termMap) (*generator, error) {
	if tm.kind == constantExpression {
		g := c.constant(tm.constant)
		g.node = tm.node
		if tm.condition != nil {
			var err error
			if g.when, err = c.compileText(tm.condition); err != nil {
				return nil, err
			}
		}
		if tm.gather != nil {
			var err error
			if g.gather, err = c.gather(tm.gather); err != nil {
				return nil, err
			}
		}
		if name, _, ok := document.LocalName(tm.constant.Value); tm.role == graphRole && ok && name == "defaultGraph" {
			g.constant = nil
		}
		return g, nil
	}
	f := literalForm
	switch {
	case tm.termType.isIRI():
		f = iriForm
	case tm.termType == blankTerm:
		f = blankForm
		c.plan.blanks = true
	}
	g, err := c.expression(tm, f)
	if err != nil {
		return nil, err
	}
	g.ascii = tm.termType == uriTerm || tm.termType == unsafeURITerm
	g.unsafe = tm.termType == unsafeIRITerm || tm.termType == unsafeURITerm
	switch {
	case f == literalForm:
		err = c.literal(g, tm)
	case tm.gather != nil:
		g.gather, err = c.gather(tm.gather)
	}
	return g, err
}

// unnamedSubject returns the number of a subject map. Its own triples map and
// each triples map that refers to it have a generator of their own; by the
// number they generate the same blank nodes.
func (c *compiler) unnamedSubject(tm *termMap) int {
	if c.unnamed == nil {
		c.unnamed = make(map[*termMap]int)
	}
	if c.unnamed[tm] == 0 {
		c.unnamed[tm] = len(c.unnamed) + 1
	}
	return c.unnamed[tm]
}

// compileText compiles a term map for the bare text of its values.
func (c generatorCompiler) compileText(tm *termMap) (*generator, error) {
	if tm.kind != constantExpression {
		return c.expression(tm, textForm)
	}
	g := &generator{node: tm.node, kind: constantExpression, form: textForm, constant: []byte(tm.constant.Value)}
	if tm.condition == nil {
		return g, nil
	}
	var err error
	g.when, err = c.compileText(tm.condition)
	return g, err
}

// constant renders a constant term.
func (c *compiler) constant(t rdf.Term) *generator {
	if t.Kind == rdf.IRI {
		c.usedIRIs[t.Value] = struct{}{}
	}
	if t.Datatype != "" {
		c.usedIRIs[t.Datatype] = struct{}{}
	}
	return &generator{kind: constantExpression, constant: rdf.AppendTerm(nil, t)}
}

// literal compiles the datatype or language of a literal.
func (c generatorCompiler) literal(g *generator, tm *termMap) error {
	var err error
	switch {
	case tm.datatype != nil && tm.datatype.kind == constantExpression && tm.datatype.condition == nil:
		datatype := tm.datatype.constant.Value
		c.usedIRIs[datatype] = struct{}{}
		g.suffix = rdf.AppendTerm(nil, rdf.NewTyped("", datatype))[len(`""`):]
		g.lexical = xsd.FindLexicalSpace(datatype)
		g.number = xsd.NumberFormat(datatype)
		g.unscaled = g.carml && g.number != nil
		if g.carml {
			g.canonical = xsd.CanonicalForm(datatype)
		}
		g.double = datatype == rdf.XSDDouble && tm.vocab == document.Modern && tm.kind == referenceExpression
	case tm.datatype != nil:
		g.datatype, err = c.compile(tm.datatype)
	case tm.language != nil && tm.language.kind == constantExpression && tm.language.condition == nil:
		g.suffix = rdf.AppendTerm(nil, rdf.NewLang("", tm.language.constant.Value))[len(`""`):]
	case tm.language != nil:
		g.language, err = c.compileText(tm.language)
	case tm.kind == functionExpression:
		g.natural = true
	case tm.kind == referenceExpression:
		// R2RML has natural datatypes for the values of a database.
		g.natural = tm.vocab == document.Modern || c.plan.inputs[c.in].table != nil
	}
	return err
}

// expression compiles the expression of a term map to be rendered in a form.
func (c generatorCompiler) expression(tm *termMap, f form) (*generator, error) {
	g := &generator{
		node: tm.node, kind: tm.kind, form: f, base: []byte(c.base),
		carml: c.opts.Dialect == DialectCARML, unscaled: c.opts.Dialect == DialectCARML && (f == iriForm || f == textForm),
		strict: c.opts.Strict ||
			tm.vocab == document.Modern,
		checked: tm.vocab == document.Modern && c.opts.Dialect == DialectRML,
		expand:  tm.vocab == document.Legacy || c.opts.Dialect == DialectCARML,
	}
	var err error
	switch tm.kind {
	case referenceExpression:
		g.path, err = c.reference(tm, tm.ref)
	case templateExpression:
		err = c.template(g, tm)
	case functionExpression:
		g.call, err = c.call(tm.call)
	}
	if err == nil && tm.condition != nil {
		g.when, err = c.compileText(tm.condition)
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

func (c generatorCompiler) reference(tm *termMap, expr string) (input.Path, error) {
	compile := c.plan.inputs[c.in].compiler.CompileReference
	if c.parent {
		compile = c.plan.inputs[c.in].table.columns.CompileParentReference
	}
	path, err := compile(expr)
	if err != nil {
		return nil, tm.node.errorf("its reference %q is not valid: %v", expr, err)
	}
	return path, nil
}

func (c generatorCompiler) template(g *generator, tm *termMap) error {
	for i, s := range tm.template {
		var compiled templateStep
		var err error
		switch {
		case s.Ref != "":
			compiled.path, err = c.reference(tm, s.Ref)
		case g.form == iriForm:
			if at, ok := rdf.ValidReference([]byte(s.Text)); !ok {
				return tm.node.errorf("its template %q is not part of an IRI: %q is not allowed in one", s.Text, s.Text[at:at+1])
			}
			if i == 0 {
				_, g.absolute = rdf.ValidIRI([]byte(s.Text))
				c.usedIRIs[s.Text] = struct{}{}
			}
			compiled.text = []byte(s.Text)
		case g.form == blankForm:
			compiled.text = escape.AppendLabel(nil, []byte(s.Text))
		case g.form == literalForm:
			quoted := rdf.AppendLiteral(nil, []byte(s.Text))
			compiled.text = quoted[1 : len(quoted)-1]
		default:
			compiled.text = []byte(s.Text)
		}
		if err != nil {
			return err
		}
		g.segments = append(g.segments, compiled)
	}
	return nil
}
