package rml_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
)

// numbers is a JSON array of n numbers.
func numbers(n int) string { return "[1" + strings.Repeat(",1", n-1) + "]" }

// Each message is small, and would give far more than fits into memory.
func TestMapper_Append_stopsMessagesThatMultiply(t *testing.T) {
	const records = `rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; ` +
		`rml:iterator "%s" ] ; `
	const object = jsonStream +
		`rr:subjectMap [ rr:template "http://a/{id}" ] ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ %s ] ] .`
	long := `"` + strings.Repeat("x", 1<<16) + `"`
	cases := map[string]struct{ body, message string }{
		"in a template": {
			fmt.Sprintf(object, `rr:template "{a[*]}{a[*]}{a[*]}{a[*]}"`), `{"id":1,"a":` + numbers(5000) + `}`,
		},
		"in the text of terms": {
			fmt.Sprintf(object, `rr:template "{a}{b[*]}"`), `{"id":1,"a":` + long + `,"b":` + numbers(100_000) + `}`,
		},
		"in the languages of literals": {
			fmt.Sprintf(object, `rml:reference "a[*]" ; rml:languageMap [ rml:reference "l[*]" ]`),
			`{"id":1,"a":` + numbers(50_000) + `,"l":["a"` + strings.Repeat(`,"en"`, 50_000) + `]}`,
		},
		"in long subjects": {
			fmt.Sprintf(object, `rml:reference "a[*]"`), `{"id":` + long + `,"a":` + numbers(200_000) + `}`,
		},
		"in the keys of a join": {
			fmt.Sprintf(records, "$.c[*]") +
				`rr:subjectMap [ rr:template "http://a/{id}" ] ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rr:parentTriplesMap map:P ;
				rr:joinCondition [ rr:child "k[*]" ; rr:parent "k[*]" ], [ rr:child "l[*]" ; rr:parent "l[*]" ] ] ] .
			map:P a rr:TriplesMap ; ` + fmt.Sprintf(records, "$.p[*]") + `rr:subjectMap [ rr:template "http://b/{id}" ] .`,
			`{"c":[{"id":1,"k":1,"l":1}],"p":[{"id":1,"k":` + numbers(50_000) + `,"l":` + numbers(50_000) + `}]}`,
		},
		"in a list that all records share": {
			fmt.Sprintf(records, "$.c[*]") +
				`rr:subjectMap [ rr:template "http://a/list" ; rml2:gatherAs rdf:List ; rml2:gather ( [
  rr:parentTriplesMap map:P ; rr:joinCondition [ rr:child "k" ; rr:parent "k" ] ] ) ] .
			map:P a rr:TriplesMap ; ` + fmt.Sprintf(records, "$.c[*]") + `rr:subjectMap [ rr:template "http://b/{k}" ] .`,
			`{"c":[{"k":1}` + strings.Repeat(`,{"k":1}`, 20_000) + `]}`,
		},
		"in the rows of a view": {
			`rml:logicalSource [ a rml2:LogicalView ; rml2:viewOn [ rml:source [ a carml:Stream ] ;
  rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
				rml2:field [ rml2:fieldName "a" ; rml2:reference "$.a[*]" ], [ rml2:fieldName "b" ; rml2:reference "$.b[*]" ] ] ;
			rr:subjectMap [ rr:template "http://a/{a}" ] ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "b" ] ] .`,
			`{"a":` + numbers(500) + `,"b":[` + long + strings.Repeat(","+long, 30) + `]}`,
		},
	}
	const more = "@prefix rml2: <http://w3id.org/rml/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n"
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := newMapper(t, prefixes+more+"map:M a rr:TriplesMap ; "+c.body,
				&rml.Options{Limits: rml.Limits{MaxOutput: 8 << 20, MaxStatements: 100_000, MaxTime: time.Hour}})
			_, err := m.Append(nil, []byte(c.message))
			require.ErrorIs(t, err, rml.ErrLimit)
			var where *rml.MessageError
			require.ErrorAs(t, err, &where)
			require.NotEmpty(t, where.Node, "%v", err)
			_, err = m.Quads([]byte(c.message))
			require.ErrorIs(t, err, rml.ErrLimit)
		})
	}
}

