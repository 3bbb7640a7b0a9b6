package xmldoc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/xmldoc"
)

const library = `<?xml version="1.0"?>
<lib xmlns:x="http://p/" id="L">
  <book id="1" x:id="p1" xml:lang="en"><title>One</title><author>A</author><author>B</author><x:isbn>11</x:isbn></book>
  <book id="2"><title>Two</title><author/><price cur="EUR">5.5</price></book>
  <shelf><book id="3"><title>Three</title><book id="4"><title>Four</title></book></book></shelf>
  <d:book xmlns:d="http://d/" id="5"><d:title>Five</d:title></d:book>
  <book xmlns="http://d/" id="6"><title>Six</title></book>
</lib>`

// expressions are XPath expressions on the library, from its element.
var expressions = map[string][]string{
	"@id":                                  {"L"},
	"book/@id":                             {"1", "2"},
	"/lib/book/@id":                        {"1", "2"},
	" / lib/ book [ 2 ]/@ id ":             {"2"},
	"book[3]":                              {},
	"book/title":                           {"One", "Two"},
	"book/author":                          {"A", "B", ""},
	"book/author[2]":                       {"B"},
	"book/author/text()":                   {"A", "B"},
	"book[1]/*":                            {"One", "A", "B", "11"},
	"book[1]/*[2]":                         {"A"},
	"book/@*":                              {"1", "p1", "en", "2"},
	"book/@p:id":                           {"p1"},
	"book/@p:*":                            {"p1"},
	"book/@xml:lang":                       {"en"},
	"book/p:isbn":                          {"11"},
	"*/p:*":                                {"11"},
	"d:book/@id":                           {"5", "6"},
	"d:book/d:title":                       {"Five", "Six"},
	"d:book/title":                         {},
	"missing/title":                        {},
	"book/title/..//@cur":                  {"EUR"},
	"//book/@id":                           {"1", "2", "3", "4"},
	"//title":                              {"One", "Two", "Three", "Four"},
	"//d:title":                            {"Five", "Six"},
	"//book[1]/@id":                        {"1", "3", "4"},
	"//book//title":                        {"One", "Two", "Three", "Four"},
	"shelf//book/title":                    {"Three", "Four"},
	"shelf//book//title":                   {"Three", "Four"},
	".//price/..//title":                   {"Two"},
	"//title/../@id":                       {"1", "2", "3", "4"},
	"//@id":                                {"L", "1", "2", "3", "4", "5", "6"},
	"//text()[.='One']":                    {"One"},
	"./book/./title":                       {"One", "Two"},
	"../lib/@id":                           {"L"},
	"..//title/..//author[1]":              {"A", ""},
	"/..":                                  {},
	"book[1]/node()[1]":                    {"One"},
	"book[@id='2']/title":                  {"Two"},
	"book[last()]/@id":                     {"2"},
	"book[price]/title":                    {"Two"},
	"book[not(price)]/title":               {"One"},
	"book[title='One']/author":             {"A", "B"},
	"count(book)":                          {"2"},
	"count(//book)":                        {"4"},
	"count(//book) div 3 > 1":              {"true"},
	"1 div 0":                              {"Infinity"},
	"-1 div 0":                             {"-Infinity"},
	"number('x')":                          {"NaN"},
	"1.50 + 2":                             {"3.5"},
	"string(book[2]/price)":                {"5.5"},
	"concat(book[1]/title,'-',@id)":        {"One-L"},
	"string-length(book[1]/title)":         {"3"},
	"normalize-space('  a  b ')":           {"a b"},
	"substring-before('a-b','-')":          {"a"},
	"translate('abc','b','B')":             {"aBc"},
	"contains(@id,'L')":                    {"true"},
	"boolean(missing)":                     {"false"},
	"book/title | book/@id":                {"1", "One", "2", "Two"},
	"child::book/attribute::id":            {"1", "2"},
	"book[2]/preceding-sibling::book/@id":  {"1"},
	"book[1]/following-sibling::book/@id":  {"2"},
	"//price/ancestor::*/@id":              {"L", "2"},
	"descendant::title":                    {"One", "Two", "Three", "Four"},
	"*[local-name()='book']/@id":           {"1", "2", "5", "6"},
	"*[namespace-uri()='http://d/']/@id":   {"5", "6"},
	"name(*[@id='6'])":                     {"book"},
	"name(*[@id='5'])":                     {"d:book"},
	"*[name()='d:book']/@id":               {"5"},
	"d:*[title]/@id":                       {},
	"d:*[d:title='Six']/@id":               {"6"},
	"book[author='B' or price]/@id":        {"1", "2"},
	"book[position()=2]/@id":               {"2"},
	"(//title)[2]":                         {"Two"},
	"id('1')":                              {},
	"book[lang('EN')]/@id":                 {"1"},
	"book/title[lang('en')]":               {"One"},
	"lang('fr')":                           {"false"},
	"book[1]/comment()":                    {},
	"ancestor-or-self::node()/@id":         {"L"},
	"book[1]/@id/../title":                 {"One"},
	"book[1]/@id/following::price":         {"5.5"},
	"book[2]/price/@cur/preceding::isbn":   {},
	"book[2]/price/@cur/preceding::p:isbn": {"11"},
	"book[1]/@id/node()":                   {},
	"//@cur/..":                            {"5.5"},
	"self::lib/@id":                        {"L"},
	"@id/self::node()":                     {"L"},
	"@id/self::id":                         {},
	"name(//@p:id)":                        {"x:id"},
	"name(/)":                              {""},
	"local-name(//@p:id)":                  {"id"},
	"namespace-uri(//@p:id)":               {"http://p/"},
	"name()":                               {"lib"},
	"sum(//price)":                         {"5.5"},
}

