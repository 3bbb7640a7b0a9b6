package rml_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
)

// functionResult maps a message with a call as an object and returns the object.
func functionResult(t *testing.T, call, more string, opts *rml.Options) string {
	t.Helper()
	m := newMapper(t, functionPrefixes+`@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
ex:M a rml:TriplesMap ; `+functionSource+` rml:subject ex:s ;
  rml:predicateObjectMap [ rml:predicate ex:p ; rml:objectMap [ rml:functionExecution [ `+call+` ] `+more+` ] ] .`,
		opts)
	out, err := m.Append(nil,
		[]byte(`{"s":"Venus","n":"2.50","i":"-3","d":"2026-01-31","t":"2026-01-31T12:00:00Z","list":["a","b"]}`))
	require.NoError(t, err)
	const before, after = "<http://example.com/ns#s> <http://example.com/ns#p> ", " .\n"
	require.Contains(t, string(out), before)
	return string(out[len(before) : len(out)-len(after)])
}

func callText(function string, arguments ...string) string {
	call := "rml:function " + function
	for i := 0; i < len(arguments); i += 2 {
		call += fmt.Sprintf(` ; rml:input [ rml:parameter %s ; rml:inputValueMap [ rml:reference "$.%s" ] ]`,
			arguments[i], arguments[i+1])
	}
	return call
}

// A result has the natural datatype of its function where the mapping names
// none (RML-FNML).
func TestFunction_givesItsResultANaturalDatatype(t *testing.T) {
	typed := func(text, datatype string) string {
		return fmt.Sprintf(`%q^^<http://www.w3.org/2001/XMLSchema#%s>`, text, datatype)
	}
	for call, want := range map[string]string{
		callText("grel:string_length", "grel:valueParameter", "s"):   typed("5", "integer"),
		callText("grel:array_length", "grel:p_array_a", "list[*]"):   typed("2", "integer"),
		callText("grel:math_abs", "grel:p_dec_n", "n"):               typed("2.5", "decimal"),
		callText("grel:math_abs", "grel:p_dec_n", "i"):               typed("3", "integer"),
		callText("grel:string_toNumber", "grel:valueParameter", "n"): typed("2.5", "decimal"),
		callText("grel:boolean_not", "grel:bool_b",
			"s"): typed("true", "boolean"),
		callText("idlab:isNull", "grel:valueParameter",
			"s"): typed("false", "boolean"),
		callText("grel:date_toDate", "grel:valueParameter",
			"d"): typed("2026-01-31", "date"),
		callText("grel:date_toDate", "grel:valueParameter",
			"t"): typed("2026-01-31T12:00:00Z", "dateTime"),
		callText("grel:toUpperCase", "grel:valueParameter", "s"):                        `"VENUS"`,
		callText("grel:toUpperCase", "grel:valueParameter", "n"):                        `"2.50"`,
		callText("grel:date_datePart", "grel:p_date_d", "d") + datePartInput("month"):   typed("1", "integer"),
		callText("grel:date_datePart", "grel:p_date_d", "d") + datePartInput("weekday"): `"Saturday"`,
		callText("grel:string_contains", "grel:valueParameter", "s", "grel:string_sub",
			"s"): typed("true", "boolean"),
		callText("grel:string_indexOf", "grel:valueParameter", "s", "grel:string_sub", "n"):            typed("-1", "integer"),
		callText("grel:string_substring", "grel:valueParameter", "d") + fromInput("grel:p_int_i_from"): `"26-01-31"`,
	} {
		require.Equal(t, want, functionResult(t, call, "", nil), call)
	}
}

func datePartInput(unit string) string {
	return ` ; rml:input [ rml:parameter grel:p_string_unit ; rml:inputValue "` + unit + `" ]`
}

func fromInput(parameter string) string {
	return ` ; rml:input [ rml:parameter ` + parameter + ` ; rml:inputValue "2" ]`
}

// What the mapping or the program says precedes the natural datatype.
func TestFunction_prefersTheDatatypeOfTheMapping(t *testing.T) {
	length := callText("grel:string_length", "grel:valueParameter", "s")
	for more, want := range map[string]string{
		"; rml:datatype xsd:string":                       `"5"`,
		"; rml:datatype xsd:double":                       `"5"^^<http://www.w3.org/2001/XMLSchema#double>`,
		"; rml:datatypeMap [ rml:constant xsd:byte ]":     `"5"^^<http://www.w3.org/2001/XMLSchema#byte>`,
		`; rml:language "en"`:                             `"5"@en`,
		"; rml:termType rml:IRI":                          `<http://example.com/base/5>`,
		"; rml:return grel:output_number":                 `"5"^^<http://www.w3.org/2001/XMLSchema#integer>`,
		"; rml:return grel:stringOut":                     `"5"^^<http://www.w3.org/2001/XMLSchema#integer>`,
		"; rml:termType rml:Literal ; rml:datatype ex:my": `"5"^^<http://example.com/ns#my>`,
	} {
		require.Equal(t, want, functionResult(t, length, more, nil), more)
	}
}

