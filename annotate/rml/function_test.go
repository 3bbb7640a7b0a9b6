package rml_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
)

// upper is an expression map's worth of a call that puts a reference in upper
// case, without a return: the first output is meant.
const upper = `rml:functionExecution [ rml:function grel:toUpperCase ; rml:input [ rml:parameter ` +
	`grel:valueParam ; rml:inputValueMap [ rml:reference "$.v" ] ] ]`

// isX is a condition on a reference.
const isX = `rml:condition [ rml:functionExecution [ rml:function idlab:equal ;
  rml:input [ rml:parameter grel:valueParam ; rml:inputValueMap [ rml:reference "$.c[*]" ] ], [
  rml:parameter grel:valueParam2 ; rml:inputValue "x" ] ] ; rml:return idlab:_boolOut ]`

// object returns a mapping whose object map is given.
func object(objectMap string) string {
	return `ex:M ` + functionSource +
		` rml:subject ex:s ; rml:predicateObjectMap [ rml:predicate ex:p ; rml:objectMap [ ` + objectMap + ` ] ] .`
}

func TestFunction_appliesInEveryTermMap(t *testing.T) {
	const ns = "http://example.com/ns#"
	cases := map[string]struct{ mapping, message, want string }{
		"an object, a literal by default": {object(upper), `{"v":"a"}`, `<` + ns + `s> <` + ns + `p> "A" .`},
		"an object, as an IRI": {
			object(upper + ` ; rml:termType rml:IRI`),
			`{"v":"a"}`,
			`<` + ns + `s> <` + ns + `p> <http://example.com/base/A> .`,
		},
		"an object with a language": {
			object(upper + ` ; rml:language "pl"`),
			`{"v":"a"}`,
			`<` + ns + `s> <` + ns + `p> "A"@pl .`,
		},
		"an object with a datatype": {
			object(upper + ` ; rml:datatype ex:d`),
			`{"v":"a"}`,
			`<` + ns + `s> <` + ns + `p> "A"^^<` + ns + `d> .`,
		},
		"a language map": {object(`rml:constant "t" `), `{}`, `<` + ns + `s> <` + ns + `p> "t" .`},
		"a language map of a function": {
			object(`rml:reference "$.v" ; rml:languageMap [ rml:functionExecution [ rml:function grel:toLowerCase ; ` +
				`rml:input [ rml:parameter grel:valueParam ; rml:inputValueMap [ rml:reference "$.l" ] ] ] ]`),
			`{"v":"a","l":"PL"}`,
			`<` + ns + `s> <` + ns + `p> "a"@pl .`,
		},
		"a datatype map, an IRI by default": {
			object(`rml:reference "$.v" ; rml:datatypeMap [ ` + upper + ` ]`),
			`{"v":"a"}`,
			`<` + ns + `s> <` + ns + `p> "a"^^<http://example.com/base/A> .`,
		},
		"a subject, an IRI by default": {
			`ex:M ` + functionSource + ` rml:subjectMap [ ` + upper +
				` ] ; rml:predicateObjectMap [ rml:predicate ex:p ; rml:object "o" ] .`,
			`{"v":"a"}`,
			`<http://example.com/base/A> <` + ns + `p> "o" .`,
		},
		"a subject, an absolute IRI": {
			`ex:M ` + functionSource + ` rml:subjectMap [ ` + upper +
				` ] ; rml:predicateObjectMap [ rml:predicate ex:p ; rml:object "o" ] .`,
			`{"v":"urn:a"}`,
			`<URN:A> <` + ns + `p> "o" .`,
		},
		"a predicate, an IRI by default": {
			`ex:M ` + functionSource + ` rml:subject ex:s ; rml:predicateObjectMap [ rml:predicateMap [ ` + upper +
				` ] ; rml:object "o" ] .`,
			`{"v":"a"}`,
			`<` + ns + `s> <http://example.com/base/A> "o" .`,
		},
		"a graph of a subject": {
			`ex:M ` + functionSource + ` rml:subjectMap [ rml:constant ex:s ; rml:graphMap [ ` + upper +
				` ] ] ; rml:predicateObjectMap [ rml:predicate ex:p ; rml:object "o" ] .`,
			`{"v":"a"}`,
			`<` + ns + `s> <` + ns + `p> "o" <http://example.com/base/A> .`,
		},
		"a graph of an object": {
			`ex:M ` + functionSource +
				` rml:subject ex:s ; rml:predicateObjectMap [ rml:predicate ex:p ; rml:object "o" ; rml:graphMap [ ` + upper +
				` ] ] .`,
			`{"v":"a"}`,
			`<` + ns + `s> <` + ns + `p> "o" <http://example.com/base/A> .`,
		},
		"every value of an input, in order": {
			object(strings.Replace(upper, "$.v", "$.v[*]", 1)),
			`{"v":["b","a"]}`,
			`<` + ns + `s> <` + ns + `p> "B" .` + "\n" + `<` + ns + `s> <` + ns + `p> "A" .`,
		},
		"nothing without the input": {object(upper), `{}`, ``},
		"a template as the input": {
			object(strings.Replace(upper, `rml:reference "$.v"`, `rml:template "x-{$.v}/"`, 1)),
			`{"v":"ä b"}`,
			`<` + ns + `s> <` + ns + `p> "X-Ä B/" .`,
		},
		"long forms and types": {
			object(`rml:functionExecution ex:E ; rml:returnMap [ a rml:ReturnMap ; rml:constant grel:stringOut ]`) +
				` ex:E a rml:Execution, rml:FunctionExecution ; rml:functionMap [ a rml:FunctionMap ; rml:constant ` +
				`grel:toUpperCase ] ; rml:input [ a rml:Input ; rml:parameterMap [ a rml:ParameterMap ; rml:constant ` +
				`grel:valueParameter ] ; rml:inputValueMap [ a rml:TermMap ; rml:reference "$.v" ] ] .`,
			`{"v":"a"}`,
			`<` + ns + `s> <` + ns + `p> "A" .`,
		},
		"a call in a call, without a return": {
			object(`rml:functionExecution [ rml:function grel:toUpperCase ; rml:input [ rml:parameter grel:valueParam ; ` +
				`rml:inputValueMap [ rml:functionExecution [ rml:function grel:string_replace ; rml:input [ rml:parameter ` +
				`grel:valueParam ; rml:inputValueMap [ rml:reference "$.v" ] ], [ rml:parameter grel:param_find ; ` +
				`rml:inputValue " " ], [ rml:parameter grel:param_replace ; rml:inputValue "-" ] ] ] ] ]`),
			`{"v":"a b c"}`,
			`<` + ns + `s> <` + ns + `p> "A-B-C" .`,
		},
		"one execution for two maps": {
			`ex:M ` + functionSource +
				` rml:subjectMap [ rml:functionExecution ex:E ] ; rml:predicateObjectMap [ rml:predicate ex:p ; ` +
				`rml:objectMap [ rml:functionExecution ex:E ] ] . ex:E rml:function grel:toUpperCase ; rml:input [ ` +
				`rml:parameter grel:valueParam ; rml:inputValueMap [ rml:reference "$.v" ] ] .`,
			`{"v":"a"}`,
			`<http://example.com/base/A> <` + ns + `p> "A" .`,
		},
		"both sides of a join": {
			`ex:M ` + functionSource +
				` rml:subject ex:s ; rml:predicateObjectMap [ rml:predicate ex:p ; rml:objectMap [ rml:parentTriplesMap ` +
				`ex:P ; rml:joinCondition [ rml:childMap [ ` + upper + ` ] ; rml:parentMap [ ` +
				strings.Replace(upper, "$.v", "$.k", 1) + ` ] ] ] ] .
ex:P ` + strings.Replace(functionSource, `"$"`, `"$.r[*]"`, 1) + ` rml:subjectMap [ rml:template "http://r/{$.k}" ] .`,
			`{"v":"aB","r":[{"k":"Ab"},{"k":"c"}]}`, `<` + ns + `s> <` + ns + `p> <http://r/Ab> .`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := mapFunction(t, functionPrefixes+c.mapping, c.message, nil)
			require.NoError(t, err)
			require.Equal(t, c.want, strings.TrimSpace(got))
		})
	}
}

