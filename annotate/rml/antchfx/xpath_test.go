package antchfx_test

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/antchfx"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/xmldoc"
)

// groups is a document whose nodes repeat across parents.
const groups = `<r><g i="1"><a t="x">1</a><a t="y">2</a><a t="x">3</a></g><g i="2"><a t="y">4</a><a ` +
	`t="x">5</a><b>2</b></g><n><g i="3"><a t="x">6</a></g></n></r>`

// shelves is a document with namespaces.
const shelves = `<r xmlns:x="http://p/" id="L"><b id="1" x:id="p1" ` +
	`xml:lang="en"><t>One</t><x:n>11</x:n></b><s><b id="2"><t>Two</t><b id="3"><t>Three</t></b></b></s><b ` +
	`xmlns="http://d/" id="4"><t>Four</t></b></r>`

// namespaces are those of the expressions.
var namespaces = map[string]string{"p": "http://p/", "d": "http://d/"}

// misread are expressions whose values, with spaces between, the libraries get
// wrong: XPath and the built-in engine give right. An entry that fails
// because the libraries have learned is to be deleted.
var misread = []struct{ document, expr, right, library string }{
	// A name without a prefix stands for a name in no namespace.
	{shelves, "b/@id", "1", "1 4"},
	{shelves, "b/t", "One", "One Four"},
	{shelves, "//t", "One Two Three", "One Two Three Four"},
	{shelves, "count(//b)", "3", "4"},
	{shelves, "b[last()]/@id", "1", "4"},
	{shelves, "d:b/t", "", "Four"},
	{shelves, "*/p:*", "11", ""},
	{shelves, "b/@p:*", "p1", ""},
	{shelves, "d:b/@*", "4", "http://d/ 4"},

	// Each node comes once, in document order.
	{shelves, "s//b//t", "Two Three", "Two Three Three"},
	{groups, "//a[.='6']/ancestor::*[@i or self::n]/@i | g[1]/@i", "1 3", "3 1"},
	{groups, "g[@i=2]/a | g[@i=1]/a[1]", "1 4 5", "4 5 1"},

	// A position counts among the nodes of one parent.
	{groups, "g/a[@t='x'][1]", "1 5", "1"},
	{groups, "//a[@t='x'][1]", "1 5 6", "1"},
	{groups, "//g/a[@t='x'][1]", "1 5 6", "1"},
	{groups, "g/a[@t='x'][last()]", "3 5", ""},
	{groups, "g/a[@t][2]", "2 5", "2"},
	{groups, "g/a[position()>1][1]", "2 5", "2"},
	{groups, "g/a[following-sibling::a][1]", "1 4", "1"},
	{groups, "g/a[../../n/g/@i=3][1]", "1 4", "1"},
	{groups, "g/*[self::a or self::b][3]", "3 2", "3"},
	{groups, "g[1]/following::a[1]", "4", "4 6"},
	{groups, "//a[.='6']/preceding::a[1]", "5", "4"},
	{groups, "g[1.5]/@i", "", "1"},

	// A comparison holds if it does for one of the nodes, and converts its
	// other side.
	{groups, "2=g/a", "true", "false"},
	{groups, "//g[2=a]/@i", "1", ""},
	{groups, "g[a[2]=../g[2]/b]/@i", "1", ""},
	{groups, "g=true()", "true", "false"},
	{groups, "true()=g", "true", "false"},
	{groups, "zzz=false()", "true", "false"},

	// An argument is evaluated from the context node.
	{groups, "concat(g[1]/a[2],g[2]/a[1])", "24", "2"},
	{groups, "g[concat(a[1],@i)='11']/@i", "1", ""},
}

// agreed are expressions that the libraries get right.
var agreed = []struct{ document, expr, right string }{
	{groups, "g/@i", "1 2"},
	{groups, "g/a[last()]", "3 5"},
	{groups, "g/a[2]", "2 5"},
	{groups, "/r/n/g/a", "6"},
	{groups, "//g[a>3]/@i", "2 3"},
	{groups, "g[count(a)=2]/@i", "2"},
	{groups, "g[not(b)]/a[2]", "2"},
	{groups, "(g/a)[2]", "2"},
	{groups, "g[2]/a[2]/preceding-sibling::a[1]", "4"},
	{groups, "sum(g/a)", "15"},
	{groups, "1 div 0", "Infinity"},
	{groups, "-1 div 0", "-Infinity"},
	{groups, "0 * -1", "0"},
	{groups, "0.1", "0.1"},
	{groups, "1000000", "1000000"},
	{groups, "g[1]/a[2]='2' or false()", "true"},
	{groups, "@x", ""},
	{groups, "number('+1')", "1"},
	{groups, "number('1e3')", "1000"},
	{groups, "g[2]/a[2]/text()", "5"},
	{groups, "..//b", "2"},
	{groups, "lower-case('ŻÓŁW')", "żółw"},
	{shelves, "b/p:n", "11"},
	{shelves, "b/@p:id", "p1"},
	{shelves, "b/@xml:lang", "en"},
	{shelves, "d:b/d:t", "Four"},
	{"<r><a><![CDATA[<b>]]></a></r>", "a/text()", "<b>"},
	{"<r><a>x<![CDATA[y]]></a></r>", "a", "xy"},
	{"<r><a>x</a></r>", "..", "x"},
}