func TestFunction_Datatypes_areThoseOfAProgramsOwnFunctions(t *testing.T) {
	const xsd = "http://www.w3.org/2001/XMLSchema#"
	own := func(result string, datatypes ...string) *rml.Options {
		return &rml.Options{Functions: []rml.Function{{
			IRI: "http://example.com/ns#own", Datatypes: datatypes,
			Apply: func(rml.Call) ([]string, error) { return []string{result}, nil },
		}}}
	}
	for _, c := range []struct {
		result    string
		datatypes []string
		want      string
	}{
		{"7", nil, `"7"`},
		{"7", []string{xsd + "integer"}, `"7"^^<` + xsd + `integer>`},
		{"x\"y", []string{xsd + "integer", "http://example.com/ns#d"}, `"x\"y"^^<http://example.com/ns#d>`},
		{"x", []string{xsd + "integer"}, `"x"`},
		{"x", []string{xsd + "string"}, `"x"`},
	} {
		require.Equal(t, c.want, functionResult(t, "rml:function ex:own", "", own(c.result, slices.Clone(c.datatypes)...)), c)
	}
}

// legacyResult maps a message with a call in the older form as an object, in both dialects, and
// returns the object.
func legacyResult(t *testing.T, call, more string) string {
	t.Helper()
	var object string
	for i, dialect := range []rml.Dialect{rml.DialectRML, rml.DialectCARML} {
		m := newMapper(t, prefixes+`@prefix fnml: <http://semweb.mmlab.be/ns/fnml#> .
@prefix grel: <http://users.ugent.be/~bjdmeest/function/grel.ttl#> .
@prefix fno: <https://w3id.org/function/ontology#> .
map:M a rr:TriplesMap ; `+jsonStream+
			` rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ fnml:functionValue [ `+call+` ] `+more+` ] ] .`,
			&rml.Options{Dialect: dialect})
		out, err := m.Append(nil, []byte(`{"s":"Venus","n":2.5,"d":"2026-01-31"}`))
		require.NoError(t, err)
		_, made, found := strings.Cut(strings.TrimSuffix(string(out), " .\n"), "p> ")
		require.True(t, found, string(out))
		require.True(t, i == 0 || made == object, "%s in the dialect carml, %s in the dialect rml", made, object)
		object = made
	}
	return object
}

func legacyCall(function, parameter, reference string) string {
	return `rr:predicateObjectMap [ rr:predicate fno:executes ; rr:objectMap [ rr:constant ` + function + ` ] ],
  [ rr:predicate ` + parameter + ` ; rr:objectMap [ rml:reference "` + reference + `" ] ]`
}

func TestFunction_givesItsResultANaturalDatatypeInLegacyMappings(t *testing.T) {
	const xsd = "^^<http://www.w3.org/2001/XMLSchema#"
	length := legacyCall("grel:string_length", "grel:valueParameter", "s")
	for call, want := range map[string]string{
		length: `"5"` + xsd + "integer>",
		legacyCall("grel:math_abs", "grel:p_dec_n", "n"):               `"2.5"` + xsd + "decimal>",
		legacyCall("grel:math_ceil", "grel:p_dec_n", "n"):              `"3"` + xsd + "integer>",
		legacyCall("grel:boolean_not", "grel:bool_b", "s"):             `"true"` + xsd + "boolean>",
		legacyCall("grel:date_toDate", "grel:valueParameter", "d"):     `"2026-01-31"` + xsd + "date>",
		legacyCall("grel:toUpperCase", "grel:valueParameter", "s"):     `"VENUS"`,
		legacyCall("grel:string_toString", "grel:valueParameter", "n"): `"2.5"`,
	} {
		require.Equal(t, want, legacyResult(t, call, ""), call)
	}
	require.Equal(t, `"5"`+xsd+"byte>",
		legacyResult(t, length, "; rr:datatype <http://www.w3.org/2001/XMLSchema#byte>"))
	require.Equal(t, `"5"@en`, legacyResult(t, length, `; rr:language "en"`))
}