// The older form describes an execution by a triples map.
func TestFunction_appliesInTheOlderForm(t *testing.T) {
	const source = `rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; ` +
		`rml:iterator "$" ] ;`
	call := func(function string, parameters ...string) string {
		maps := `rr:predicateObjectMap [ rr:predicate fno:executes ; rr:objectMap [ rr:constant grel:` + function + ` ] ]`
		for i := 0; i < len(parameters); i += 2 {
			maps += `, [ rr:predicate grel:` + parameters[i] + ` ; ` + parameters[i+1] + ` ]`
		}
		return `fnml:functionValue [ ` + source +
			` rr:subjectMap [ rr:template "functionExec" ; rr:termType rr:BlankNode ; rr:class fno:Execution ] ; ` + maps + ` ]`
	}
	reference := func(r string) string { return `rr:objectMap [ rml:reference "` + r + `" ]` }
	cases := map[string]struct{ object, message, want string }{
		"one parameter": {call("toUpperCase", "valueParameter", reference("v")), `{"v":"a"}`, `"A"`},
		"a constant parameter": {
			call("string_chomp", "valueParameter", reference("v"), "p_string_sep", `rr:object "b"`),
			`{"v":"ab"}`,
			`"a"`,
		},
		"a call in a call": {
			call("toUpperCase", "valueParameter", `rr:objectMap [ `+call("string_trim", "valueParameter", reference("v"))+` ]`),
			`{"v":" a "}`,
			`"A"`,
		},
		"all values of a list": {
			call("array_join", "p_array_a", reference("v"), "p_string_sep", `rr:object "-"`),
			`{"v":["a","b"]}`,
			`"a-b"`,
		},
		"values of CARML for a list": {
			call("array_join", "p_array_a", `rr:objectMap [ carml:multiReference "v" ]`, "p_string_sep", `rr:object "-"`),
			`{"v":["a","b"]}`,
			`"a-b"`,
		},
		"a list bound twice": {
			call("array_join", "p_array_a", reference("v"), "p_array_a", reference("w"), "p_string_sep", `rr:object "-"`),
			`{"v":"a","w":"b"}`,
			`"a-b"`,
		},
		"several objects for a list": {
			call("array_join", "p_array_a", `rr:object "x" ; rr:objectMap [ rml:reference "v" ], [ rml:reference "w" ]`,
				"p_string_sep", `rr:object "-"`),
			`{"v":"a","w":"b"}`,
			`"x-a-b"`,
		},
		"a datatype": {
			call("string_length", "valueParameter", reference("v")) + ` ; rr:datatype xsd:integer`,
			`{"v":"abc"}`,
			`"3"^^<http://www.w3.org/2001/XMLSchema#integer>`,
		},
		"an IRI": {
			call("toUpperCase", "valueParameter", reference("v")) + ` ; rr:termType rr:IRI`,
			`{"v":"x"}`,
			`<http://example.com/base/X>`,
		},
		"each of the values of a string": {call("toUpperCase", "valueParameter", reference("v")), `{"v":["a"]}`, `"A"`},
		"the namespace of the first FnO": {
			strings.Replace(call("toUpperCase", "valueParameter", reference("v")), "fno:executes",
				"<http://semweb.datasciencelab.be/ns/function#executes>", 1),
			`{"v":"a"}`,
			`"A"`,
		},
		"the ontology of functions by http": {
			strings.Replace(call("toUpperCase", "valueParameter", reference("v")), "fno:executes",
				"<http://w3id.org/function/ontology#executes>", 1),
			`{"v":"a"}`,
			`"A"`,
		},
		"a shortcut for what it executes": {
			strings.Replace(call("toUpperCase", "valueParameter", reference("v")),
				"rr:objectMap [ rr:constant grel:toUpperCase ]", "rr:object grel:toUpperCase", 1),
			`{"v":"a"}`,
			`"A"`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			mapping := prefixes +
				`@prefix fnml: <http://semweb.mmlab.be/ns/fnml#> . @prefix fno: <https://w3id.org/function/ontology#> . ` +
				`@prefix grel: <http://users.ugent.be/~bjdmeest/function/grel.ttl#> .
map:M ` + source + ` rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ ` + c.object +
				` ] ] .`
			got, err := mapFunction(t, mapping, c.message, nil)
			require.NoError(t, err)
			require.Equal(t, `<http://example.com/ns#s> <http://example.com/ns#p> `+c.want+" .\n", got)
		})
	}
}

