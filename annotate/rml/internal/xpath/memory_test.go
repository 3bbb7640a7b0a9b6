package xpath_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/xpath"
)

// TestEvaluator_Append_endsWithinItsMemory holds expressions that would take much memory otherwise. They
// may take any number of steps.
func TestEvaluator_Append_endsWithinItsMemory(t *testing.T) {
	const (
		room = 1 << 20
		// allocated is the most bytes that are allocated, in use or not.
		allocated = 16 * room
	)
	text, name := strings.Repeat("x", 100_000), strings.Repeat("n", 60_000)
	groups := strings.Repeat("()", 120) + "x"
	tree := readTree(t, []byte("<r><t>"+text+"</t><w>"+strings.Repeat("x ", 100_000)+"</w><g>"+groups+"</g><u>"+
		strings.Repeat("\uFDFA", 40_000)+
		"</u><"+name+"/>"+strings.Repeat("<a>x</a>", 5000)+"</r>"))
	for _, source := range []string{
		"string-length(replace(/r/t, 'x', /r/t))",
		"string-length(replace(replace(/r/t, 'x', 'yyyyyyyyyyyyyyyyyyyy'), 'y', 'zzzzzzzzzzzzzzzzzzzz'))",
		"string-length(string-join(//a, /r/t))",
		"string-length(concat(/r, /r, /r, /r, /r, /r, /r, /r, /r, /r, /r, /r))",
		"let $a := string(/r/t)" + doubled("||", 40),
		"count(tokenize(/r/t || 'y', 'x'))",
		"count(tokenize(/r/w))",
		"string-length(replace(/r/t, /r/g, ''))",
		"string-length(replace(/r/t, '" + groups + "', ''))",
		"count(1 to 1000000000)",
		"count(for $a in //a, $b in //a return 1)",
		"count(//a ! //a)",
		"count((//a, //a, //a, //a, //a))",
		"string-to-codepoints(/r/t)",
		"let $n := /r/*[5] return count(for $i in 1 to 1000 return name($n))",
		"for $i in 1 to 1000 return string(/r/t)",
		"let $t := string(/r/t) return (1 to 1000) ! $t",
		"normalize-unicode(/r/u, 'NFKC')",
		"count(distinct-values(//a/generate-id()))",
		"count(for $i in 1 to 10000 return xs:decimal(1e300))",
		"count(for $p in 1 to 10000 return matches('a', 'b{900}' || $p))",
		"count(for $a in //a return $a/preceding-sibling::a)",
		"count(//a" + strings.Repeat("[//a", 60) + strings.Repeat("]", 60) + ")",
		"translate('a', string-join(for $i in 1 to 60000 return codepoints-to-string(19968 + $i), ''), '')",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := outcome(tree, source, 0, xpath.Limits{Steps: 1 << 30, Bytes: room})
		runtime.ReadMemStats(&after)
		t.Logf("%6d kB, %.90s: %.60s", (after.TotalAlloc-before.TotalAlloc)>>10, source, got)
		assert.Equal(t, "!limit", got, source)
		assert.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(poolFactor*allocated), source)
	}
}

// TestEvaluator_Append_freesWhatItNoLongerUses holds expressions whose values fit the memory one after the
// other, but not together.
func TestEvaluator_Append_freesWhatItNoLongerUses(t *testing.T) {
	tree := readTree(t, []byte("<r>"+strings.Repeat("<a>"+strings.Repeat("x", 100)+"</a>", 300)+"</r>"))
	for source, want := range map[string]string{
		"count(//a[upper-case(.) = 'Y'])":                     "=0",
		"count(//a[count(//a[position() < 3]) = 2])":          "=300",
		"sum(for $a in //a return string-length($a || $a))":   "=60000",
		"sum(//a/string-length(concat(., .)))":                "=60000",
		"sum(//a ! string-length(upper-case(.)))":             "=30000",
		"every $a in //a satisfies contains($a || $a, 'xxx')": "=true",
	} {
		require.Equal(t, want, outcome(tree, source, 0, xpath.Limits{Steps: 1 << 30, Bytes: 256 << 10}), source)
	}
}
