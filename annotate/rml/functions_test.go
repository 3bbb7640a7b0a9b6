package rml_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/internal/xsd"
	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/internal/function"
)

const functionPrefixes = `@prefix rml: <http://w3id.org/rml/> .
@prefix grel: <http://users.ugent.be/~bjdmeest/function/grel.ttl#> .
@prefix idlab: <https://w3id.org/imec/idlab/function#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix ex: <http://example.com/ns#> .
`

// functionSource reads one JSON message of the default stream.
const functionSource = `rml:logicalSource [ rml:source [ a <http://carml.taxonic.com/carml/Stream> ] ; ` +
	`rml:referenceFormulation rml:JSONPath ; rml:iterator "$" ] ;`

// none is what a function gives that gives no value.
const none = "(none)"

// functionCase is a call: the function, the arguments by the names of the
// parameters (a string, several of them, or nil for one that is missing), and
// the values it gives with a | between them, or an error after an exclamation
// mark.
type functionCase struct {
	function string
	args     []any
	want     string
}

// with returns the arguments of a case: names and values in turn.
func with(args ...any) []any { return args }

// evaluate calls a function by way of a mapping.
func evaluate(t *testing.T, c functionCase) (string, error) {
	t.Helper()
	return evaluateWith(t, functionPrefixes, c)
}

// evaluateWith calls a function by way of a mapping with the given prefixes.
func evaluateWith(t *testing.T, prefixes string, c functionCase) (string, error) {
	t.Helper()
	namespace, _, _ := strings.Cut(c.function, ":")
	var inputs strings.Builder
	message := make(map[string]any)
	for i := 0; i < len(c.args); i += 2 {
		name := c.args[i].(string)
		if !strings.Contains(name, ":") {
			name = namespace + ":" + name
		}
		key, reference := fmt.Sprintf("a%d", i), fmt.Sprintf("$.a%d", i)
		switch value := c.args[i+1].(type) {
		case string:
			message[key] = value
		case []string:
			message[key] = value
			reference += "[*]"
		}
		fmt.Fprintf(&inputs, `rml:input [ rml:parameter %s ; rml:inputValueMap [ rml:reference "%s" ] ] ; `, name, reference)
	}
	mapping := prefixes + `ex:M ` + functionSource +
		` rml:subject ex:s ; rml:predicateObjectMap [ rml:predicate ex:p ; rml:objectMap [
  rml:functionExecution [ rml:function grel:array_join ;
    rml:input [ rml:parameter grel:p_string_sep ; rml:inputValue "|" ], [ rml:parameter grel:p_array_a ; rml:inputValueMap [
      rml:functionExecution [ ` + inputs.String() + ` rml:function ` + c.function + ` ] ] ] ] ] ] .`
	src, err := json.Marshal(message)
	require.NoError(t, err)
	out, err := mapFunction(t, mapping, string(src), nil)
	if err != nil {
		return "", err
	}
	if out == "" {
		return none, nil
	}
	quads := readNQuads(t, []byte(out))
	require.Len(t, quads, 1)
	return quads[0].Object.Value, nil
}

// mapFunction maps a message to N-Quads.
func mapFunction(t *testing.T, mapping, message string, functions []rml.Function) (string, error) {
	t.Helper()
	m, err := rml.Load([]byte(mapping), nil)
	if err != nil {
		return "", err
	}
	plan, err := rml.Compile(m, unhurried(&rml.Options{Format: rdf.NQuads, Functions: functions}))
	if err != nil {
		return "", err
	}
	out, err := plan.NewMapper().Append(nil, []byte(message))
	return string(out), err
}

