package rml_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
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

// with makes the arguments of a case: names and values by turns.
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

// The functions that FnO describes, those of RMLMapper and those that the
// conditions of FNML need.
const builtInFunctions = `
grel:array_get grel:array_join grel:array_length grel:array_reverse grel:array_slice grel:array_sort grel:array_sum grel:array_uniques
grel:boolean_and grel:boolean_not grel:boolean_or grel:boolean_xor grel:controls_if
grel:date_datePart grel:date_diff grel:date_inc grel:date_now grel:date_toDate grel:escape
grel:math_abs grel:math_acos grel:math_asin grel:math_atan grel:math_atan2 grel:math_ceil grel:math_combin ` +
	`grel:math_cos grel:math_cosh grel:math_degrees
grel:math_even grel:math_exp grel:math_fact grel:math_factn grel:math_floor grel:math_gcd grel:math_lcm ` +
	`grel:math_ln grel:math_log grel:math_max grel:math_min
grel:math_mod grel:math_multinomial grel:math_odd grel:math_pow grel:math_quotient grel:math_radians ` +
	`grel:math_randomNumber grel:math_round grel:math_sin
grel:math_sinh grel:math_tan grel:math_tanh grel:other_coalesce grel:other_hasField grel:other_type
grel:string_chomp grel:string_contains grel:string_diff grel:string_endsWith grel:string_indexOf ` +
	`grel:string_lastIndexOf grel:string_length grel:string_match
grel:string_md5 grel:string_partition grel:string_phonetic grel:string_reinterpret grel:string_replace ` +
	`grel:string_replaceChars grel:string_rpartition
grel:string_sha1 grel:string_smartSplit grel:string_split grel:string_splitByCharType ` +
	`grel:string_splitByLengths grel:string_startsWith grel:string_substring
grel:string_toNumber grel:string_toString grel:string_toTitlecase grel:string_trim grel:string_unescape ` +
	`grel:string_unicode grel:toLowerCase grel:toUpperCase
grel:isNull grel:isNotNull grel:equal grel:notEqual grel:IF
idlab:equal idlab:notEqual idlab:stringContainsOtherString idlab:listContainsElement idlab:getMIMEType ` +
	`idlab:decide idlab:isNull idlab:isNotNull
idlab:trueCondition idlab:random idlab:inRange idlab:slugify idlab:normalizeDate idlab:normalizeDateWithLang idlab:normalizeDateTime
idlab:normalizeDateTimeWithLang idlab:toUpperCaseURL idlab:concat idlab:concatSequence ` +
	`idlab:crossConcatSequence idlab:alwaysReturnsABC idlab:IF`

// Every function of the list stands in one of the tables of this package.
func TestFunction_tablesCoverEveryBuiltInFunction(t *testing.T) {
	// TestFunction_returnsRandomAndCurrentValues
	tested := map[string]bool{"grel:date_now": true, "grel:math_randomNumber": true, "idlab:random": true}
	for _, table := range [][]functionCase{
		stringFunctions(), partFunctions(), codeFunctions(), arrayFunctions(), numberFunctions(), controlFunctions(),
		dateFunctions(), idlabFunctions(),
	} {
		for _, c := range table {
			tested[c.function] = true
		}
	}
	listed := strings.Fields(builtInFunctions)
	require.Subset(t, slices.Collect(maps.Keys(tested)), listed)
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