func TestFunction_decidesAsAConditionWhetherThereIsATerm(t *testing.T) {
	const both = `ex:M ` + functionSource +
		` rml:subjectMap [ rml:constant ex:s%s ] ; rml:predicateObjectMap [ rml:predicateMap [ rml:constant ex:p%s ] ` +
		`; rml:objectMap [ %s ] ; rml:graphMap [ rml:constant ex:g%s ] ] .`
	with := "; " + isX
	mappings := map[string]string{
		"a subject map":   fmt.Sprintf(both, with, "", `rml:constant "o"`, ""),
		"a predicate map": fmt.Sprintf(both, "", with, `rml:constant "o"`, ""),
		"an object map":   fmt.Sprintf(both, "", "", `rml:constant "o"`+with, ""),
		"a reference":     fmt.Sprintf(both, "", "", `rml:reference "$.o"`+with, ""),
		"a template":      fmt.Sprintf(both, "", "", `rml:template "{$.o}" ; rml:termType rml:Literal`+with, ""),
		"a function":      fmt.Sprintf(both, "", "", strings.Replace(upper, "$.v", "$.o", 1)+with, ""),
		"the input of a function": fmt.Sprintf(both, "", "",
			strings.Replace(upper, `rml:reference "$.v"`, `rml:reference "$.o" `+with, 1), ""),
		"a language map": fmt.Sprintf(both, "", "",
			`rml:reference "$.o" ; rml:languageMap [ rml:reference "$.l" `+with+` ]`, ""),
		"a constant language": fmt.Sprintf(both, "", "",
			`rml:reference "$.o" ; rml:languageMap [ rml:constant "en" `+with+` ]`, ""),
		"a constant datatype": fmt.Sprintf(both, "", "",
			`rml:reference "$.o" ; rml:datatypeMap [ rml:constant ex:d `+with+` ]`, ""),
		"a constant input": fmt.Sprintf(both, "", "",
			strings.Replace(upper, `rml:reference "$.v"`, `rml:constant "o" `+with, 1), ""),
		"a datatype map": fmt.Sprintf(both, "", "",
			`rml:reference "$.o" ; rml:datatypeMap [ rml:template "http://d/{$.l}" `+with+` ]`, ""),
	}
	messages := map[string]struct {
		message string
		holds   bool
	}{
		"true": {`{"o":"o","l":"pl","c":["x"]}`, true}, "false": {`{"o":"o","l":"pl","c":["y"]}`, false},
		"missing": {`{"o":"o","l":"pl"}`, false}, "null": {`{"o":"o","l":"pl","c":[null]}`, false},
		"true for one of several values": {`{"o":"o","l":"pl","c":["y","x"]}`, true}, "false for several values": {
			`{"o":"o","l":"pl","c":["y","z"]}`,
			false,
		},
	}
	for name, mapping := range mappings {
		for kind, c := range messages {
			t.Run(name+", "+kind, func(t *testing.T) {
				got, err := mapFunction(t, functionPrefixes+mapping, c.message, nil)
				require.NoError(t, err)
				require.Equal(t, c.holds, got != "", "got %s", got)
			})
		}
	}
	// A statement whose graph map gives no term is in no graph (RML-Core, target graphs).
	got, err := mapFunction(t, functionPrefixes+fmt.Sprintf(both, "", "", `rml:constant "o"`, with), `{"c":["x"]}`, nil)
	require.NoError(t, err)
	require.Equal(t, "<http://example.com/ns#s> <http://example.com/ns#p> \"o\" <http://example.com/ns#g> .\n", got)
	got, err = mapFunction(t, functionPrefixes+fmt.Sprintf(both, "", "", `rml:constant "o"`, with), `{"c":["y"]}`, nil)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestFunction_servesTheConditionsOfTheSpecification(t *testing.T) {
	condition := func(function, inputs string) string {
		return object(`rml:constant "yes" ; rml:condition [ rml:functionExecution [ rml:function ` + function +
			` ; rml:input ` + inputs + ` ] ]`)
	}
	value := `[ rml:parameter grel:valueParam ; rml:inputValueMap [ rml:reference "$.v" ] ]`
	other := `, [ rml:parameter grel:valueParam2 ; rml:inputValue "a" ]`
	cases := map[string]struct {
		mapping          string
		forA, forB, none bool
	}{
		"isNull":         {condition("idlab:isNull", value), false, false, true},
		"isNotNull":      {condition("idlab:isNotNull", value), true, true, false},
		"equal":          {condition("idlab:equal", value+other), true, false, false},
		"notEqual":       {condition("idlab:notEqual", value+other), false, true, true},
		"grel isNull":    {condition("grel:isNull", value), false, false, true},
		"grel notEquals": {condition("grel:notEquals", value+other), false, true, true},
		"string_contains": {
			condition("grel:string_contains", value+`, [ rml:parameter grel:param_string_sub ; rml:inputValue "a" ]`),
			true,
			false,
			false,
		},
		"not of an equal": {
			condition("grel:boolean_not",
				`[ rml:parameter grel:param_b ; rml:inputValueMap [ rml:functionExecution [ rml:function idlab:equal ; `+
					`rml:input `+value+other+` ] ] ]`),
			false,
			true,
			true,
		},
		"IF without a no": {
			object(`rml:functionExecution [ rml:function grel:IF ; rml:input [ rml:parameter grel:param_b ; ` +
				`rml:inputValueMap [ rml:functionExecution [ rml:function idlab:isNotNull ; rml:input ` + value +
				` ] ] ], [ rml:parameter grel:param_true ; rml:inputValue "yes" ] ]`),
			true,
			true,
			false,
		},
		"and of two tests": {
			condition("grel:boolean_and",
				`[ rml:parameter grel:param_rep_b ; rml:inputValueMap [ rml:functionExecution [ rml:function `+
					`idlab:isNotNull ; rml:input `+value+
					` ] ] ], [ rml:parameter grel:param_rep_b ; rml:inputValueMap [ rml:functionExecution [ rml:function `+
					`idlab:equal ; rml:input `+value+other+` ] ] ]`),
			true,
			false,
			false,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for message, want := range map[string]bool{`{"v":"a"}`: c.forA, `{"v":"b"}`: c.forB, `{}`: c.none} {
				got, err := mapFunction(t, functionPrefixes+c.mapping, message, nil)
				require.NoError(t, err)
				require.Equal(t, want, strings.Contains(got, `"yes"`), "for %s: %s", message, got)
			}
		})
	}
}