func TestDocument_Values_selectsAsXPathDefines(t *testing.T) {
	for expr, want := range expressions {
		t.Run(expr, func(t *testing.T) {
			require.Equal(t, want, read(t, library, "/lib", expr))
		})
	}
}

func TestCompiler_namesTheFaultOfAnInvalidExpression(t *testing.T) {
	c := xmldoc.New(spaces, input.Limits{})
	for expr, want := range map[string]string{
		"":                            "the expression is empty",
		"   ":                         "the expression is empty",
		"a//":                         "",
		"/a/":                         "",
		"//":                          "",
		"a b":                         `expected an operator or the end, found "b", at offset 2`,
		"a[":                          "",
		"a[1":                         "",
		"a]":                          "",
		"'x":                          "the quote is never closed, at offset 0",
		"a#b":                         "maps, arrays and function items are not supported, at offset 1",
		"\xFF":                        "not UTF-8",
		"q:a":                         `the prefix "q" is not declared, only d, fn, math, p, xml, xs are`,
		"count(q:a)":                  `the prefix "q" is not declared`,
		"p:":                          `expected an operator or the end, found ":", at offset 1`,
		"$v":                          "the variable is not declared",
		"namespace::*":                "the axis namespace is not known",
		"processing-instruction('x')": "processing-instruction() is not supported",
		"p:1":                         `expected an operator or the end, found ":1", at offset 1`,
		"p:f()":                       "the function f() is not known, at offset 0",
		"nothing()":                   "nothing",
		"upside-down::a":              "upside-down",
		"concat('x')":                 "concat() has 1 arguments, expected 2 or more, at offset 0",
		"true(1)":                     "true() has 1 arguments, expected 0, at offset 0",
		"substring('a')":              "has 1 arguments, expected 2 to 3",
		"'a' | b":                     "the operand of | is not a node",
		"'a'/b":                       "the operand of / is not a node, its value is a string, a number or the like, at offset 4",
		"string(a)//b":                "the operand of / is not a node",
		"(a":                          `expected ), found ""`,
		"text(1)":                     `expected ), found "1)", at offset 5`,
		"lower-case(a":                `expected ), found ""`,
		"matches(a,'(')":              "a parenthesis is never closed",
		"matches(a,'(a)\\1')":         "back-references such as \\1 are not supported",
		"doc('x')":                    "the function doc() is not supported",
	} {
		_, err := c.CompileReference(expr)
		require.ErrorContains(t, err, want, expr)
		require.ErrorContains(t, err, "compile reference", expr)
	}
	_, err := c.CompileIterator("count(//a)")
	require.ErrorContains(t, err, "selects no nodes")
	_, err = c.CompileIterator("/a[")
	require.ErrorContains(t, err, `compile iterator "/a["`)
}

