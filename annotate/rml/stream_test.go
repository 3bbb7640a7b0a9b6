package rml_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMapper_Run_readsJSONAndXMLInParts(t *testing.T) {
	const rows = 60_000
	mapping := prefixes + `map:M a rr:TriplesMap ; rml:logicalSource [ rml:source "f" ; rml:referenceFormulation ql:%s ;
  rml:iterator "%s" ] ; rr:subjectMap [ rr:template "http://a/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "v" ] ] .`
	for name, c := range map[string]struct {
		formulation, iterator, head, rest string
		row                               func(int) string
	}{
		"a JSON array": {"JSONPath", "$[*]", "[{}", "]", func(i int) string { return fmt.Sprintf(`,{"id":%d,"v":"x"}`, i) }},
		"a JSON object": {"JSONPath", "$.a.b[*]", `{"a":{"b":[{}`, "]}}", func(i int) string {
			return fmt.Sprintf(`,{"id":%d,"v":"x"}`, i)
		}},
		"XML": {"XPath", "/a/row", "<a>", "</a>", func(i int) string { return fmt.Sprintf("<row><id>%d</id><v>x</v></row>", i) }},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMapper(t, fmt.Sprintf(mapping, c.formulation, c.iterator), nil)
			var text strings.Builder
			text.WriteString(c.head)
			for i := range rows {
				text.WriteString(c.row(i))
			}
			text.WriteString(c.rest)
			count := &counter{}
			g := &generated{head: text.String(), check: 0}
			require.NoError(t, m.Run(t.Context(), count, g.files()))
			require.Equal(t, rows, count.lines)
			require.ErrorContains(t, m.Run(t.Context(), io.Discard, (&generated{head: text.String()[:text.Len()-1]}).files()), "line 1 column")
		})
	}
}