func TestCompile_refusesInvalidCalls(t *testing.T) {
	execution := func(inside string) string { return object(`rml:functionExecution [ ` + inside + ` ]`) }
	deep := object(`rml:functionExecution ex:E`) +
		` ex:E rml:function grel:toUpperCase ; rml:input [ rml:parameter grel:valueParam ; rml:inputValueMap [ ` +
		`rml:functionExecution ex:E ] ] .`
	for name, c := range map[string]struct{ mapping, reason string }{
		"an unknown function": {
			execution(`rml:function grel:unknown`),
			"grel.ttl#unknown> is not known: expected one of the functions IF, array_get, array_join",
		},
		"an unknown function of IDLab": {
			execution(`rml:function <http://example.com/idlab/function/unknown>`),
			"inRange, isNotNull, isNull, listContainsElement, normalizeDate, normalizeDateTime, normalizeDateTimeWithLang, " +
				"normalizeDateWithLang, notEqual, notEquals, random, slugify",
		},
		"a function of another namespace": {
			execution(`rml:function ex:unknown`),
			"expected a function of <http://users.ugent.be/~bjdmeest/function/grel.ttl#>, <https://w3id.org/imec/idlab/function#> or " +
				"<http://example.com/idlab/function/>, or one that the program registers",
		},
		"a function that reads, by its older name": {
			execution(`rml:function <http://example.com/idlab/function/readFile>`),
			"readFile> is left out: it would read files, which a mapping must not; expected one of the functions IF, alwaysReturnsABC",
		},
		"a function that reads": {
			execution(`rml:function idlab:readFile`),
			"readFile> is left out: it would read files, which a mapping must not",
		},
		"a function that calls": {
			execution(`rml:function idlab:dbpediaSpotlight`),
			"is left out: it would call a service",
		},
		"a function that remembers": {
			execution(`rml:function idlab:generateUniqueIRI`),
			"is left out: it would keep a state on disk",
		},
		"an unknown parameter": {
			execution(`rml:function grel:toUpperCase ; rml:input [ rml:parameter grel:x ; rml:inputValue "a" ]`),
			"has no parameter",
		},
		"a parameter too little": {
			execution(`rml:function grel:toUpperCase`),
			"needs the parameter <http://users.ugent.be/~bjdmeest/function/grel.ttl#valueParam>",
		},
		"a parameter too much": {
			execution(`rml:function grel:toUpperCase ; rml:input [ rml:parameter grel:valueParam ; rml:inputValue "a" ], ` +
				`[ rml:parameter grel:valueParameter ; rml:inputValue "b" ]`),
			"is bound more than once",
		},
		"an unknown output": {
			object(`rml:functionExecution [ rml:function idlab:random ] ; rml:return ex:o`),
			"does not return <http://example.com/ns#o>",
		},
		"no function": {
			execution(`rml:input [ rml:parameter grel:valueParam ; rml:inputValue "a" ]`),
			"it has no function: expected exactly one",
		},
		"two conditions": {object(upper + `; ` + isX + `; ` + isX), "it has 2 conditions: expected at most one"},
		"a condition of no call": {
			object(upper + `; rml:condition [ rml:reference "$.v" ]`),
			"it has no functionExecution: expected exactly one",
		},
		"a call of itself": {deep, "it contains itself, or is nested more than 64 deep"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := mapFunction(t, functionPrefixes+c.mapping, `{"v":"a"}`, nil)
			var mappingError *rml.MappingError
			require.ErrorAs(t, err, &mappingError)
			require.ErrorContains(t, err, c.reason)
		})
	}
}

