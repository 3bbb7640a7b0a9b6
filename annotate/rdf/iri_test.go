package rdf_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
)

func ExampleValidIRI() {
	fmt.Println(rdf.ValidIRI([]byte("http://example.org/a b")))
	// Output: 20 false
}

func TestValidIRI_returnsTheFirstBadByte(t *testing.T) {
	for _, c := range []struct {
		iri string
		at  int
		ok  bool
	}{
		{"http://example.org/", 19, true},
		{"urn:x", 5, true},
		{"x+1.2-3:", 8, true},
		{"http://example.org/ü", 21, true},
		{"", 0, false},
		{"/path", 0, false},
		{"1x:y", 0, false},
		{"ht tp:x", 2, false},
		{"http", 4, false},
		{"a:\x00", 2, false},
		{"a:\u007f", 3, true},
		{"a:<", 2, false},
		{"a:x>", 3, false},
		{"a:x\"", 3, false},
		{"a:{", 2, false},
		{"a:}", 2, false},
		{"a:|", 2, false},
		{"a:^", 2, false},
		{"a:`", 2, false},
		{"a:\\", 2, false},
		{"a:é\xffé ", 4, false},
		{"a:é é", 4, false},
		{"a:é\xff", 4, false},
	} {
		at, ok := rdf.ValidIRI([]byte(c.iri))
		require.Equal(t, c.ok, ok, "%q", c.iri)
		require.Equal(t, c.at, at, "%q", c.iri)
	}
}

func TestValidReference_acceptsRelativeIRIs(t *testing.T) {
	for _, ref := range []string{"", "a/b", "//h/p", "#f", "?q", "http://x/"} {
		_, ok := rdf.ValidReference([]byte(ref))
		require.True(t, ok, ref)
	}
	at, ok := rdf.ValidReference([]byte("a/b c"))
	require.False(t, ok)
	require.Equal(t, 3, at)
}

func TestValidLabel_followsTheGrammar(t *testing.T) {
	for _, label := range []string{"a", "1", "_", "a.b", "a-b", "ü", "a·", "x9_"} {
		require.True(t, rdf.ValidLabel([]byte(label)), label)
	}
	for _, label := range []string{"", "-a", ".a", "a.", "a b", "a:b", "·a", "a\xff", "a\n"} {
		require.False(t, rdf.ValidLabel([]byte(label)), "%q", label)
	}
}

func ExampleResolve() {
	fmt.Println(rdf.Resolve("http://example.org/a/b", "../c#d"))
	// Output: http://example.org/c#d
}

// The references of RFC 3986 sections 5.4.1 and 5.4.2, with their results.
func TestResolve_agreesWithRFC3986(t *testing.T) {
	const base = "http://a/b/c/d;p?q"
	for ref, want := range map[string]string{
		"g:h": "g:h", "g": "http://a/b/c/g", "./g": "http://a/b/c/g", "g/": "http://a/b/c/g/", "/g": "http://a/g",
		"//g": "http://g", "?y": "http://a/b/c/d;p?y", "g?y": "http://a/b/c/g?y", "#s": "http://a/b/c/d;p?q#s",
		"g#s": "http://a/b/c/g#s", "g?y#s": "http://a/b/c/g?y#s", ";x": "http://a/b/c/;x", "g;x": "http://a/b/c/g;x",
		"g;x?y#s": "http://a/b/c/g;x?y#s", "": "http://a/b/c/d;p?q", ".": "http://a/b/c/", "./": "http://a/b/c/",
		"..": "http://a/b/", "../": "http://a/b/", "../g": "http://a/b/g", "../..": "http://a/", "../../": "http://a/",
		"../../g": "http://a/g", "../../../g": "http://a/g", "../../../../g": "http://a/g", "/./g": "http://a/g",
		"/../g": "http://a/g", "g.": "http://a/b/c/g.", ".g": "http://a/b/c/.g", "g..": "http://a/b/c/g..",
		"..g": "http://a/b/c/..g", "./../g": "http://a/b/g", "./g/.": "http://a/b/c/g/", "g/./h": "http://a/b/c/g/h",
		"g/../h": "http://a/b/c/h", "g;x=1/./y": "http://a/b/c/g;x=1/y", "g;x=1/../y": "http://a/b/c/y",
		"g?y/./x": "http://a/b/c/g?y/./x", "g?y/../x": "http://a/b/c/g?y/../x", "g#s/./x": "http://a/b/c/g#s/./x",
		"g#s/../x": "http://a/b/c/g#s/../x", "http:g": "http:g",
	} {
		require.Equal(t, want, rdf.Resolve(base, ref), ref)
	}
	require.Equal(t, "http://a/g", rdf.Resolve("http://a", "g"))
	require.Equal(t, "http://a?x", rdf.Resolve("http://a#f", "?x"))
	require.Equal(t, "file:///x/y", rdf.Resolve("file:///x/z", "y"))
	require.Equal(t, "http://x/a/../b", rdf.Resolve("http://h/", "http://x/a/../b"),
		"absolute references stay as they are")
}

func ExampleValidLangTag() {
	fmt.Println(rdf.ValidLangTag([]byte("de-AT")), rdf.ValidLangTag([]byte("german")))
	// Output: true false
}

func TestValidLangTag_followsBCP47(t *testing.T) {
	for _, tag := range []string{
		"de", "fr", "gsw", "i-enochian", "zh-Hant", "sr-Latn-RS", "zh-cmn-Hans-CN", "cmn-Hans-CN", "zh-yue-HK", "sl-rozaj",
		"sl-rozaj-biske-1994", "de-CH-1901", "hy-Latn-IT-arevela", "es-419", "de-CH-x-phonebk", "az-Arab-x-AZE-derbend",
		"x-whatever", "qaa-Qaaa-QM-x-southern", "en-US-u-islamcal", "zh-CN-a-myext-x-private", "en-a-myext-b-another",
		"en-GB-oed", "sgn-BE-FR", "art-lojban", "zh-min-nan", "zh-min", "EN-us", "X-a", "i-default", "no-bok",
	} {
		require.True(t, rdf.ValidLangTag([]byte(tag)), tag)
	}
	for _, tag := range []string{
		"", "e", "english", "spanish", "engl", "a-DE", "de-419-DE", "en-", "-en", "en--US", "en_US", "en-x", "x", "x-", "en-a",
		"en-a-b", "de-DE-DE", "ar-a-aaa-b", "en-toolongsubtag", "12", "i-unknown", "en-US-", "x-123456789", "én", "en US",
		"zh-min-nan-abc-def", "en-1a",
	} {
		require.False(t, rdf.ValidLangTag([]byte(tag)), tag)
	}
}
