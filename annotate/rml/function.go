package rml

import (
	"errors"
	"fmt"
	"slices"

	"github.com/iotenablers/enablers/annotate/internal/xsd"
	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/function"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// Function is a function that mappings may call (FNML, in its new form and in
// its older ones). The built-in functions are those of GREL and IDLab; an
// embedding program adds its own through [Options].Functions.
type Function struct {
	// IRI names the function in mappings.
	IRI string
	// Parameters are the parameters of the function, in the order of
	// [Call].Arguments.
	Parameters []Parameter
	// Outputs are the IRIs of the outputs. A mapping that names none gets the
	// first. Without outputs any name is accepted.
	Outputs []string
	// Datatypes are the natural datatypes of the result, as IRIs of XML Schema,
	// such as xsd:integer and xsd:decimal. Where the mapping names neither
	// datatype nor language, a result gets the first of them whose lexical space
	// contains it, and is a plain literal otherwise. No datatypes mean
	// text. They apply under both vocabularies.
	Datatypes []string
	// Apply computes the output that the mapping names. Each value becomes a term;
	// no values mean no term. An error fails the message. Apply is called from
	// several goroutines at once. It must not keep the arguments and must not
	// block.
	Apply func(Call) ([]string, error)
}

// Parameter is one parameter of a [Function].
type Parameter struct {
	// IRIs are the names that a mapping may bind a value to: that of the
	// parameter and that of its predicate.
	IRIs []string
	// List passes all values of the parameter to one call.
	// Otherwise it is called for each value.
	List bool
	// Optional allows calls without a value. Otherwise such a call has no result.
	Optional bool
}

// Call is one application of a [Function].
type Call struct {
	// Output is the IRI of the output that the mapping names.
	Output string
	// Arguments are the values, one slice for each parameter: a single value,
	// all of them for a List, none for an Optional that has no value.
	Arguments [][]string
}

// Arg returns the value of a parameter, or an empty string without a value.
func (c Call) Arg(i int) string {
	if i < len(c.Arguments) && len(c.Arguments[i]) > 0 {
		return c.Arguments[i][0]
	}
	return ""
}

// Has reports whether a parameter has a value.
func (c Call) Has(i int) bool { return i < len(c.Arguments) && len(c.Arguments[i]) > 0 }

// functionCall is a call as a mapping writes it.
type functionCall struct {
	node     node
	function string
	output   string // empty for the first
	inputs   []functionInput
}

// functionInput binds a value to a parameter.
type functionInput struct {
	node      node
	parameter string
	value     *termMap
}

// callPlan is a function call, compiled.
type callPlan struct {
	function  *Function
	output    string
	natural   []naturalDatatype
	arguments [][]*generator // by parameter; a list may be bound several times
}

// functionsByIRI returns the functions of the library and those of the embedding
// program. A function of the program replaces one of the library with the same IRI.
func functionsByIRI(own []Function) map[string]*Function {
	functions := make(map[string]*Function)
	for iri, f := range function.ByIRI() {
		functions[iri] = fromLibrary(f)
	}
	for i := range own {
		functions[own[i].IRI] = &own[i]
	}
	return functions
}

// ownIRIs returns the IRIs of the functions of the embedding program.
func ownIRIs(own []Function) []string {
	iris := make([]string, len(own))
	for i := range own {
		iris[i] = own[i].IRI
	}
	return iris
}

// fromLibrary returns a function of the library as mappings call it. A function
// of the library has one output.
func fromLibrary(f function.Function) *Function {
	made := &Function{
		IRI: f.IRI(), Outputs: f.Outputs, Datatypes: f.Datatypes,
		Apply: func(c Call) ([]string, error) {
			values, err := f.Apply(function.Call{Arguments: c.Arguments})
			return values, markLimit(err)
		},
	}
	for _, p := range f.Parameters {
		made.Parameters = append(made.Parameters, Parameter(p))
	}
	return made
}

// markLimit adds [ErrLimit] to an error about a limit of the library.
func markLimit(err error) error {
	if errors.As(err, new(function.LimitError)) {
		return fmt.Errorf("%w: %w", err, ErrLimit)
	}
	return err
}

// call compiles a function call.
func (c generatorCompiler) call(f *functionCall) (*callPlan, error) {
	called := c.functions[f.function]
	if called == nil {
		return nil, f.node.errorf("%s", function.Unknown(f.function, ownIRIs(c.opts.Functions)))
	}
	plan := &callPlan{
		function: called, output: f.output, natural: naturalDatatypes(called.Datatypes),
		arguments: make([][]*generator, len(called.Parameters)),
	}
	switch {
	case f.output == "" && len(called.Outputs) > 0:
		plan.output = called.Outputs[0]
	case f.output != "" && len(called.Outputs) > 0 && !slices.Contains(called.Outputs, f.output):
		return nil, f.node.errorf("the function <%s> does not return <%s>: expected one of %v", f.function, f.output,
			called.Outputs)
	}
	for _, in := range f.inputs {
		i := slices.IndexFunc(called.Parameters, func(p Parameter) bool { return slices.Contains(p.IRIs, in.parameter) })
		switch {
		case i < 0:
			return nil, in.node.errorf("the function <%s> has no parameter <%s>", f.function, in.parameter)
		case len(plan.arguments[i]) > 0 && !called.Parameters[i].List:
			return nil, in.node.errorf("the parameter <%s> is bound more than once", in.parameter)
		}
		g, err := c.compileText(in.value)
		if err != nil {
			return nil, err
		}
		plan.arguments[i] = append(plan.arguments[i], g)
	}
	for i, p := range called.Parameters {
		if len(plan.arguments[i]) == 0 && !p.Optional {
			return nil, f.node.errorf("the function <%s> needs the parameter <%s>", f.function, p.IRIs[0])
		}
	}
	return plan, nil
}

// apply returns the values that a call gives for a record.
func (m *Mapper) apply(g *generator, at place) ([]string, error) {
	plan := g.call
	arguments := make([][]string, len(plan.arguments))
	single := make([]int, 0, len(plan.arguments)) // parameters that are not lists and have several values
	for i, generators := range plan.arguments {
		values, err := m.texts(generators, at)
		if err != nil {
			return nil, err
		}
		p := plan.function.Parameters[i]
		if len(values) == 0 && !p.Optional && !p.List {
			return nil, nil
		}
		if len(values) > 1 && !p.List {
			single = append(single, i)
		}
		arguments[i] = values
	}
	call := Call{Output: plan.output, Arguments: slices.Clone(arguments)}
	var results []string
	size := 0
	chosen := make([]int, len(arguments))
	for {
		if err := m.tick(); err != nil {
			return nil, err
		}
		for _, i := range single {
			call.Arguments[i] = arguments[i][chosen[i] : chosen[i]+1]
		}
		values, err := plan.function.Apply(call)
		if err != nil {
			return nil, m.fail(g, at, at.record, fmt.Errorf("apply <%s>: %w", plan.function.IRI, err))
		}
		for _, value := range values {
			size += len(value) + function.ValueOverhead
		}
		if size > function.MaxText {
			return nil, m.fail(g, at, at.record, fmt.Errorf("apply <%s>: %w", plan.function.IRI, markLimit(function.TooLong())))
		}
		results = append(results, values...)
		if m.limit > 0 && len(results) > m.limit {
			return nil, m.fail(g, at, at.record,
				fmt.Errorf("apply <%s>: it gives more than %d values: %w", plan.function.IRI, m.limit, ErrLimit))
		}
		k := len(single) - 1
		for ; k >= 0; k-- {
			if i := single[k]; chosen[i]+1 < len(arguments[i]) {
				chosen[i]++
				break
			}
			chosen[single[k]] = 0
		}
		if k < 0 {
			return results, nil
		}
	}
}

// texts returns the values of generators as strings.
func (m *Mapper) texts(generators []*generator, at place) ([]string, error) {
	start, text := len(m.terms), len(m.text)
	if err := m.generateAll(generators, at); err != nil {
		return nil, err
	}
	values := make([]string, 0, len(m.terms)-start)
	for _, t := range m.terms[start:] {
		values = append(values, string(t))
	}
	m.terms = m.terms[:start]
	m.text = m.text[:text]
	return values, nil
}

// holds reports whether the condition of a term map is true for a record.
func (m *Mapper) holds(condition *generator, at place) (bool, error) {
	values, err := m.texts([]*generator{condition}, at)
	return slices.Contains(values, "true"), err
}

// naturalDatatype is a natural datatype of a function, compiled.
type naturalDatatype struct {
	lexical xsd.LexicalSpace // nil: any text is valid
	suffix  []byte           // ^^<datatype>
}

func naturalDatatypes(iris []string) []naturalDatatype {
	var natural []naturalDatatype
	for _, iri := range iris {
		natural = append(natural,
			naturalDatatype{xsd.FindLexicalSpace(iri), rdf.AppendTerm(nil, rdf.NewTyped("", iri))[len(`""`):]})
	}
	return natural
}

// generateResult pushes the term that one result of a function becomes.
func (m *Mapper) generateResult(g *generator, result string, at place) error {
	value := []byte(result)
	if g.form == literalForm && g.natural {
		for _, datatype := range g.call.natural {
			if datatype.lexical == nil || datatype.lexical(value) {
				start := len(m.text)
				m.text = append(rdf.AppendLiteral(m.text, value), datatype.suffix...)
				m.push(start)
				return nil
			}
		}
	}
	return m.generateValue(g, input.Value{Text: value, Node: at.record}, at)
}