func TestFunction_namesTheMapAndTheCauseInErrors(t *testing.T) {
	mapping := functionPrefixes +
		object(`rml:functionExecution [ rml:function grel:string_toNumber ; rml:input [ rml:parameter grel:valueParam `+
			`; rml:inputValueMap [ rml:reference "$.v" ] ] ]`)
	_, err := mapFunction(t, mapping, `{"v":"many"}`, nil)
	var messageError *rml.MessageError
	require.ErrorAs(t, err, &messageError)
	require.Contains(t, messageError.Node, "object map")
	require.EqualError(t, messageError.Err,
		`apply <http://users.ugent.be/~bjdmeest/function/grel.ttl#string_toNumber>: "many" is not a number`)
}

// What calls in calls give stays within bounds, however they double it.
func TestFunction_boundsTheMemoryOfNestedCalls(t *testing.T) {
	expression := `rml:reference "$.v"`
	for range 12 {
		expression = `rml:functionExecution [ rml:function grel:string_replace ; rml:input [ rml:parameter ` +
			`grel:valueParam ; rml:inputValueMap [ ` + expression +
			` ] ], [ rml:parameter grel:param_find ; rml:inputValue "a" ], [ rml:parameter grel:param_replace ; ` +
			`rml:inputValue "aaaaaaaa" ] ]`
	}
	_, err := mapFunction(t, functionPrefixes+object(expression), `{"v":"a"}`, nil)
	require.ErrorIs(t, err, rml.ErrLimit)
}