func TestCompiler_boundsTheNesting(t *testing.T) {
	c := xmldoc.New(nil, input.Limits{})
	for _, expr := range []string{
		strings.Repeat("(", 5000) + "a" + strings.Repeat(")", 5000),
		strings.Repeat("a[", 5000) + "a" + strings.Repeat("]", 5000),
		strings.Repeat("not(", 5000) + "a" + strings.Repeat(")", 5000),
	} {
		_, err := c.CompileReference(expr)
		require.ErrorContains(t, err, "nested deeper than 128")
	}
	_, err := c.CompileReference(strings.Repeat("a/", 40_000) + "a")
	require.ErrorContains(t, err, "longer than 65536 bytes")
	_, err = c.CompileReference(strings.Repeat("1+", 30_000) + "1")
	require.NoError(t, err)
}

func TestDocument_Values_stopsLongEvaluations(t *testing.T) {
	text := "<a>" + strings.Repeat("<b><c/></b>", 3000) + "</a>"
	for _, expr := range []string{
		"//*[..//*[..//*]]",
		"count(//*[preceding::*/following::*])",
		"//b[. != //c]",
		"string-join(for $b in //b return $b/../b, '')",
		"upper-case(//b[..//b[..//b = 'x'] = 'x'])",
	} {
		c := xmldoc.New(nil, input.Limits{})
		ref, err := c.CompileReference(expr)
		require.NoError(t, err)
		doc := c.NewDocument()
		require.NoError(t, doc.Load([]byte(text)))
		_, err = doc.Values(nil, 0, ref)
		require.ErrorContains(t, err, "too many steps", expr)
		require.ErrorContains(t, err, "evaluate")
	}
}

func TestNew_reportsInvalidNamespaces(t *testing.T) {
	for want, n := range map[string][]xmldoc.Namespace{
		`declare namespace prefix "a:b": not a name without a colon`: {{Prefix: "a:b", IRI: "x"}},
		`declare namespace prefix "": not a name without a colon`:    {{IRI: "x"}},
		`declare namespace prefix "a": the namespace is empty`:       {{Prefix: "a"}},
		`declare namespace prefix "xmlns": it is reserved`:           {{Prefix: "xmlns", IRI: "x"}},
		`declare namespace prefix "a": it is bound to <x> already, not to <y>`: {
			{Prefix: "a", IRI: "x"},
			{Prefix: "a", IRI: "y"},
		},
	} {
		_, err := xmldoc.New(n, input.Limits{}).CompileReference("a")
		require.ErrorContains(t, err, want)
	}
	_, err := xmldoc.New([]xmldoc.Namespace{
		{Prefix: "a", IRI: "x"},
		{Prefix: "a", IRI: "x"},
		{Prefix: "b", IRI: "x"},
	}, input.Limits{}).CompileReference("a:c/b:d")
	require.NoError(t, err)
}

func TestDocument_refusesForeignAndLatePaths(t *testing.T) {
	c, other := xmldoc.New(nil, input.Limits{}), xmldoc.New(nil, input.Limits{})
	doc := c.NewDocument()
	foreign, err := other.CompileReference("a")
	require.NoError(t, err)
	require.Equal(t, "a", foreign.String())
	late, err := c.CompileReference("a")
	require.NoError(t, err)
	require.NoError(t, doc.Load([]byte("<a/>")))
	_, err = doc.Values(nil, 0, foreign)
	require.ErrorContains(t, err, "another source")
	_, err = doc.Values(nil, 0, nil)
	require.ErrorContains(t, err, "another source")
	_, err = doc.Values(nil, 0, late)
	require.ErrorContains(t, err, "after the document was created")
	doc = c.NewDocument()
	require.NoError(t, doc.Load([]byte("<a/>")))
	_, err = doc.Values(nil, 2, late)
	require.ErrorContains(t, err, "the node 2 does not exist")
}
