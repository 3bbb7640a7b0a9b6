package rml

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	nsGREL  = "http://users.ugent.be/~bjdmeest/function/grel.ttl#"
	nsIDLab = "https://w3id.org/imec/idlab/function#"
)

// maxFunctionText bounds what one call of a function may give, in bytes, so
// that calls in calls cannot outgrow memory.
const maxFunctionText = 16 << 20

// valueOverhead is what a value counts for besides its text.
const valueOverhead = 16

// functionsByIRI returns the built-in functions and those of an embedding
// program, which win.
func functionsByIRI(own []Function) map[string]*Function {
	functions := make(map[string]*Function)
	patterns := newPatternCache()
	for _, list := range [][]Function{
		grelStrings(patterns), grelParts(patterns), grelCodes(), grelArrays(), grelNumbers(), grelIntegers(),
		grelControls(), grelDates(), idlabStrings(), idlabChoices(), idlabDates(),
	} {
		for i := range list {
			list[i].Datatypes = naturalDatatypesOf(list[i].IRI)
			functions[list[i].IRI] = &list[i]
		}
	}
	for i := range own {
		functions[own[i].IRI] = &own[i]
	}
	return functions
}

// withheldFunctions are the functions of IDLab that reach outside of the
// message, with what each kind would do. A mapping is data that a client posts,
// so it may not.
var withheldFunctions = map[string]string{
	"readFile": "read files", "lookup": "read files", "lookupWithDelimiter": "read files",
	"dbpediaSpotlight":  "call a service",
	"generateUniqueIRI": "keep a state on disk", "createUniqueIRI": "keep a state on disk", "updateUniqueIRI": "keep a state on disk",
	"implicitCreate": "keep a state on disk", "implicitUpdate": "keep a state on disk", "implicitDelete": "keep a state on disk",
	"explicitCreate": "keep a state on disk", "explicitUpdate": "keep a state on disk", "explicitDelete": "keep a state on disk",
}

// unknownFunction says why there is no function of an IRI.
func unknownFunction(iri string) string {
	name, isIDLab := strings.CutPrefix(iri, nsIDLab)
	if does, withheld := withheldFunctions[name]; isIDLab && withheld {
		return fmt.Sprintf("the function <%s> is left out: it would %s, which a mapping must not; a program that wants it registers one of its own", iri, does)
	}
	return fmt.Sprintf("the function <%s> is not known: expected one of the built-in functions, or one that the program registers", iri)
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

// or adds the names of another parameter.
func (p Parameter) or(other Parameter) Parameter {
	p.IRIs = slices.Concat(p.IRIs, other.IRIs)
	return p
}

// text is the result of a function that gives one string.
func text(s string) ([]string, error) { return []string{s}, nil }

func boolean(b bool) ([]string, error) { return text(strconv.FormatBool(b)) }

func integer(n int) ([]string, error) { return text(strconv.Itoa(n)) }

// number renders a number as a decimal, without a fraction when it has none.
func number(f float64) ([]string, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errors.New("the result is not a finite number")
	}
	if f == 0 {
		f = 0 // and not -0
	}
	return text(strconv.FormatFloat(f, 'f', -1, 64))
}

// isTrue reads a truth value: true in any case, or the 1 of xsd:boolean.
func isTrue(s string) bool { return strings.EqualFold(s, "true") || s == "1" }

// parseNumber reads a decimal number, with an exponent or without.
func parseNumber(s string) (float64, error) {
	trimmed := strings.TrimSpace(s)
	f, err := strconv.ParseFloat(trimmed, 64)
	if err != nil || strings.Trim(trimmed, "0123456789+-.eE") != "" {
		return 0, fmt.Errorf("%q is not a number", brief(s))
	}
	return f, nil
}

// parseInteger reads an integer of 64 bits, which may have a fraction of zeros.
func parseInteger(s string) (int64, error) {
	whole, fraction, _ := strings.Cut(strings.TrimSpace(s), ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || strings.Trim(fraction, "0") != "" {
		return 0, fmt.Errorf("%q is not an integer of 64 bits", brief(s))
	}
	return n, nil
}

// brief shortens a value for an error.
func brief(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// tooLong is the error of a result that would be beyond [maxFunctionText].
func tooLong() error {
	return fmt.Errorf("the result has more than %d bytes: %w", maxFunctionText, ErrLimit)
}