// A function is called for every combination of the values of its parameters,
// and the time of a message bounds how many those are.
func TestFunction_boundsTheTimeOfCombinations(t *testing.T) {
	values := `["` + strings.Repeat(`a","`, 30_000) + `a"]`
	mapping := functionPrefixes +
		object(`rml:functionExecution [ rml:function idlab:decide ; rml:input [ rml:parameter idlab:str ;
  rml:inputValueMap [ rml:reference "$.v[*]" ] ],
  [ rml:parameter idlab:expectedStr ; rml:inputValue "b" ], [ rml:parameter idlab:result ; rml:inputValueMap [
  rml:reference "$.v[*]" ] ] ]`)
	m, err := rml.Load([]byte(mapping), nil)
	require.NoError(t, err)
	plan, err := rml.Compile(m, &rml.Options{Limits: rml.Limits{MaxTime: 20 * time.Millisecond}})
	require.NoError(t, err)
	_, err = plan.NewMapper().Append(nil, []byte(`{"v":`+values+`}`))
	require.ErrorIs(t, err, rml.ErrLimit)
	require.ErrorContains(t, err, "takes more than 20ms")
}

// Calls that are used twice on every level are as many as the mapping is small.
func TestLoad_refusesCallsThatDoubleOnEveryLevel(t *testing.T) {
	mapping := functionPrefixes + object(`rml:functionExecution ex:E0`)
	for i := range 60 {
		use := fmt.Sprintf(`rml:inputValueMap [ rml:functionExecution ex:E%d ]`, i+1)
		mapping += fmt.Sprintf(` ex:E%d rml:function idlab:concat ; rml:input [ rml:parameter idlab:str ; %s ], [ `+
			`rml:parameter idlab:otherStr ; %[2]s ] .`, i, use)
	}
	_, err := rml.Load([]byte(mapping+` ex:E60 rml:function idlab:alwaysReturnsABC .`), nil)
	require.ErrorContains(t, err, "the mapping has more than 10000 calls")
}

