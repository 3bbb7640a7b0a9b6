package xmldoc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/xmldoc"
)

// spaces are the prefixes that the expressions of the tests use.
var spaces = []xmldoc.Namespace{{Prefix: "p", IRI: "http://p/"}, {Prefix: "d", IRI: "http://d/"}}

// read returns the texts that a reference gives from the record that an
// iterator selects first.
func read(t testing.TB, text, iterator, reference string) []string {
	t.Helper()
	c := xmldoc.New(spaces, input.Limits{})
	it, err := c.CompileIterator(iterator)
	require.NoError(t, err)
	ref, err := c.CompileReference(reference)
	require.NoError(t, err)
	doc := c.NewDocument()
	require.NoError(t, doc.Load([]byte(text)))
	records, err := doc.Records(nil, it)
	require.NoError(t, err)
	require.NotEmpty(t, records)
	values, err := doc.Values(nil, records[0], ref)
	require.NoError(t, err)
	texts := []string{}
	for _, v := range values {
		require.Equal(t, input.String, v.Kind)
		require.NotNil(t, v.Text)
		texts = append(texts, string(v.Text))
	}
	return texts
}

func TestDocument_Load_readsTextAsXMLDefines(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"plain":                   {"<a>x y</a>", "x y"},
		"white space is kept":     {"<a> \n x\t</a>", " \n x\t"},
		"empty":                   {"<a></a>", ""},
		"empty tag":               {"<a />", ""},
		"entities":                {"<a>&lt;&gt;&amp;&apos;&quot;</a>", `<>&'"`},
		"character references":    {"<a>&#65;&#x42;&#x1F600;&#0000000000067;&#xD;</a>", "AB😀C\r"},
		"entities are not tags":   {"<a>x&lt;b/></a>", "x<b/>"},
		"line ends":               {"<a>1\r\n2\r3\n4\r\r\n5</a>", "1\n2\n3\n4\n\n5"},
		"CDATA":                   {"<a><![CDATA[<b>&amp;]]]></a>", "<b>&amp;]"},
		"CDATA with text":         {"<a>1<![CDATA[2\r\n]]>3<![CDATA[]]>&#52;</a>", "12\n34"},
		"empty CDATA":             {"<a><![CDATA[]]></a>", ""},
		"brackets":                {"<a>]] ]> [[</a>", "]] ]> [["},
		"descendants":             {"<a>1<b>2<c>3</c></b>4</a>", "1234"},
		"one text below":          {"<a><b><c>3</c></b><d/></a>", "3"},
		"comments are not text":   {"<a>1<!-- - -->2</a>", "12"},
		"instructions":            {"<a>1<?t x?>2<?t?></a>", "12"},
		"not ASCII":               {"<ä·>żółw 🐢</ä·>", "żółw 🐢"},
		"byte order mark":         {"\xEF\xBB\xBF<?xml version='1.0' encoding='utf-8'?><a>x</a>", "x"},
		"declaration":             {"<?xml version=\"1.0\" encoding = \"UTF-8\" standalone='no' ?>\n<a>x</a>", "x"},
		"later minor version":     {"<?xml version='1.1'?><a>x</a>", "x"},
		"around the element":      {"<!-- c --><?t?>\r\n<a>x</a>\n<!---->\n<?t ?>", "x"},
		"space in tags":           {"<a\n>x</a\t>", "x"},
		"instruction like xml":    {"<?xml-stylesheet href='x'?><a>x</a>", "x"},
		"greater-than and quotes": {`<a>>"'</a>`, `>"'`},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, []string{c.want}, read(t, c.text, "/*", "."))
		})
	}
}

func TestDocument_Load_normalizesAttributeValues(t *testing.T) {
	for value, want := range map[string]string{
		`"x y"`:                    "x y",
		`''`:                       "",
		`"a'b"`:                    "a'b",
		`'a"b'`:                    `a"b`,
		"\" a\tb\nc\r\nd\re\"":     " a b c d e",
		`"&#9;&#10;&#13;&#32;"`:    "\t\n\r ",
		`"&lt;&amp;&quot;&#x41;>"`: `<&">`[:2] + `"A>`,
		`"]]>"`:                    "]]>",
	} {
		require.Equal(t, []string{want}, read(t, "<a b = "+value+"/>", "/a", "@b"), value)
	}
}