func TestXPath_differsFromTheBuiltInEngineAsListed(t *testing.T) {
	for _, c := range misread {
		require.NotEqual(t, c.right, c.library, c.expr)
		require.Equal(t, c.right, byBuiltIn(t, c.document, c.expr), "built in: %s", c.expr)
		require.Equal(t, c.library, byLibrary(t, c.document, c.expr), "library: %s", c.expr)
	}
}

func TestXPath_agreesWithTheBuiltInEngineOtherwise(t *testing.T) {
	for _, c := range agreed {
		require.Equal(t, c.right, byLibrary(t, c.document, c.expr), "library: %s", c.expr)
		require.Equal(t, c.right, byBuiltIn(t, c.document, c.expr), "built in: %s", c.expr)
	}
}

// byLibrary returns the values that the evaluator gives from the document
// element.
func byLibrary(t *testing.T, document, expr string) string {
	t.Helper()
	e := antchfx.XPath()
	root, err := e.Parse([]byte(document))
	require.NoError(t, err)
	records := selected(t, e, "/r", root)
	require.Len(t, records, 1)
	var texts []string
	for _, node := range selected(t, e, expr, records[0]) {
		text, kind, ok := e.Value(node)
		require.True(t, ok)
		require.Equal(t, rml.StringValue, kind)
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}

func selected(t *testing.T, e rml.Evaluator, expr string, from any) []any {
	t.Helper()
	evaluate, err := e.Compile(expr, namespaces)
	require.NoError(t, err, expr)
	nodes, err := evaluate(from)
	require.NoError(t, err, expr)
	again, err := evaluate(from)
	require.NoError(t, err, expr)
	require.Len(t, again, len(nodes), expr)
	return nodes
}

// byBuiltIn returns the values that the built-in engine gives.
func byBuiltIn(t *testing.T, document, expr string) string {
	t.Helper()
	c := xmldoc.New([]xmldoc.Namespace{{Prefix: "p", IRI: "http://p/"}, {Prefix: "d", IRI: "http://d/"}}, input.Limits{})
	iterator, err := c.CompileIterator("/r")
	require.NoError(t, err)
	reference, err := c.CompileReference(expr)
	require.NoError(t, err)
	doc := c.NewDocument()
	require.NoError(t, doc.Load([]byte(document)))
	records, err := doc.Records(nil, iterator)
	require.NoError(t, err)
	values, err := doc.Values(nil, records[0], reference)
	require.NoError(t, err)
	var texts []string
	for _, v := range values {
		texts = append(texts, string(v.Text))
	}
	return strings.Join(texts, " ")
}

func TestXPath_reportsExpressionsThatTheLibraryCannotCompile(t *testing.T) {
	e := antchfx.XPath()
	for _, expr := range []string{
		"", "a[", "q:a", "lang('fr')", "id('1')", "$v", "nothing()", "count()", strings.Repeat("(", 20_000),
	} {
		_, err := e.Compile(expr, nil)
		require.Error(t, err, expr)
	}
}

func TestXPath_refusesIteratorsThatSelectNoNodes(t *testing.T) {
	e := antchfx.XPath()
	evaluate, err := e.Compile("a", nil)
	require.NoError(t, err)
	_, err = evaluate("text")
	require.ErrorContains(t, err, "a string is not a node")
	_, _, ok := e.Value(7)
	require.False(t, ok)
	_, err = e.Parse([]byte("<a>"))
	require.Error(t, err)
}

func TestXPath_stopsLongEvaluations(t *testing.T) {
	e := antchfx.XPath()
	root, err := e.Parse([]byte("<a>" + strings.Repeat("<b><c/></b>", 3000) + "</a>"))
	require.NoError(t, err)
	for _, expr := range []string{"//*[count(//*)=1]", "//*[count(preceding::*)<0]"} {
		evaluate, err := e.Compile(expr, nil)
		require.NoError(t, err)
		_, err = evaluate(root)
		require.ErrorContains(t, err, "the evaluation takes too many steps", expr)
		require.ErrorIs(t, err, rml.ErrLimit, expr)
	}
}

func TestXPath_boundsTheMemoryOfAnEvaluation(t *testing.T) {
	e := antchfx.XPath()
	long := strings.Repeat("x", 100_000)
	root, err := e.Parse([]byte("<r><a>" + long + "</a><b>" + long + "</b>" + strings.Repeat("<c/>", 3000) + "</r>"))
	require.NoError(t, err)
	literals := func(function string) string {
		return function + "() must have literals as its arguments but the first, found"
	}
	const text, nodes = "the evaluation reads too much text", "the evaluation keeps too many nodes"
	y40, y1000 := strings.Repeat("y", 40), strings.Repeat("y", 1000)
	for expr, want := range map[string]string{
		"string-length(replace(//a, 'x', //b))":                literals("replace"),
		"string-length(replace(replace(//a,'x',//b),'y','z'))": literals("replace"),
		"string-length(string-join(//c, string(//b)))":         literals("string-join"),
		"string-length(translate(//a, 'x', concat('y','z')))":  literals("translate"),

		"concat(replace (//a, 'x', '" + y1000 + y1000 + "'), 1)":    "more than 1024 times",
		"replace(replace(//a,'x','" + y40 + "'),'y','" + y40 + "')": "more than 1024 times",
		"string-length(replace(//a, 'x', '" + y1000 + "'))":         text,
		"string-length(string-join(//c/../a, '" + y1000 + "'))":     text,
		"concat(''" + strings.Repeat(",/r/a", 2000) + ")":           text,
		"count(reverse(//c/../c/../c))":                             nodes,
		"(//c/../c/../c)[last()]":                                   nodes,
		"matches('x', '(a{1000}){1000}')":                           "invalid repeat count",
		"matches('x', '" + strings.Repeat("a{1000}", 30) + "')":     "too many repetitions",
		"matches('x', '" + strings.Repeat("(a?)", 1000) + "')":      "too many groups",
		"matches('x', '" + strings.Repeat("a", 5000) + "')":         "longer than 4096 bytes",
		"matches('x', string(//a))":                                 "longer than 4096 bytes",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		evaluate, err := e.Compile(expr, nil)
		if err == nil {
			_, err = evaluate(root)
		}
		runtime.ReadMemStats(&after)
		require.ErrorContains(t, err, want, "%.80s", expr)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<29), "%.80s", expr)
	}
	for expr, want := range map[string]string{
		"string-length(replace(//a, 'x', 'https://example.org/'))": "2000000",
		"string-length(string-join(//c, ', '))":                    "5998",
		"translate('a(b', \"(\", '|')":                             "a|b",
		"replace('replace(', '[(]', ')')":                          "replace)",
		"count(//a | //b)":                                         "2",
	} {
		nodes := selected(t, e, expr, root)
		text, _, _ := e.Value(nodes[0])
		require.Equal(t, want, text, expr)
	}
}