func runFunctions(t *testing.T, cases []functionCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s%.60q", c.function, c.args), func(t *testing.T) {
			got, err := evaluate(t, c)
			if reason, fails := strings.CutPrefix(c.want, "!"); fails {
				require.ErrorContains(t, err, reason)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

// functionTables returns the cases of all tables.
func functionTables() []functionCase {
	return slices.Concat(stringFunctions(), partFunctions(), codeFunctions(), arrayFunctions(), numberFunctions(),
		controlFunctions(), dateFunctions(), idlabFunctions())
}

// Every function of the library has a case that gives a value, and the values of its cases fit its
// natural datatypes: some value of a function with datatypes has one of them, and a function without
// datatypes does not give integers or truth values only.
func TestFunction_hasCasesThatFitItsDatatypes(t *testing.T) {
	// TestFunction_returnsRandomAndCurrentValues has these.
	values := map[string][]string{"grel:date_now": {"2026-01-31T12:00:00Z"}, "grel:math_randomNumber": {"7"}, "idlab:random": {"x"}}
	for _, c := range functionTables() {
		if !strings.HasPrefix(c.want, "!") && c.want != none {
			values[c.function] = append(values[c.function], strings.Split(c.want, "|")...)
		}
	}
	has := func(datatype string) func(string) bool {
		space := xsd.FindLexicalSpace(datatype)
		return func(value string) bool { return space([]byte(value)) }
	}
	plain := func(value string) bool { return !has(rdf.XSDInteger)(value) && !has(rdf.XSDBoolean)(value) }
	for _, group := range function.Groups() {
		prefix := "grel:"
		if group.Name == "IDLab" {
			prefix = "idlab:"
		}
		for _, f := range group.Functions {
			name := prefix + f.Name
			require.NotEmpty(t, values[name], "the tables of this package have no case of %s", name)
			fits := len(f.Datatypes) == 0 && slices.ContainsFunc(values[name], plain)
			for _, datatype := range f.Datatypes {
				fits = fits || slices.ContainsFunc(values[name], has(datatype))
			}
			require.True(t, fits, "%s has the datatypes %q, and gives %q", name, f.Datatypes, values[name])
		}
	}
}

func TestFunction_strings(t *testing.T)  { runFunctions(t, stringFunctions()) }
func TestFunction_parts(t *testing.T)    { runFunctions(t, partFunctions()) }
func TestFunction_codes(t *testing.T)    { runFunctions(t, codeFunctions()) }
func TestFunction_arrays(t *testing.T)   { runFunctions(t, arrayFunctions()) }
func TestFunction_numbers(t *testing.T)  { runFunctions(t, numberFunctions()) }
func TestFunction_controls(t *testing.T) { runFunctions(t, controlFunctions()) }
func TestFunction_dates(t *testing.T)    { runFunctions(t, dateFunctions()) }
func TestFunction_idlab(t *testing.T)    { runFunctions(t, idlabFunctions()) }

// The older namespace of IDLab has the same functions, by the same local names.
func TestFunction_idlabByTheOlderNamespace(t *testing.T) {
	const newer, older = "<https://w3id.org/imec/idlab/function#>", "<http://example.com/idlab/function/>"
	prefixes := strings.Replace(functionPrefixes, newer, older, 1)
	require.NotEqual(t, functionPrefixes, prefixes)
	for _, c := range idlabFunctions() {
		t.Run(fmt.Sprintf("%s%.60q", c.function, c.args), func(t *testing.T) {
			got, err := evaluateWith(t, prefixes, c)
			if reason, fails := strings.CutPrefix(c.want, "!"); fails {
				require.ErrorContains(t, err, reason)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

// Every function that the descriptions of RMLMapper have in the older namespace takes the parameters
// of its description, each by the name of the parameter and by that of its predicate, and gives the
// output of its description by both names.
func TestFunction_idlabAsTheOlderDescriptionsSay(t *testing.T) {
	const str, other, delimiter = "_str str", "_otherStr otherStr", "_delimiter delimiter"
	const value, value2 = "grel:valueParam grel:valueParameter", "grel:valueParam2 grel:valueParameter2"
	const date, pattern = "_strDate strDate", "_pattern pattern"
	const stringOut, grelOut, boolOut = "_stringOut stringOut", "grel:stringOut grel:stringOutput", "_boolOut o_boolOut"
	for function, c := range map[string]struct {
		parameters []string // the names of each
		arguments  []string
		outputs    string
		want       string
	}{
		"equal":                     {[]string{value, value2}, []string{"a", "a"}, grelOut, "true"},
		"notEqual":                  {[]string{value, value2}, []string{"a", "a"}, grelOut, "false"},
		"stringContainsOtherString": {[]string{str, other, delimiter}, []string{"a;b", "b", ";"}, stringOut, "true"},
		"listContainsElement":       {[]string{"_list list", str}, []string{"a", "a"}, stringOut, "true"},
		"getMIMEType":               {[]string{str}, []string{"a.csv"}, stringOut, "text/csv"},
		"decide":                    {[]string{str, "_expectedStr expectedStr", "_result result"}, []string{"a", "a", "yes"}, stringOut, "yes"},
		"isNull":                    {[]string{str}, []string{"a"}, boolOut, "false"},
		"trueCondition":             {[]string{"_strBoolean strBoolean", str}, []string{"true", "a"}, stringOut, "a"},
		"inRange":                   {[]string{"_test p_test", "_from p_from", "_to p_to"}, []string{"2", "1", "3"}, boolOut, "true"},
		"slugify":                   {[]string{str}, []string{"A Café"}, stringOut, "a-cafe"},
		"toUpperCaseURL":            {[]string{str}, []string{"www.example.com"}, stringOut, "http://WWW.EXAMPLE.COM"},
		"normalizeDate":             {[]string{date, pattern}, []string{"31/01/2026", "dd/MM/yyyy"}, stringOut, "2026-01-31"},
		"normalizeDateWithLang": {
			[]string{date, pattern, "_lang lang"}, []string{"31 janvier 2026", "d MMMM yyyy", "fr"}, stringOut, "2026-01-31",
		},
		"normalizeDateTime": {
			[]string{date, pattern}, []string{"31/01/2026 7:05:09", "dd/MM/yyyy H:mm:ss"}, stringOut, "2026-01-31T07:05:09",
		},
		"normalizeDateTimeWithLang": {
			[]string{date, pattern, "_lang lang"}, []string{"31 janvier 2026 7:05:09", "d MMMM yyyy H:mm:ss", "fr"}, stringOut,
			"2026-01-31T07:05:09",
		},
	} {
		for by := range 2 {
			var inputs strings.Builder
			message := map[string]string{}
			iri := func(names string) string {
				if name := strings.Fields(names)[by]; strings.Contains(name, ":") {
					return name
				}
				return "<http://example.com/idlab/function/" + strings.Fields(names)[by] + ">"
			}
			for i, names := range c.parameters {
				message[fmt.Sprint("a", i)] = c.arguments[i]
				fmt.Fprintf(&inputs, `rml:input [ rml:parameter %s ; rml:inputValueMap [ rml:reference "$.a%d" ] ] ; `, iri(names), i)
			}
			data, err := json.Marshal(message)
			require.NoError(t, err)
			out, err := mapFunction(t, functionPrefixes+object(`rml:functionExecution [ `+inputs.String()+
				` rml:function <http://example.com/idlab/function/`+function+`> ] ; rml:return `+iri(c.outputs)), string(data), nil)
			require.NoError(t, err, function)
			quads := readNQuads(t, []byte(out))
			require.Len(t, quads, 1, function)
			require.Equal(t, c.want, quads[0].Object.Value, function)
		}
	}
}