func TestDocument_Load_refusesDocumentsThatAreNotWellFormed(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "line 1 column 1: the input ended before its element",
		" \n":                               "line 2 column 1: the input ended before its element",
		"<!-- -->":                          "ended before its element",
		"x":                                 "line 1 column 1: text before the element",
		"<a/>x":                             "line 1 column 5: text after the element",
		"<a/>&amp;":                         "text after the element",
		"<a/><b/>":                          `line 1 column 5: expected one element at the top, and "a" precedes it`,
		"<a>":                               `line 1 column 4: the input ended within the element "a" that began on line 1`,
		"<a>\n<b>\n</a>":                    `line 3 column 1: expected the end tag of "b", which began on line 2`,
		"<a></ab>":                          `expected the end tag of "a"`,
		"<ab></a>":                          `expected the end tag of "ab"`,
		"<a></a":                            "expected > in the end tag",
		"<a></a b>":                         "expected > in the end tag",
		"</a>":                              "an end tag without a start tag",
		"<a/></a>":                          "an end tag without a start tag",
		"<":                                 "expected a name",
		"<a":                                "the input ended within a start tag",
		"<a b":                              "expected = after the name of the attribute",
		"<a b=":                             "expected a quote",
		"<a b=c/>":                          "line 1 column 6: expected a quote",
		"<a b='":                            "line 1 column 6: the quote that begins here is never closed",
		"<a b='&lt;":                        "never closed",
		"<a b='<'/>":                        "< in an attribute value",
		"<a b='1'c='2'/>":                   "line 1 column 9: expected white space, > or />",
		"<a b='1' b='2'/>":                  `line 1 column 10: the element has the attribute "b" already`,
		"<a / >":                            "expected > after /",
		"<1/>":                              "line 1 column 2: expected a name",
		"<\xC3\x97/>":                       "is not a name",
		"<a><b c\xC3\x97=''/></a>":          "is not a name",
		"<a>]]></a>":                        "]]> outside",
		"<a>x]]></a>":                       "line 1 column 5: ]]> outside",
		"<a>&amp;]]></a>":                   "]]> outside",
		"<a>&b;</a>":                        `line 1 column 4: the entity "b" is not one of`,
		"<a b='&c;'/>":                      `the entity "c" is not one of`,
		"<a>&</a>":                          "write &amp;",
		"<a>& b;</a>":                       "write &amp;",
		"<a>&amp</a>":                       "write &amp;",
		"<a>&#;</a>":                        "expected digits and a semicolon",
		"<a>&#xG;</a>":                      "expected digits and a semicolon",
		"<a>&#65</a>":                       "expected digits and a semicolon",
		"<a>&#0;</a>":                       "is not a character",
		"<a>&#x1F;</a>":                     "is not a character",
		"<a>&#xD800;</a>":                   "is not a character",
		"<a>&#xFFFE;</a>":                   "is not a character",
		"<a>&#x110000;</a>":                 "is not a character",
		"<a>&#99999999999999999999;</a>":    "is not a character",
		"<a>\x00</a>":                       "line 1 column 4: the control character U+0000",
		"<a b='\x1F'/>":                     "the control character U+001F",
		"<a><!-- \x07 --></a>":              "the control character U+0007",
		"<a>\uFFFE</a>":                     "the byte 0xEF begins no character",
		"<a>\xFF</a>":                       "line 1 column 4: the byte 0xFF begins no character",
		"<a>\xED\xA0\x80</a>":               "the byte 0xED begins no character",
		"<a><![CDATA[x]]</a>":               "line 1 column 4: the CDATA section that begins here is never closed",
		"<![CDATA[x]]>":                     "expected a comment after <!",
		"<a/><![CDATA[x]]>":                 "expected a comment after <!",
		"<a><!-- x</a>":                     "line 1 column 4: the comment that begins here is never closed",
		"<a><!-- x -- y --></a>":            "-- within a comment",
		"<a><!-- x ---></a>":                "-- within a comment",
		"<a><!b></a>":                       "line 1 column 4: expected a comment or a CDATA section after <!",
		"<a><? x?></a>":                     "expected a name",
		"<a><?x</a>":                        "is never closed",
		"<a><?x+?></a>":                     "expected white space or ?>",
		"<a><?x:y ?></a>":                   "a colon in the target",
		"<a><?xml version='1.0'?></a>":      "is allowed only at the very beginning",
		" <?xml version='1.0'?><a/>":        "is allowed only at the very beginning",
		"<?XML version='1.0'?><a/>":         "is allowed only at the very beginning",
		"<?xml?><a/>":                       "must begin with version",
		"<?xml encoding='UTF-8'?><a/>":      "must begin with version",
		"<?xml version='2.0'?><a/>":         `the XML version is "2.0"`,
		"<?xml version='1.'?><a/>":          `the XML version is "1."`,
		"<?xml version='1.0'":               "does not end with ?>",
		"<?xml version='1.0?>":              "never closed",
		"<?xml version 1.0?>":               "expected = in the XML declaration",
		"<?xml version=1.0?>":               "expected a quote",
		"<?xml version='1.0'encoding='x'?>": "expected white space before encoding",
		"<?xml version='1.0' standalone='no' encoding='UTF-8'?><a/>": "in this order",
		"<?xml version='1.0' standalone='maybe'?><a/>":               `standalone is "maybe"`,
		"<?xml version='1.0' encoding='ISO-8859-1'?><a/>":            `the encoding is "ISO-8859-1", but only UTF-8 is read`,
		"\xFF\xFE<\x00a\x00": "the encoding is UTF-16",
		"<!DOCTYPE a><a/>":   "a document type declaration is not allowed",
		"<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><a>&e;</a>": "a document type declaration is not allowed",
		"<p:a/>":                        `the prefix "p" of the element is not declared`,
		"<a p:b=''/>":                   `the prefix "p" of the attribute is not declared`,
		"<a><b xmlns:p='x'/><p:c/></a>": `the prefix "p" of the element is not declared`,
		"<a:b:c/>":                      "a second colon",
		"<:a/>":                         "is not a name",
		"<a:/>":                         "is not a name",
		"<a:1/>":                        "is not a name",
		"<a xmlns:p=''/>":               "is declared with an empty namespace",
		"<a xmlns:xmlns='x'/>":          "the prefix xmlns cannot be declared",
		"<a xmlns:xml='x'/>":            "the prefix xml cannot be bound to another namespace",
		"<a xmlns:p='http://www.w3.org/XML/1998/namespace'/>": "cannot be bound to the namespace of xml",
		"<a xmlns='http://www.w3.org/2000/xmlns/'/>":          "cannot be bound to the namespace of xmlns",
		"<a xmlns='x' xmlns='y'/>":                            "is repeated",
		"<a xmlns:p='x' xmlns:p='x'/>":                        "is repeated",
		"<a xmlns:p='x' xmlns:q='x' p:b='' q:b=''/>": `line 1 column 35: the element has the attribute ` +
			`"q:b" already`,
	} {
		t.Run(text, func(t *testing.T) {
			doc := xmldoc.New(nil, input.Limits{}).NewDocument()
			err := doc.Load([]byte(text))
			var syntax *input.SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.Contains(t, err.Error(), want)
			require.Equal(t, "XML", syntax.Format)
			line, column := input.Locate([]byte(text), syntax.Offset)
			require.Equal(t, []int{line, column}, []int{syntax.Line, syntax.Column})
		})
	}
}

