package function

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The namespaces of the functions and of their parameters.
const (
	nsRDF   = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	nsGREL  = "http://users.ugent.be/~bjdmeest/function/grel.ttl#"
	nsIDLab = "https://w3id.org/imec/idlab/function#"
	// nsOldIDLab is the namespace that the functions of IDLab had before nsIDLab.
	nsOldIDLab = "http://example.com/idlab/function/"
)

// MaxText is the largest result of one call, in bytes. It bounds the memory
// that calls nested in calls take.
const MaxText = 16 << 20

// ValueOverhead is what a value counts for against [MaxText] besides its text.
const ValueOverhead = 16

// Group is the functions that the documentation of package rml lists together.
type Group struct {
	Name      string
	Functions []Function
}

// Groups returns the functions of the library.
func Groups() []Group {
	patterns := newPatternCache()
	return []Group{
		{"strings", grelStrings(patterns)},
		{"parts", grelParts(patterns)},
		{"codes", grelCodes()},
		{"arrays", grelArrays()},
		{"numbers", slices.Concat(grelNumbers(), grelIntegers())},
		{"dates", grelDates()},
		{"choices", grelControls()},
		{"IDLab", slices.Concat(idlabStrings(), idlabChoices(), idlabDates())},
	}
}

// ByIRI returns the functions of the library by their IRI, under each of their names.
func ByIRI() map[string]Function {
	functions := make(map[string]Function)
	for _, group := range Groups() {
		for _, f := range group.Functions {
			f = f.withOldNames()
			for _, f.Name = range append([]string{f.Name}, f.Aliases...) {
				functions[f.IRI()] = f
				if f.Namespace == nsIDLab {
					old := f
					old.Namespace = nsOldIDLab
					functions[old.IRI()] = old
				}
			}
		}
	}
	return functions
}

// withOldNames returns the function with the names of the older namespace of IDLab added to its
// parameters and outputs.
func (f Function) withOldNames() Function {
	f.Parameters = slices.Clone(f.Parameters)
	for i, p := range f.Parameters {
		f.Parameters[i].IRIs = slices.Concat(p.IRIs, oldNames(p.IRIs))
	}
	f.Outputs = slices.Concat(f.Outputs, oldNames(f.Outputs))
	return f
}

// oldNames returns the names in the older namespace of IDLab of those IRIs that are in the newer one.
func oldNames(iris []string) []string {
	var old []string
	for _, iri := range iris {
		if name, isIDLab := strings.CutPrefix(iri, nsIDLab); isIDLab {
			old = append(old, nsOldIDLab+name)
		}
	}
	return old
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

// Unknown returns why a function with an IRI does not exist, and which functions do: those of the
// library and those with the IRIs own.
func Unknown(iri string, own []string) string {
	place := strings.LastIndexAny(iri, "#/") + 1
	namespace, name := iri[:place], iri[place:]
	expected := "expected " + offered(namespace, own)
	isIDLab := namespace == nsIDLab || namespace == nsOldIDLab
	if does, isWithheld := withheldFunctions[name]; isIDLab && isWithheld {
		return fmt.Sprintf("the function <%s> is left out: it would %s, which a mapping must not; %s; "+
			"a program that wants it registers one of its own", iri, does, expected)
	}
	return fmt.Sprintf("the function <%s> is not known: %s", iri, expected)
}

// offered names the functions of a namespace, or the namespaces that have functions, and those with
// the IRIs own.
func offered(namespace string, own []string) string {
	var names []string
	for _, iri := range slices.Sorted(maps.Keys(ByIRI())) {
		if name, isThere := strings.CutPrefix(iri, namespace); isThere && namespace != "" && !strings.ContainsAny(name, "#/") {
			names = append(names, name)
		}
	}
	text := fmt.Sprintf("a function of <%s>, <%s> or <%s>", nsGREL, nsIDLab, nsOldIDLab)
	if len(names) > 0 {
		text = fmt.Sprintf("one of the functions %s of <%s>", strings.Join(names, ", "), namespace)
	}
	if len(own) == 0 {
		return text + ", or one that the program registers"
	}
	return fmt.Sprintf("%s, or one that the program registers: <%s>", text, strings.Join(own, ">, <"))
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
