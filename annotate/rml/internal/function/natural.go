package function

import (
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/internal/xsd"
	"github.com/iotenablers/enablers/annotate/rdf"
)

// The local names of the functions of GREL and IDLab whose result is not text.
// Functions that return one of their arguments (controls_if, array_get) return
// text, because all arguments are text. So do the functions that normalize
// dates, whose result is an xsd:string in the descriptions of IDLab.
var (
	integerFunctions = []string{
		"string_length", "length", "string_indexOf", "string_lastIndexOf", "string_unicode", "array_length", "date_diff", "date_datePart",
		"math_ceil", "math_floor", "math_round", "math_even", "math_odd", "math_fact", "math_factn", "math_combin", "math_gcd",
		"math_lcm", "math_randomNumber", "math_multinomial", "math_quotient",
	}
	numberFunctions = []string{
		"string_toNumber", "array_sum", "math_abs", "math_exp", "math_ln", "math_log", "math_sin", "math_cos", "math_tan",
		"math_asin", "math_acos", "math_atan", "math_sinh", "math_cosh", "math_tanh", "math_degrees", "math_radians",
		"math_atan2", "math_max", "math_min", "math_pow", "math_mod",
	}
	booleanFunctions = []string{
		"string_contains", "contains", "string_startsWith", "startsWith", "string_endsWith", "endsWith",
		"boolean_and", "boolean_or", "boolean_xor", "boolean_not", "other_hasField",
		"isNull", "controls_isNull", "isNotNull", "controls_isNotNull", "equal", "equals", "notEqual", "notEquals",
		"stringContainsOtherString", "listContainsElement", "inRange",
	}
	dateFunctions = []string{"date_now", "date_toDate", "date_inc"}
)

// naturalDatatypesOf returns the natural datatypes of a built-in function. A
// number without a fraction is an integer, as it is in JSON.
func naturalDatatypesOf(function string) []string {
	name := function[strings.LastIndexByte(function, '#')+1:]
	switch {
	case slices.Contains(integerFunctions, name):
		return []string{rdf.XSDInteger}
	case slices.Contains(numberFunctions, name):
		return []string{rdf.XSDInteger, xsd.Namespace + "decimal", rdf.XSDDouble}
	case slices.Contains(booleanFunctions, name):
		return []string{rdf.XSDBoolean}
	case slices.Contains(dateFunctions, name):
		return []string{xsd.Namespace + "dateTime", xsd.Namespace + "date"}
	}
	return nil
}
