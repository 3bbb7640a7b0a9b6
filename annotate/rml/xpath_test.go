package rml_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
)

// dialects are both dialects.
var dialects = []rml.Dialect{rml.DialectRML, rml.DialectCARML}

// xpathMapper returns a mapper of the elements r of a message, with one reference.
func xpathMapper(t *testing.T, dialect rml.Dialect, reference string, limits rml.Limits) *rml.Mapper {
	t.Helper()
	return newMapper(t, prefixes+fmt.Sprintf(`map:M a rr:TriplesMap ; rml:logicalSource [ rml:source [ a carml:Stream ] ;
		rml:referenceFormulation ql:XPath ; rml:iterator "//r" ] ; rr:subjectMap [ rr:template "http://a/{@id}" ] ;
		rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "%s" ] ] .`, reference),
		&rml.Options{Dialect: dialect, Strict: true, StrictInput: true, Limits: limits})
}

func TestMapper_Append_boundsTheMemoryOfXPathFunctions(t *testing.T) {
	const memory = 8 << 20
	message := []byte("<r id='1'><a>" + strings.Repeat("x", 10_000) + "</a><b>" + strings.Repeat("y", 20_000) + "</b>" +
		strings.Repeat("<c/>", 10_000) + "<d>" + strings.Repeat("()", 1000) + "x</d></r>")
	for _, dialect := range dialects {
		for _, reference := range []string{
			"string-length(replace(a,'x',b))", "string-length(string-join(//c,b))", "string-length(replace(replace(b,'y',b),'y',b))",
			"replace(a,d,'y')", "for $c in //c return b",
		} {
			m := xpathMapper(t, dialect, reference, rml.Limits{MaxBytes: 1 << 20, MaxOutput: 1 << 20, MaxMemory: memory})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := m.Append(nil, message)
			runtime.ReadMemStats(&after)
			require.Error(t, err, reference)
			require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(6*poolFactor*memory), "%v, %s: %v", dialect, reference, err)
		}
	}
}

func TestMapper_Append_keepsNoRegularExpressionsOfMessages(t *testing.T) {
	for _, dialect := range dialects {
		m := xpathMapper(t, dialect, "replace(a, b, 'y')", rml.Limits{})
		inUse := func() uint64 {
			var stats runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&stats)
			return stats.HeapAlloc
		}
		var before uint64
		for n := range 300 {
			if n == 10 {
				before = inUse()
			}
			pattern := fmt.Sprint(n) + strings.Repeat("(x|y)*z", 30)
			_, err := m.Append(nil, []byte("<r id='1'><a>x</a><b>"+pattern+"</b></r>"))
			require.NoError(t, err)
		}
		require.Less(t, inUse(), before+2<<20, dialect)
		runtime.KeepAlive(m)
	}
}
