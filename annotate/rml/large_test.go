package rml_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
)

// largeMapping has two triples maps over one source, a join between them, a function of no
// argument but the record, and blank nodes.
func largeMapping(formulation, iterator string) string {
	source := fmt.Sprintf(`rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:%s ; rml:iterator "%s" ]`,
		formulation, iterator)
	return prefixes + `map:A a rr:TriplesMap ; ` + source + ` ; rr:subjectMap [ rr:template "http://a/{id}" ; rr:class ex:A ] ;
		rr:predicateObjectMap [ rr:predicate ex:kind ; rr:objectMap [ rml:reference "kind" ] ] ;
		rr:predicateObjectMap [ rr:predicate ex:next ; rr:objectMap [ rr:parentTriplesMap map:B ;
			rr:joinCondition [ rr:child "next" ; rr:parent "id" ] ] ] .
		map:B a rr:TriplesMap ; ` + source + ` ; rr:subjectMap [ rr:template "http://b/{id}" ] ;
		rr:predicateObjectMap [ rr:predicate ex:of ; rr:objectMap [ rr:template "{kind}" ; rr:termType rr:BlankNode ] ] .`
}

// rows are the records of a large message: their identifiers come again, so that statements do.
func rows(format string, count int) []string {
	made := make([]string, count)
	for i := range made {
		made[i] = fmt.Sprintf(format, i%(count-100), i%7, i+1)
	}
	return made
}

var largeMessages = map[string]struct {
	formulation, iterator, message string
}{
	"JSON array":  {"JSONPath", "$[*]", "[" + strings.Join(rows(`{"id":%d,"kind":"k%d","next":%d}`, 9000), ",\n") + "]"},
	"JSON spread": {"JSONPath", "$.rows", `{"rows":[` + strings.Join(rows(`{"id":%d,"kind":"k%d","next":%d}`, 9000), ",\n") + `],"a":1}`},
	"XML": {"XPath", "/rows/row", "<rows>" + strings.Join(rows("<row><id>%d</id><kind>k%d</kind><next>%d</next></row>", 9000), "\n") +
		"</rows>"},
	"CSV": {"CSV", "", "id,kind,next\n" + strings.Join(rows("%d,k%d,%d", 30000), "\n")},
}

// unhurried returns the options with more time for a message, unless they bound it: a busy
// machine needs it, and the race detector.
func unhurried(opts *rml.Options) *rml.Options {
	var full rml.Options
	if opts != nil {
		full = *opts
	}
	full.Limits.MaxTime = cmp.Or(full.Limits.MaxTime, 5*time.Minute)
	return &full
}

func TestMapper_Append_givesOfALargeMessageWhatItGivesOfTheWhole(t *testing.T) {
	for name, c := range largeMessages {
		t.Run(name, func(t *testing.T) {
			require.Greater(t, len(c.message), 300<<10)
			plan := newPlanWith(t, largeMapping(c.formulation, c.iterator), nil)
			parts, whole := plan.NewMapper(), rml.Undivided(plan).NewMapper()
			got, err := parts.Append(nil, []byte(c.message))
			require.NoError(t, err)
			want, err := whole.Append(nil, []byte(c.message))
			require.NoError(t, err)
			require.Equal(t, statements(want), statements(got), "the order differs, the statements must not")
			require.Equal(t, whole.Tally(), parts.Tally())
			again, err := parts.Append([]byte("before "), []byte(c.message))
			require.NoError(t, err)
			require.Equal(t, "before "+string(got), string(again))
			quads, err := parts.Quads([]byte(c.message))
			require.NoError(t, err)
			require.Len(t, quads, parts.Tally().Statements)
		})
	}
}

// statements returns the lines of an output in order.
func statements(output []byte) []string {
	lines := strings.Split(string(output), "\n")
	slices.Sort(lines)
	return lines
}

func TestMapper_Append_countsTheRecordsOfAllParts(t *testing.T) {
	for name, c := range largeMessages {
		t.Run(name, func(t *testing.T) {
			m := newMapper(t, largeMapping(c.formulation, c.iterator), &rml.Options{Limits: rml.Limits{MaxRecords: 8500}})
			out, err := m.Append([]byte("before"), []byte(c.message))
			require.ErrorIs(t, err, rml.ErrLimit)
			require.ErrorContains(t, err, "records, the limit is 8500")
			require.Equal(t, "before", string(out))
		})
	}
}

func TestMapper_Append_mapsWhatOnlyAWholeMessageTells(t *testing.T) {
	rest := strings.Join(rows(`{"id":%d,"kind":"k%d","next":%d}`, 9000), ",")
	for name, message := range map[string]string{
		"a member that comes again": `{"rows":[` + rest + `],"rows":[{"id":1,"kind":"last"}]}`,
		"a large record":            `{"rows":[{"id":1,"kind":"last","more":[` + rest + `]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			m := newMapper(t, largeMapping("JSONPath", "$.rows[*]"), nil)
			out, err := m.Append([]byte("before\n"), []byte(message))
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(string(out), "before\n"))
			require.Contains(t, string(out), `"last"`)
			require.Equal(t, 3, m.Tally().Statements)
			require.Equal(t, 2, m.Tally().Records)
		})
	}
}

func TestMapper_Append_placesAFaultInALaterPart(t *testing.T) {
	whole := strings.Join(rows(`{"id":%d,"kind":"k%d","next":%d}`, 9000), ",\n")
	m := newMapper(t, largeMapping("JSONPath", "$[*]"), nil)
	out, err := m.Append([]byte("before"), []byte("["+whole+",\n{]"))
	require.ErrorContains(t, err, "JSON line 9001 column 2")
	require.Equal(t, "before", string(out))
	out, err = m.Append(nil, []byte(`[{"id":1,"kind":"k"}]`))
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(string(out), "\n"), "the mapper goes on: %s", out)
}