func TestDocument_Load_refusesInputBeyondTheLimits(t *testing.T) {
	doc := xmldoc.New(nil, input.Limits{MaxDepth: 3, MaxNodes: 6}).NewDocument()
	require.NoError(t, doc.Load([]byte("<a><b><c/><c d='1'/></b>x</a>")))
	require.ErrorContains(t, doc.Load([]byte("<a><b><c><d/></c></b></a>")),
		"line 1 column 10: the elements are nested deeper than 3")
	require.ErrorContains(t, doc.Load([]byte("<a><b/><b/><b/><b/><b/><b/></a>")),
		"line 1 column 24: the input has more than 6 nodes")
	require.ErrorContains(t, doc.Load([]byte("<a b='' c='' d='' e='' f='' g=''/>")), "more than 6 nodes")

	deep := strings.Repeat("<a>", 10_000)
	require.ErrorContains(t, xmldoc.New(nil, input.Limits{MaxDepth: 256}).NewDocument().Load([]byte(deep)),
		"nested deeper than 256")
	require.NoError(t, xmldoc.New(nil, input.Limits{}).NewDocument().Load([]byte(deep+strings.Repeat("</a>", 10_000))))

	many := "<a" + strings.Repeat(" xmlns:q='x'", 1) + ">"
	for i := range 300 {
		many += "<b xmlns:q" + strings.Repeat("z", i+1) + "='x'>"
	}
	require.ErrorContains(t, doc.Load([]byte(strings.Repeat("<", 1)+"a>")), "ended within")
	require.ErrorContains(t, xmldoc.New(nil, input.Limits{}).NewDocument().Load([]byte(many)),
		"more than 256 namespace declarations in scope")
}

