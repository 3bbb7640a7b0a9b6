package rml_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
)

// TestMapper_Append_limitsOfReadersMatchErrLimit reaches the limits of each reader, and of the evaluation of its expressions.
func TestMapper_Append_limitsOfReadersMatchErrLimit(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	many := "<r id='1'>" + strings.Repeat("<b><c/></b>", 3000) + "</r>"
	for name, c := range map[string]struct {
		formulation, iterator, reference, message string
		limits                                    rml.Limits
	}{
		"nodes of JSON":     {"JSONPath", "$", "v", `{"id":1,"v":[1,2,3,4,5]}`, rml.Limits{MaxNodes: 5}},
		"memory of JSON":    {"JSONPath", "$", "v", `{"id":1,"v":[1` + strings.Repeat(",1", 100) + `]}`, rml.Limits{MaxMemory: 64}},
		"nesting of JSON":   {"JSONPath", "$", "v", `{"id":1,"v":` + deep(10) + `}`, rml.Limits{MaxDepth: 5}},
		"steps of JSONPath": {"JSONPath", "$", "$..*..*..*..*..*", `{"id":1,"v":` + deep(100) + `}`, rml.Limits{}},
		"nodes of XML":      {"XPath", "/r", "c", "<r><b/><b/><b/></r>", rml.Limits{MaxNodes: 2}},
		"nesting of XML":    {"XPath", "/r", "c", "<r><b><b/></b></r>", rml.Limits{MaxDepth: 2}},
		"steps of XPath":    {"XPath", "/r", "count(b[../b[../b[../b = 'x']]])", many, rml.Limits{}},
		"memory of XPath": {"XPath", "/r", "string-length(string-join(for $b in b return string-join(1 to 1000)))", many,
			rml.Limits{MaxMemory: 1 << 20}},
		"steps of an iterator":  {"XPath", "//b[../b[../b[../b = 'x']]]", "c", many, rml.Limits{}},
		"cells of CSV":          {"CSV", "", "v", "id,v\n1,2\n3,4\n", rml.Limits{MaxNodes: 3}},
		"columns of CSV":        {"CSV", "", "v", "id,v\n1,2\n", rml.Limits{MaxMemory: 1}},
		"values of an XPath ()": {"XPath", "/r", "string-join(1 to 10000000)", "<r/>", rml.Limits{}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMapper(t, prefixes+fmt.Sprintf(`map:M a rr:TriplesMap ; rml:logicalSource [ rml:source [ a carml:Stream ] ;
				rml:referenceFormulation ql:%s ; rml:iterator "%s" ] ; rr:subjectMap [ rr:template "http://a/1" ] ;
				rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "%s" ] ] .`, c.formulation, c.iterator, c.reference),
				&rml.Options{Limits: c.limits})
			_, err := m.Append(nil, []byte(c.message))
			require.ErrorIs(t, err, rml.ErrLimit)
		})
	}
	_, err := newMapper(t, carmlCSV, &rml.Options{Dialect: rml.DialectCARML, Limits: rml.Limits{MaxNodes: 3}}).
		Append(nil, []byte("id,name\n1,2\n3,4\n"))
	require.ErrorIs(t, err, rml.ErrLimit)
	_, err = newMapper(t, carmlCSV, &rml.Options{Dialect: rml.DialectCARML}).Append(nil, []byte("id,name\n1,\"2\n"))
	require.Error(t, err)
	require.NotErrorIs(t, err, rml.ErrLimit)
}
