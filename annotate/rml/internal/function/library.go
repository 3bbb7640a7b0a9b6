package function

import (
	"fmt"
	"strings"
)

// The namespaces of the functions and of their parameters.
const (
	nsRDF   = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	nsGREL  = "http://users.ugent.be/~bjdmeest/function/grel.ttl#"
	nsIDLab = "https://w3id.org/imec/idlab/function#"
)

// MaxText is the largest result of one call, in bytes. It bounds the memory
// that calls nested in calls take.
const MaxText = 16 << 20

// ValueOverhead is what a value counts for against [MaxText] besides its text.
const ValueOverhead = 16

// ByIRI returns the functions of the library by their IRI.
func ByIRI() map[string]Function {
	functions := make(map[string]Function)
	patterns := newPatternCache()
	for _, list := range [][]Function{
		grelStrings(patterns), grelParts(patterns), grelCodes(), grelArrays(), grelNumbers(), grelIntegers(),
		grelControls(), grelDates(), idlabStrings(), idlabChoices(), idlabDates(),
	} {
		for _, f := range list {
			f.Datatypes = naturalDatatypesOf(f.IRI)
			functions[f.IRI] = f
		}
	}
	return functions
}

// withheldFunctions are the functions of IDLab that reach beyond the message,
// with what each of them would do. They are not in the library: a mapping is
// data that a client posts.
var withheldFunctions = map[string]string{
	"readFile":            "read files",
	"lookup":              "read files",
	"lookupWithDelimiter": "read files",
	"dbpediaSpotlight":    "call a service",
	"generateUniqueIRI":   "keep a state on disk",
	"createUniqueIRI":     "keep a state on disk",
	"updateUniqueIRI":     "keep a state on disk",
	"implicitCreate":      "keep a state on disk",
	"implicitUpdate":      "keep a state on disk",
	"implicitDelete":      "keep a state on disk",
	"explicitCreate":      "keep a state on disk",
	"explicitUpdate":      "keep a state on disk",
	"explicitDelete":      "keep a state on disk",
}

// Unknown returns why the library has no function with an IRI.
func Unknown(iri string) string {
	name, isIDLab := strings.CutPrefix(iri, nsIDLab)
	if does, withheld := withheldFunctions[name]; isIDLab && withheld {
		return fmt.Sprintf("the function <%s> is left out: it would %s, which a mapping must not; "+
			"a program that wants it registers one of its own", iri, does)
	}
	return fmt.Sprintf("the function <%s> is not known: expected one of the built-in functions, "+
		"or one that the program registers", iri)
}

// parameter returns a parameter with local names in a namespace.
func parameter(namespace string, names ...string) Parameter {
	p := Parameter{}
	for _, name := range names {
		p.IRIs = append(p.IRIs, namespace+name)
	}
	return p
}

// TooLong returns the error of a result that is beyond [MaxText].
func TooLong() error {
	return limitErrorf("the result has more than %d bytes", MaxText)
}