// A record that agrees with its parents in many values is done in time.
func TestMapper_Append_joinsRecordsWithManyMatches(t *testing.T) {
	const records = `rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; ` +
		`rml:iterator "%s" ] ; `
	m := newMapper(t, prefixes+`map:M a rr:TriplesMap ; `+fmt.Sprintf(records, "$.c[*]")+
		`rr:subjectMap [ rr:template "http://a/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rr:parentTriplesMap map:P ; rr:joinCondition [
  rr:child "k[*]" ; rr:parent "k" ] ] ] .
map:P a rr:TriplesMap ; `+fmt.Sprintf(records, "$.p[*]")+`rr:subjectMap [ rr:template "http://b/{id}" ] .`, nil)
	var parents strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&parents, `{"id":%d,"k":%d},`, i, i%2)
	}
	out, err := m.Append(nil, []byte(`{"c":[{"id":1,"k":[0,1,0]}],"p":[`+strings.TrimSuffix(parents.String(), ",")+`]}`))
	require.NoError(t, err)
	require.Equal(t, 100_000, strings.Count(string(out), "\n"))
}

// Triples maps whose lists hold the subjects of each other have no end.
func TestCompile_refusesListsThatContainThemselves(t *testing.T) {
	const head = prefixes +
		"@prefix rml2: <http://w3id.org/rml/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n"
	list := func(name, members string) string {
		return "map:" + name + " a rr:TriplesMap ; " + jsonStream +
			` rr:subjectMap [ rml2:gatherAs rdf:List ; rml2:gather ( ` + members + " ) ] .\n"
	}
	var wide strings.Builder
	for i := range 40 {
		wide.WriteString(list(fmt.Sprint("L", i), strings.Repeat(fmt.Sprintf("[ rr:parentTriplesMap map:L%d ] ", i+1), 2)))
	}
	wide.WriteString(list("L40", `[ rml2:reference "$.a" ]`))
	cases := map[string]string{
		"itself":          list("M", "[ rr:parentTriplesMap map:M ]"),
		"itself, joined":  list("M", `[ rr:parentTriplesMap map:M ; rr:joinCondition [ rr:child "a" ; rr:parent "a" ] ]`),
		"each other":      list("M", "[ rr:parentTriplesMap map:N ]") + list("N", "[ rr:parentTriplesMap map:M ]"),
		"too many others": wide.String(),
	}
	for name, body := range cases {
		t.Run(name, func(t *testing.T) {
			mapping, err := rml.Load([]byte(head+body), nil)
			require.NoError(t, err)
			_, err = rml.Compile(mapping, nil)
			var where *rml.MappingError
			require.ErrorAs(t, err, &where)
			require.NotEmpty(t, where.Node)
		})
	}
}

func TestLoad_checksTheParentsOfListMembers(t *testing.T) {
	_, err := rml.Load([]byte(prefixes+
		"@prefix rml2: <http://w3id.org/rml/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n"+
		"map:M a rr:TriplesMap ; "+jsonStream+
		` rr:subjectMap [ rr:template "{a}" ; rml2:gatherAs rdf:List ; rml2:gather ( [ rr:parentTriplesMap map:P ] ) ] .
map:P a rr:TriplesMap ; `+strings.Replace(jsonStream, `"$"`, `"$.p[*]"`, 1)+
		` rr:subjectMap [ rr:template "{b}" ] .`), nil)
	require.ErrorContains(t, err, "it has no joinCondition, yet triples map map:P reads other records")
}

const oneProperty = prefixes + "map:M a rr:TriplesMap ; " + jsonStream +
	` rr:subjectMap [ rr:template "http://a/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "v" ] ] .`

func TestMapper_RunLines_namesALineThatIsTooLong(t *testing.T) {
	m := newMapper(t, oneProperty, &rml.Options{Limits: rml.Limits{MaxBytes: 20}})
	err := m.RunLines(t.Context(), io.Discard,
		strings.NewReader("{\"id\":1,\"v\":\"12345\"}\r\n{\"id\":1,\"v\":\"1234567890\"}\n"))
	require.ErrorIs(t, err, rml.ErrLimit)
	require.ErrorContains(t, err, "line 2: ")
	err = newMapper(t, strings.Replace(oneProperty, "[ a carml:Stream ]", `"a.ndjson"`, 1),
		&rml.Options{Limits: rml.Limits{MaxBytes: 20}}).
		Run(t.Context(), io.Discard, rml.Files{Open: func(rml.Source) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader("{}\n{\"id\":1,\"v\":\"1234567890\"}\n")), nil
		}})
	require.ErrorIs(t, err, rml.ErrLimit)
	require.ErrorContains(t, err, "line 2")
}

