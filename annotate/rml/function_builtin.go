package rml

import "strconv"

const (
	nsGREL  = "http://users.ugent.be/~bjdmeest/function/grel.ttl#"
	nsIDLab = "https://w3id.org/imec/idlab/function#"
)

// functionsByIRI returns the built-in functions and those of an embedding
// program, which win.
func functionsByIRI(own []Function) map[string]*Function {
	functions := make(map[string]*Function)
	for _, list := range [][]Function{grelStrings(), grelArrays(), grelNumbers(), grelControls(), idlabFunctions(), own} {
		for i := range list {
			functions[list[i].IRI] = &list[i]
		}
	}
	return functions
}

// parameter makes a parameter out of the local names it goes by in a
// namespace.
func parameter(namespace string, names ...string) Parameter {
	p := Parameter{}
	for _, name := range names {
		p.IRIs = append(p.IRIs, namespace+name)
	}
	return p
}

func (p Parameter) optional() Parameter {
	p.Optional = true
	return p
}

func (p Parameter) list() Parameter {
	p.List = true
	return p
}

// text is the result of a function that gives one string.
func text(s string) ([]string, error) { return []string{s}, nil }

func boolean(b bool) ([]string, error) { return text(strconv.FormatBool(b)) }

func integer(n int) ([]string, error) { return text(strconv.Itoa(n)) }

// number renders a number as GREL does: without a fraction when it has none.
func number(f float64) ([]string, error) { return text(strconv.FormatFloat(f, 'f', -1, 64)) }
