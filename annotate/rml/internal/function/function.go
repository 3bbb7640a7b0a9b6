package function

import "fmt"

// LimitError is the error of a result or an argument that exceeds a limit.
type LimitError string

// Error returns the text.
func (e LimitError) Error() string { return string(e) }

func limitErrorf(format string, args ...any) error { return LimitError(fmt.Sprintf(format, args...)) }

// Function is one function of the library.
type Function struct {
	// Namespace and Name are the two parts of the IRI that names the function in
	// mappings.
	Namespace, Name string
	// Aliases are further names in the same namespace.
	Aliases []string
	// Parameters are the parameters of the function, in the order of
	// [Call].Arguments.
	Parameters []Parameter
	// Outputs are the IRIs of its result. A function has one result, whose IRI
	// differs between descriptions of the function.
	Outputs []string
	// Datatypes are the natural datatypes of the result, as IRIs. None mean
	// text.
	Datatypes []string
	// Apply computes the result: no values for no term, several
	// values for several terms.
	Apply func(Call) ([]string, error)
}

// IRI returns the IRI that names the function in mappings.
func (f Function) IRI() string { return f.Namespace + f.Name }

// also returns the function with further names.
func (f Function) also(aliases ...string) Function {
	f.Aliases = aliases
	return f
}

// Parameter is one parameter of a [Function].
type Parameter struct {
	// IRIs are the names that a mapping may bind a value to.
	IRIs []string
	// List passes all values of the parameter to one call.
	List bool
	// Optional allows calls without a value.
	Optional bool
}

// optional returns the parameter with Optional set.
func (p Parameter) optional() Parameter {
	p.Optional = true
	return p
}

// list returns the parameter with List set.
func (p Parameter) list() Parameter {
	p.List = true
	return p
}

// or returns the parameter with the names of another parameter added.
func (p Parameter) or(other Parameter) Parameter {
	p.IRIs = append(p.IRIs[:len(p.IRIs):len(p.IRIs)], other.IRIs...)
	return p
}

// Call is one application of a [Function].
type Call struct {
	// Arguments are the values, one slice for each parameter: a single value,
	// all of them for a List, none for an Optional that has no value.
	Arguments [][]string
}

// Arg returns the value of a parameter, or an empty string without a value.
func (c Call) Arg(i int) string {
	if c.Has(i) {
		return c.Arguments[i][0]
	}
	return ""
}

// Has reports whether a parameter has a value.
func (c Call) Has(i int) bool { return i < len(c.Arguments) && len(c.Arguments[i]) > 0 }