// endless is input that maps to nothing and never ends; it cancels a context
// once it was read for a while.
type endless struct {
	reads  int
	cancel context.CancelFunc
	t      *testing.T
}

func (e *endless) Read(p []byte) (int, error) {
	if e.reads++; e.reads == 3 {
		e.cancel()
	}
	require.Less(e.t, e.reads, 100, "it is still read")
	return copy(p, "{}\n"), nil
}

func TestMapper_RunLines_endsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := newMapper(t, oneProperty, nil).RunLines(ctx, io.Discard, &endless{cancel: cancel, t: t})
	require.ErrorIs(t, err, context.Canceled)
}

func TestMapper_Run_reportsMissingFiles(t *testing.T) {
	err := newMapper(t, oneProperty, nil).Run(t.Context(), io.Discard, rml.Files{})
	require.ErrorContains(t, err, "Files.Open is nil")
	target := strings.Replace(oneProperty, `rml:reference "v"`,
		`rml:reference "v" ; <http://w3id.org/rml/logicalTarget> [ <http://w3id.org/rml/target> [ `+
			`<http://w3id.org/rml/path> "x.nt" ] ]`, 1)
	err = newMapper(t, target, nil).Run(t.Context(), io.Discard,
		rml.Files{Open: rml.LocalFiles("", strings.NewReader(`{"id":1,"v":2}`)).Open})
	require.ErrorContains(t, err, "Files.Create is nil")
}

func TestMapper_RunLines_skipsBlankLines(t *testing.T) {
	const lines = "\xEF\xBB\xBF{\"id\":1,\"v\":1}\r\n \t\r\n\r\n{\"id\":2,\"v\":2}"
	const want = "<http://a/1> <http://example.com/ns#p> \"1\" .\n<http://a/2> <http://example.com/ns#p> \"2\" .\n"
	var out strings.Builder
	require.NoError(t, newMapper(t, oneProperty, nil).RunLines(t.Context(), &out, strings.NewReader(lines)))
	require.Equal(t, want, out.String())
	out.Reset()
	m := newMapper(t, strings.Replace(oneProperty, "[ a carml:Stream ]", `"a.jsonl"`, 1), nil)
	require.NoError(t, m.Run(t.Context(), &out,
		rml.Files{Open: func(rml.Source) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(lines)), nil }}))
	require.Equal(t, want, out.String())
}

// Text inside of a field that is not what the field says is found by its row.
func TestMapper_Run_namesThePlaceOfAnUnreadableField(t *testing.T) {
	const mapping = prefixes + `@prefix new: <http://w3id.org/rml/> .
map:M a rr:TriplesMap ; rml:logicalSource [ a new:LogicalView ; new:viewOn [ rml:source "a.csv" ; rml:referenceFormulation ql:CSV ] ;
    new:field [ new:fieldName "j" ; new:reference "j" ; new:field [ a new:IterableField ; new:fieldName "it" ;
  new:referenceFormulation new:JSONPath ; new:iterator "$[*]" ;
      new:field [ new:fieldName "x" ; new:reference "$.x" ] ] ] ] ;
  rr:subjectMap [ rr:template "http://a/{j.it.x}" ; rr:class ex:C ] .`
	err := newMapper(t, mapping, nil).Run(t.Context(), io.Discard,
		rml.Files{Open: func(rml.Source) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader("j\n[]\nbad\n")), nil
		}})
	require.ErrorContains(t, err, `field j.it of`)
	require.ErrorContains(t, err, `file "a.csv" at row 2 (line 3)`)
}

// A mapper that has seen one large message does not keep its memory.
func TestMapper_Append_freesTheMemoryOfALargeMessage(t *testing.T) {
	m := newMapper(t, oneProperty, nil)
	in := func() uint64 {
		for range 200 {
			_, err := m.Append(nil, []byte(`{"id":1,"v":[1,2]}`))
			require.NoError(t, err)
		}
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := in()
	_, err := m.Append(nil, []byte(`{"id":1,"v":[0`+strings.Repeat(`,123456789`, 900_000)+`]}`))
	require.NoError(t, err)
	require.Less(t, in(), before+(16<<20))
	runtime.KeepAlive(m)
}
