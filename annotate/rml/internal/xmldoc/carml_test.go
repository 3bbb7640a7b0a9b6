package xmldoc_test

import (
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/xmldoc"
)

// carmlValues returns the values of an expression at the root, in the dialect of CARML.
func carmlValues(t *testing.T, data []byte, expr string) ([]string, error) {
	t.Helper()
	c := xmldoc.New(nil, input.Limits{})
	c.ReadAsCARML()
	reference, err := c.CompileReference(expr)
	if err != nil {
		return nil, err
	}
	doc := c.NewDocument()
	if err := doc.Load(data); err != nil {
		return nil, err
	}
	values, err := doc.Values(nil, 0, reference)
	var texts []string
	for _, v := range values {
		texts = append(texts, string(v.Text))
	}
	return texts, err
}

func TestCompiler_ReadAsCARML_evaluatesXPath3(t *testing.T) {
	data := []byte("<r><n>a</n><e/><n>b</n><x k=''>5</x></r>")
	for expr, want := range map[string][]string{
		"r/n":                                {"a", "b"},
		"r/e":                                nil,
		"r/x/@k":                             nil,
		"r/*":                                {"a", "b", "5"},
		"upper-case(r/n[1])":                 {"A"},
		"''":                                 nil,
		"for $n in r/n return $n || '!'":     {"a!", "b!"},
		"if (exists(r/e)) then 'y' else 'n'": {"y"},
		"concat(count(r/n), '-', r/x * 2)":   {"2-10"},
		"string-join(reverse(r/n), translate('x', 'x', ','))": {"b,a"},
		"r/*:x":         {"5"},
		"(r/n, r/x)[2]": {"b"},
	} {
		got, err := carmlValues(t, data, expr)
		require.NoError(t, err, expr)
		require.Equal(t, want, got, expr)
	}
	for _, expr := range []string{"p:n", "r/n[", "unknown(r)", "$x", "matches(r, '(a)\\1')", "doc('x')"} {
		_, err := carmlValues(t, data, expr)
		require.ErrorContains(t, err, "compile reference", expr)
	}
}

func TestCompiler_ReadAsCARML_refusesRecordsThatAreNoNodes(t *testing.T) {
	c := xmldoc.New(nil, input.Limits{})
	c.ReadAsCARML()
	_, err := c.CompileIterator("1 to 3")
	require.ErrorContains(t, err, "it selects no nodes")
	iterator, err := c.CompileIterator("(/r/n, /r/n/string())")
	require.NoError(t, err)
	doc := c.NewDocument()
	require.NoError(t, doc.Load([]byte("<r><n>a</n></r>")))
	_, err = doc.Records(nil, iterator)
	require.ErrorContains(t, err, `it selects the value "a", expected nodes`)
}

func TestDocument_Load_readsOtherEncodingsAsCARML(t *testing.T) {
	wide := func(text string, big bool) []byte {
		var out []byte
		for _, u := range utf16.Encode([]rune(text)) {
			if big {
				out = append(out, byte(u>>8), byte(u))
			} else {
				out = append(out, byte(u), byte(u>>8))
			}
		}
		return out
	}
	for name, data := range map[string][]byte{
		"é": []byte("<?xml version='1.0' encoding='ISO-8859-1'?><r>\xE9</r>"),
		"€": []byte("<?xml version=\"1.0\" encoding=\"Windows-1252\"?><r>\x80</r>"),
		"ł": []byte("<?xml version=\"1.0\" encoding=\"iso-8859-2\"?><r>\xB3</r>"),
		"ó": wide("\uFEFF<?xml version='1.0' encoding='UTF-16'?><r>ó</r>", false),
		"𝄞": wide("\uFEFF<r>𝄞</r>", true),
		"ü": wide("<?xml version='1.0' encoding='UTF-16LE'?><r>ü</r>", false),
		"ž": []byte("\xEF\xBB\xBF<?xml version='1.0' encoding='utf-8'?><r>ž</r>"),
	} {
		got, err := carmlValues(t, data, "r")
		require.NoError(t, err, name)
		require.Equal(t, []string{name}, got)
	}
	for want, data := range map[string][]byte{
		`the encoding is "EBCDIC-US", expected one of`: []byte("<?xml version='1.0' encoding='EBCDIC-US'?><r/>"),
		"odd number of bytes":                          append(wide("\uFEFF<r/>", true), 0),
		"half a surrogate pair":                        append(wide("\uFEFF<r>", true), 0xD8, 0, 0, '<'),
		"begins no character of XML in UTF-8":          []byte("<r>\xE9</r>"),
	} {
		_, err := carmlValues(t, data, "r")
		require.ErrorContains(t, err, want)
	}
}

func TestDocument_Load_skipsADoctypeWithoutEntitiesAsCARML(t *testing.T) {
	for _, doctype := range []string{
		"<!DOCTYPE r>", "<!DOCTYPE r [ <!ELEMENT r (#PCDATA)> <!-- ]> --> <?a ]?> <!ATTLIST r k CDATA #IMPLIED> ] >",
	} {
		got, err := carmlValues(t, []byte("<?xml version='1.0'?>"+doctype+"<r>a</r>"), "r")
		require.NoError(t, err, doctype)
		require.Equal(t, []string{"a"}, got)
	}
	for doctype, want := range map[string]string{
		"<!DOCTYPE r [<!ENTITY a 'b'>]>":          "declares an entity",
		"<!DOCTYPE r [%a;]>":                      "parameter entity",
		"<!DOCTYPE r SYSTEM 'http://e.org/'>":     "nothing is fetched",
		"<!DOCTYPE r PUBLIC 'a' 'b'>":             "nothing is fetched",
		"<!DOCTYPE r [<!ATTLIST r k CDATA 'x'>]>": "gives an attribute a default",
		"<!DOCTYPE r [":                           "expected a declaration",
		"<!DOCTYPE r><!DOCTYPE r>":                "must occur once",
		"<!DOCTYPEr>":                             "expected white space",
	} {
		_, err := carmlValues(t, []byte(doctype+"<r>a</r>"), "r")
		require.ErrorContains(t, err, want, doctype)
	}
}

// FuzzDocument_Load_asCARML loads arbitrary bytes in the dialect of CARML: nothing may panic, and an
// error has a place.
func FuzzDocument_Load_asCARML(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Add([]byte("<?xml version='1.0' encoding='ISO-8859-1'?><!DOCTYPE a [<!ELEMENT a ANY>]><a>\xE9</a>"))
	f.Add([]byte("\xFE\xFF\x00<\x00a\x00/\x00>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := xmldoc.New(nil, input.Limits{})
		c.ReadAsCARML()
		all, err := c.CompileReference("count(//node()) || name(/*)")
		require.NoError(t, err)
		doc := c.NewDocument()
		if err := doc.Load(data); err != nil {
			var syntax *input.SyntaxError
			require.ErrorAs(t, err, &syntax)
			return
		}
		values, err := doc.Values(nil, 0, all)
		require.NoError(t, err)
		require.Len(t, values, 1)
	})
}