func TestXPath_boundsTheCopiesOfExpressionsInParenthesesAlone(t *testing.T) {
	e := antchfx.XPath()
	root, err := e.Parse([]byte("<r>" + strings.Repeat("<c/>", 1100) + "</r>"))
	require.NoError(t, err)
	const many = "(count(//c/../c[1]))" // copies more nodes than a list may have
	want := selected(t, e, "ceiling"+many, root)
	for _, before := range []string{"floor", "floor ", "0 + floor"} {
		require.Equal(t, want, selected(t, e, before+many, root), before)
	}
	for _, before := range []string{"", "0 or", "0or ", "1 and", "0.or", "'x'and", "1 * ", "floor(1) div"} {
		evaluate, err := e.Compile(before+many, nil)
		require.NoError(t, err, before)
		_, err = evaluate(root)
		require.ErrorContains(t, err, "the evaluation keeps too many nodes", before)
		require.ErrorIs(t, err, rml.ErrLimit, before)
	}
}

func TestXPath_keepsFewRegularExpressionsOfDocuments(t *testing.T) {
	e := antchfx.XPath()
	evaluate, err := e.Compile("matches('x', string(//p))", nil)
	require.NoError(t, err)
	inUse := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	var before uint64
	for n := range 200 {
		if n == 50 {
			before = inUse()
		}
		root, err := e.Parse([]byte("<p>" + strconv.Itoa(n) + strings.Repeat("(?:x|y)*z", 100) + "</p>"))
		require.NoError(t, err)
		_, err = evaluate(root)
		require.NoError(t, err)
	}
	require.Less(t, inUse(), before+1<<20)
}

func FuzzXPathDoesNotPanic(f *testing.F) {
	for _, c := range misread {
		f.Add(c.expr, c.document)
	}
	for _, c := range agreed {
		f.Add(c.expr, c.document)
	}
	f.Fuzz(func(t *testing.T, expr, document string) {
		if len(expr) > 100 || len(document) > 500 {
			t.Skip("too long")
		}
		e := antchfx.XPath()
		evaluate, err := e.Compile(expr, namespaces)
		if err != nil {
			return
		}
		if xmldoc.New(nil, input.Limits{}).NewDocument().Load([]byte(document)) != nil {
			return // as the mapping engine would
		}
		root, err := e.Parse([]byte(document))
		if err != nil {
			return
		}
		nodes, err := evaluate(root)
		if err != nil {
			require.Empty(t, nodes)
		}
		for _, node := range nodes {
			_, _, ok := e.Value(node)
			require.True(t, ok)
		}
	})
}