func TestDocument_Load_comparesAttributesByExpandedName(t *testing.T) {
	attrs := ""
	for i := range 5000 {
		attrs += fmt.Sprintf(" a%d='1'", i*7919%5000)
	}
	doc := xmldoc.New(nil, input.Limits{}).NewDocument()
	require.NoError(t, doc.Load([]byte("<e"+attrs+"/>")))
	require.ErrorContains(t, doc.Load([]byte("<e"+attrs+" p='' p=''/>")), `the attribute "p" already`)
}

func TestDocument_Load_emptiesTheDocumentOnAnError(t *testing.T) {
	c := xmldoc.New(nil, input.Limits{})
	it, err := c.CompileIterator("/a")
	require.NoError(t, err)
	doc := c.NewDocument()
	for _, bad := range []string{"<a><b", "<a>&#0;</a>", ""} {
		require.NoError(t, doc.Load([]byte("<a/>")))
		require.Error(t, doc.Load([]byte(bad)))
		_, err = doc.Records(nil, it)
		require.ErrorContains(t, err, "nothing is loaded")
		require.Equal(t, "outside of the document", doc.Place(0))
		require.NoError(t, doc.Load([]byte("<a/>")))
		records, err := doc.Records(nil, it)
		require.NoError(t, err)
		require.Len(t, records, 1)
	}
}

func TestDocument_Place_isAnXPath(t *testing.T) {
	c := xmldoc.New(spaces, input.Limits{})
	paths := []string{"/", "/r", "/r/s[2]", "/r/s[2]/@id", "/r/s[2]/text()[2]", "//p:x", "//comment()"}
	want := []string{
		"/", "/r[1]", "/r[1]/s[2]", "/r[1]/s[2]/@id", "/r[1]/s[2]/text()[2]", "/r[1]/q:x[1]",
		"/r[1]/s[2]/comment()[1]",
	}
	var iterators []input.Path
	for _, p := range paths {
		it, err := c.CompileIterator(p)
		require.NoError(t, err)
		iterators = append(iterators, it)
	}
	doc := c.NewDocument()
	require.NoError(t, doc.Load([]byte(`<r xmlns:q="http://p/"><s/><t/><s id="1">a<!-- b -->c</s><q:x/></r>`)))
	for i, it := range iterators {
		records, err := doc.Records(nil, it)
		require.NoError(t, err)
		require.Len(t, records, 1)
		require.Equal(t, want[i], doc.Place(records[0]))
	}
	require.Equal(t, "outside of the document", doc.Place(-1))
	require.Equal(t, "outside of the document", doc.Place(99))
}