// Three functions do not give the same for the same message.
func TestFunction_returnsRandomAndCurrentValues(t *testing.T) {
	before := time.Now().Truncate(time.Millisecond)
	now, err := evaluate(t, functionCase{"grel:date_now", nil, ""})
	require.NoError(t, err)
	at, err := time.Parse(time.RFC3339, now)
	require.NoError(t, err)
	require.False(t, at.Before(before) || at.After(time.Now()))
	require.True(t, strings.HasSuffix(now, "Z"))

	var ids, numbers []string
	for range 100 {
		id, err := evaluate(t, functionCase{"idlab:random", nil, ""})
		require.NoError(t, err)
		require.Regexp(t, regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`), id)
		ids = append(ids, id)
		n, err := evaluate(t, functionCase{"grel:math_randomNumber", with("param_int_i", "-1", "param_int_i2", "1"), ""})
		require.NoError(t, err)
		numbers = append(numbers, n)
	}
	slices.Sort(ids)
	require.Len(t, slices.Compact(ids), 100)
	slices.Sort(numbers)
	require.Equal(t, []string{"-1", "0", "1"}, slices.Compact(numbers))
	_, err = evaluate(t,
		functionCase{
			"grel:math_randomNumber",
			with("param_int_i", "-9223372036854775808", "param_int_i2", "9223372036854775807"),
			"",
		})
	require.NoError(t, err)
}

// A function of the program replaces a built-in one. It gets the requested
// output, and lists and missing values by the form of its parameters.
func TestOptions_Functions_areCalledByTheirParameters(t *testing.T) {
	const ex = "http://example.com/ns#"
	own := []rml.Function{
		{IRI: "http://users.ugent.be/~bjdmeest/function/grel.ttl#toUpperCase",
			Parameters: []rml.Parameter{{IRIs: []string{ex + "v"}}}, Apply: func(c rml.Call) ([]string, error) {
				return []string{"own " + c.Arg(0)}, nil
			}},
		{IRI: ex + "show", Outputs: []string{ex + "first", ex + "second"},
			Parameters: []rml.Parameter{
				{IRIs: []string{ex + "list"}, List: true},
				{IRIs: []string{ex + "maybe"}, Optional: true},
				{IRIs: []string{ex + "one"}},
			},
			Apply: func(c rml.Call) ([]string, error) {
				return []string{
					fmt.Sprintf("%s %v %v[%s] %v[%s]", strings.TrimPrefix(c.Output, ex), c.Arguments, c.Has(1), c.Arg(1),
						c.Has(9), c.Arg(9)),
				}, nil
			}},
	}
	got, err := mapFunction(t,
		functionPrefixes+object(`rml:functionExecution [ rml:function grel:toUpperCase ; rml:input [ rml:parameter `+
			`ex:v ; rml:inputValue "a" ] ]`), `{}`, own)
	require.NoError(t, err)
	require.Contains(t, got, `"own a"`)

	show := func(returns string) string {
		return functionPrefixes +
			object(`rml:functionExecution [ rml:function ex:show ; rml:input [ rml:parameter ex:list ;
  rml:inputValueMap [ rml:reference "$.l[*]" ] ],
  [ rml:parameter ex:maybe ; rml:inputValueMap [ rml:reference "$.m" ] ], [ rml:parameter ex:one ;
  rml:inputValueMap [ rml:reference "$.o[*]" ] ] ] `+returns)
	}
	got, err = mapFunction(t, show(""), `{"l":["a","b"],"o":["1","2"]}`, own)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(got, "\n"))
	require.Contains(t, got, `"first [[a b] [] [1]] false[] false[]"`)
	require.Contains(t, got, `"first [[a b] [] [2]] false[] false[]"`)
	got, err = mapFunction(t, show("; rml:return ex:second"), `{"m":"m","o":["1"]}`, own)
	require.NoError(t, err)
	require.Contains(t, got, `"second [[] [m] [1]] true[m] false[]"`)
	got, err = mapFunction(t, show(""), `{"l":["a"]}`, own)
	require.NoError(t, err)
	require.Empty(t, got)
}
