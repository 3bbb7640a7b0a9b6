package wasm

import (
	"errors"
	"fmt"
	"slices"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
)

// Bounds of what a module describes.
const (
	maxIRI        = 1000 // bytes
	maxFunctions  = 1000
	maxParameters = 64 // of a function
	maxNames      = 64 // of a parameter, and of the outputs and datatypes of a function
)

// The flags of a parameter.
const (
	flagList     = 1
	flagOptional = 2
)

// description is what a module has described so far.
type description struct{ functions []rml.Function }

// last returns the function that is being described.
func (d *description) last() (*rml.Function, error) {
	if len(d.functions) == 0 {
		return nil, errors.New("no function precedes it")
	}
	return &d.functions[len(d.functions)-1], nil
}

func (d *description) function(iri string, _ uint32) error {
	if err := checkIRI(iri); err != nil {
		return err
	}
	if len(d.functions) == maxFunctions {
		return fmt.Errorf("more than %d functions", maxFunctions)
	}
	if slices.ContainsFunc(d.functions, func(f rml.Function) bool { return f.IRI == iri }) {
		return fmt.Errorf("<%s> is described twice", iri)
	}
	d.functions = append(d.functions, rml.Function{IRI: iri})
	return nil
}

func (d *description) parameter(iri string, flags uint32) error {
	f, err := d.last()
	switch {
	case err != nil:
		return err
	case flags > flagList|flagOptional:
		return fmt.Errorf("the flags of <%s> are %d, expected 0 to %d", iri, flags, flagList|flagOptional)
	case len(f.Parameters) == maxParameters:
		return fmt.Errorf("more than %d parameters of <%s>", maxParameters, f.IRI)
	}
	if err := checkParameter(f, iri); err != nil {
		return err
	}
	f.Parameters = append(f.Parameters,
		rml.Parameter{IRIs: []string{iri}, List: flags&flagList != 0, Optional: flags&flagOptional != 0})
	return nil
}

func (d *description) name(iri string, _ uint32) error {
	f, err := d.last()
	switch {
	case err != nil:
		return err
	case len(f.Parameters) == 0:
		return fmt.Errorf("<%s> has no parameter yet", f.IRI)
	}
	p := &f.Parameters[len(f.Parameters)-1]
	if len(p.IRIs) == maxNames {
		return fmt.Errorf("more than %d names of a parameter of <%s>", maxNames, f.IRI)
	}
	if err := checkParameter(f, iri); err != nil {
		return err
	}
	p.IRIs = append(p.IRIs, iri)
	return nil
}

func (d *description) output(iri string, _ uint32) error {
	return d.add(iri, func(f *rml.Function) *[]string { return &f.Outputs })
}

func (d *description) datatype(iri string, _ uint32) error {
	return d.add(iri, func(f *rml.Function) *[]string { return &f.Datatypes })
}

// finish returns the functions, which call the module.
func (d *description) finish(m *Module) ([]rml.Function, error) {
	if len(d.functions) == 0 {
		return nil, fmt.Errorf("%s describes no function", describeName)
	}
	for i := range d.functions {
		outputs := d.functions[i].Outputs
		d.functions[i].Apply = func(call rml.Call) ([]string, error) { return m.apply(i, outputs, call) }
	}
	return d.functions, nil
}

// add adds an IRI to a list of the last function.
func (d *description) add(iri string, list func(*rml.Function) *[]string) error {
	f, err := d.last()
	if err != nil {
		return err
	}
	to := list(f)
	if len(*to) == maxNames {
		return fmt.Errorf("more than %d of them", maxNames)
	}
	*to = append(*to, iri)
	return checkIRI(iri)
}

// checkParameter checks a name of a parameter of a function, which no other parameter must have.
func checkParameter(f *rml.Function, iri string) error {
	for _, p := range f.Parameters {
		if slices.Contains(p.IRIs, iri) {
			return fmt.Errorf("<%s> names two parameters of <%s>", iri, f.IRI)
		}
	}
	return checkIRI(iri)
}

func checkIRI(iri string) error {
	if _, ok := rdf.ValidIRI([]byte(iri)); !ok {
		return fmt.Errorf("%q is not an absolute IRI", iri)
	}
	return nil
}
