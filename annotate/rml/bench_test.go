package rml_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
)

// sample is one observation in one input format, with the mapping that turns
// it into twelve statements. The three mappings give the same statements.
type sample struct {
	message string
	mapping string
}

// fields are the names of the values of the observation, with their datatypes.
var fields = []struct{ name, datatype string }{
	{"device", ""}, {"seq", "integer"}, {"ts", "dateTime"}, {"temp", "decimal"}, {"hum", "decimal"},
	{"press", "decimal"}, {"lat", "decimal"}, {"lon", "decimal"}, {"batt", "integer"}, {"status", ""}, {"note", ""},
}

var samples = map[string]sample{
	"JSON": {
		message: `{"device":"sensor-0042","seq":183624,"ts":"2026-03-14T09:26:53Z","temp":21.375,"hum":48.2,` +
			`"press":1013.25,"lat":52.22977,"lon":21.0117,"batt":87,"status":"ok","note":"north corridor 2"}`,
		mapping: observationMapping("JSONPath", `rml:iterator "$"`),
	},
	"CSV": {
		message: "device,seq,ts,temp,hum,press,lat,lon,batt,status,note\nsensor-0042,183624,2026-03-14T09:26:53Z," +
			"21.375,48.2,1013.25,52.22977,21.0117,87,ok,north corridor 2\n",
		mapping: observationMapping("CSV", ""),
	},
	"XML": {
		message: `<o><device>sensor-0042</device><seq>183624</seq><ts>2026-03-14T09:26:53Z</ts><temp>21.375</temp>` +
			`<hum>48.2</hum><press>1013.25</press><lat>52.22977</lat><lon>21.0117</lon><batt>87</batt><status>` +
			`ok</status><note>north corridor 2</note></o>`,
		mapping: observationMapping("XPath", `rml:iterator "/o"`),
	},
}

func observationMapping(formulation, iterator string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix carml: <http://carml.taxonic.com/carml/> .
@prefix map: <http://example.com/mapping/> .
@prefix sosa: <http://www.w3.org/ns/sosa/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix ex: <http://example.com/ns#> .
map:Observation a rr:TriplesMap ;
  rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:%s ; %s ] ;
  rr:subjectMap [ rr:template "http://example.com/obs/{device}/{seq}" ; rr:class sosa:Observation ] ;
`, formulation, iterator)
	for _, f := range fields {
		datatype := ""
		if f.datatype != "" {
			datatype = "; rr:datatype xsd:" + f.datatype
		}
		fmt.Fprintf(&b, "  rr:predicateObjectMap [ rr:predicate ex:%s ; rr:objectMap [ rml:reference %q %s ] ] ;\n",
			f.name, f.name, datatype)
	}
	b.WriteString("  .\n")
	return b.String()
}

func newMapper(tb testing.TB, mapping string, opts *rml.Options) *rml.Mapper {
	tb.Helper()
	m, err := rml.Load([]byte(mapping), nil)
	require.NoError(tb, err)
	plan, err := rml.Compile(m, unhurried(opts))
	require.NoError(tb, err)
	return plan.NewMapper()
}

func TestMapper_Append_mapsTheBenchmarkSample(t *testing.T) {
	require.Len(t, samples["JSON"].message, 185)
	var want []byte
	for name, s := range samples {
		got, err := newMapper(t, s.mapping, nil).Append(nil, []byte(s.message))
		require.NoError(t, err, name)
		require.Equal(t, 12, strings.Count(string(got), "\n"), name)
		if want == nil {
			want = got
		}
		require.Equal(t, string(want), string(got), name)
	}
}

func TestMapper_Append_allocatesNothing(t *testing.T) {
	for name, s := range samples {
		for _, format := range []rdf.Format{rdf.NTriples, rdf.NQuads, rdf.Turtle} {
			m := newMapper(t, s.mapping, &rml.Options{Format: format})
			message := []byte(s.message)
			out := make([]byte, 0, 8192)
			allocs := testing.AllocsPerRun(100, func() {
				var err error
				if out, err = m.Append(out[:0], message); err != nil {
					t.Fatal(err)
				}
			})
			require.Zero(t, allocs, "%s to %v", name, format)
		}
	}
}

// BenchmarkMap maps one message at a time, as a channel does.
func BenchmarkMap(b *testing.B) {
	for _, name := range []string{"JSON", "CSV", "XML"} {
		for _, format := range []rdf.Format{rdf.NTriples, rdf.Turtle} {
			s := samples[name]
			b.Run(name+"/"+format.String(), func(b *testing.B) {
				m := newMapper(b, s.mapping, &rml.Options{Format: format})
				message := []byte(s.message)
				out := make([]byte, 0, 8192)
				b.ReportAllocs()
				b.SetBytes(int64(len(message)))
				for b.Loop() {
					var err error
					if out, err = m.Append(out[:0], message); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
			})
		}
	}
}
