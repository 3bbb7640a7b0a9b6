package rdf_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
)

func ExampleEncoder_Err() {
	e, err := rdf.NewEncoder(rdf.RDFXML, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var out []byte
	out = e.Append(out, rdf.Quad{
		Subject: rdf.NewIRI("http://example.org/s"), Predicate: rdf.NewIRI("http://example.org/1"), Object: rdf.NewLiteral("v"),
	})
	out = e.AppendEnd(out)
	fmt.Println(len(out) > 0, e.Err())
	// Output: true write predicate <http://example.org/1> in rdfxml: it does not end in a name of XML
}

func TestEncoder_groupsStatementsInRDFXML(t *testing.T) {
	want := `<?xml version="1.0" encoding="UTF-8"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	xmlns:ex="http://example.org/">
<rdf:Description rdf:about="http://example.org/s">
	<rdf:type rdf:resource="http://example.org/T"/>
	<ex:p>a</ex:p>
	<ex:p xml:lang="en">b</ex:p>
	<ex:q rdf:datatype="http://www.w3.org/2001/XMLSchema#integer">1</ex:q>
</rdf:Description>
<rdf:Description rdf:nodeID="b">
	<ex:p rdf:resource="http://example.org/a/b"/>
	<ex:p rdf:resource="http://example.org/s"/>
	<ex:q>x&quot;\&#xA;</ex:q>
</rdf:Description>
<rdf:Description rdf:about="http://example.org/s">
	<ex:p>c</ex:p>
</rdf:Description>
</rdf:RDF>
`
	opts := &rdf.EncoderOptions{Prefixes: []rdf.Prefix{{Name: "ex", IRI: ex}}}
	require.Equal(t, want, encode(t, rdf.RDFXML, opts, mixed))
}

func TestEncoder_declaresRDFXMLNamespacesWhereTheyAreUsed(t *testing.T) {
	const statements = `<s:s> <http://example.org/?a&b#p> "v" .
<s:s> <http://example.org/q> <s:o> .
`
	want := `<rdf:Description rdf:about="s:s">
	<p xmlns="http://example.org/?a&amp;b#">v</p>
	<q xmlns="http://example.org/" rdf:resource="s:o"/>
</rdf:Description>
</rdf:RDF>
`
	out := encode(t, rdf.RDFXML, nil, statements)
	require.Equal(t, want, out[strings.Index(out, "<rdf:Desc"):])
}

func TestEncoder_splitsPredicatesInRDFXML(t *testing.T) {
	for iri, want := range map[string]string{
		"http://e/p":                           "http://e/ p",
		"http://e/a.b-c_1":                     "http://e/ a.b-c_1",
		"http://e/1a":                          "http://e/1 a",
		"http://e/-.a":                         "http://e/-. a",
		"http://e/größe":                       "http://e/ größe",
		"http://e/\u0300\u0301x":               "http://e/\u0300\u0301 x",
		"http://e/\U00010000":                  "http://e/ \U00010000",
		"urn:a:b":                              "urn:a: b",
		"p:p":                                  "p: p",
		"http://e/a%20b":                       "http://e/a%20 b",
		rdfNS + "_1":                           rdfNS + " _1",
		rdfNS + "value":                        rdfNS + " value",
		"http://www.w3.org/2000/xmlns/pre":     "http://www.w3.org/2000/xmlns/p re",
		"http://www.w3.org/XML/1998/namespace": "http://www.w3.org/XML/1998/ namespace",
		"http://e/":                            "",
		"http://e/1":                           "",
		"http://e/a%20":                        "",
		"http://e/a\u037E":                     "",
		"http://e/\uFFFEa":                     "",
		"http://www.w3.org/2000/xmlns/p":       "",
		rdfNS:                                  "",
		rdfNS + "li":                           "",
		rdfNS + "Description":                  "",
		rdfNS + "about":                        "",
		rdfNS + "bagID":                        "",
	} {
		e, err := rdf.NewEncoder(rdf.RDFXML, nil)
		require.NoError(t, err)
		q := rdf.Quad{Subject: rdf.NewBlank("s"), Predicate: rdf.NewIRI(iri), Object: rdf.NewLiteral("")}
		require.Equal(t, want != "", hasXMLForm(q), iri)
		for range 2 { // the second time from the cache
			out := e.Append(nil, q)
			if want == "" {
				require.Empty(t, out, iri)
				require.ErrorContains(t, e.Err(), "write predicate <"+iri+"> in rdfxml: ")
				e.Reset()
				continue
			}
			namespace, local, _ := strings.Cut(want, " ")
			name := "<" + local + ` xmlns="` + namespace + `">`
			if namespace == rdfNS {
				name = "<rdf:" + local + ">"
			}
			require.Contains(t, string(out), name)
			require.Equal(t, []rdf.Quad{q}, readXML(t, e.AppendEnd(out)))
		}
	}
}

func TestEncoder_dropsStatementsThatRDFXMLCannotExpress(t *testing.T) {
	s, p, o := rdf.NewIRI("s:s"), rdf.NewIRI("p:p"), rdf.NewIRI("o:o")
	good := rdf.Quad{Subject: s, Predicate: p, Object: o}
	for _, c := range []struct {
		quad rdf.Quad
		want string
	}{
		{
			rdf.Quad{Subject: s, Predicate: rdf.NewIRI("p:1"), Object: o},
			`write predicate <p:1> in rdfxml: it does not end in a name of XML`,
		},
		{
			rdf.Quad{Subject: s, Predicate: rdf.NewIRI(rdfNS + "li"), Object: o},
			`write predicate <` + rdfNS + `li> in rdfxml: the name is part of the syntax`,
		},
		{
			rdf.Quad{Subject: s, Predicate: p, Object: rdf.NewLiteral("a\x00")},
			`write object "a\u0000" in rdfxml: XML excludes a character of it`,
		},
		{
			rdf.Quad{Subject: s, Predicate: p, Object: rdf.NewLang("\uFFFE", "en")},
			`write object "\uFFFE"@en in rdfxml: XML excludes a character of it`,
		},
		{
			rdf.Quad{Subject: s, Predicate: p, Object: rdf.NewTyped("", "d:\uFFFF")},
			"write object \"\"^^<d:\uFFFF> in rdfxml: XML excludes a character of it",
		},
		{
			rdf.Quad{Subject: rdf.NewIRI("s:\uFFFF"), Predicate: p, Object: o},
			"write subject <s:\uFFFF> in rdfxml: XML excludes a character of it",
		},
		{
			rdf.Quad{Subject: rdf.NewBlank("a b"), Predicate: p, Object: o},
			`write subject _:a b in rdfxml: XML excludes a character of it`,
		},
		{rdf.Quad{Predicate: p, Object: o}, `write subject  in rdfxml: no such term`},
		{rdf.Quad{Subject: s, Object: o}, `write predicate  in rdfxml: no such term`},
		{rdf.Quad{Subject: s, Predicate: p}, `write object  in rdfxml: no such term`},
	} {
		e, err := rdf.NewEncoder(rdf.RDFXML, nil)
		require.NoError(t, err)
		require.Empty(t, e.Append(nil, c.quad))
		require.EqualError(t, e.Err(), c.want)
		out := e.Append(nil, good)
		require.Equal(t, out, e.Append(out, c.quad))
		other := good
		other.Subject = rdf.NewIRI("s:other")
		out = e.Append(out, other)
		out = e.AppendEnd(e.Append(out, good))
		require.Equal(t, []rdf.Quad{good, other, good}, readXML(t, out), "the others are written")
		require.EqualError(t, e.Err(), c.want, "the first one is kept until the next document")
		e.AppendEnd(nil)
		require.NoError(t, e.Err())
		e.Append(nil, c.quad)
		e.Reset()
		require.NoError(t, e.Err())
	}
}

func TestEncoder_keepsEveryCharacterInRDFXML(t *testing.T) {
	e, err := rdf.NewEncoder(rdf.RDFXML, nil)
	require.NoError(t, err)
	var out []byte
	var want []rdf.Quad
	for _, span := range [][2]rune{
		{0, 0x3000},
		{0xD7F0, 0xD800},
		{0xE000, 0xE010},
		{0xFFF0, 0x10010},
		{0x10FFF0, 0x110000},
	} {
		for c := span[0]; c < span[1]; c++ {
			q := rdf.Quad{
				Subject:   rdf.NewIRI("s:&'"),
				Predicate: rdf.NewIRI("p:p"),
				Object:    rdf.NewLiteral(" a" + string(c) + "]]>\r\n\t"),
			}
			before := len(out)
			out = e.Append(out, q)
			excluded := (c < ' ' && !strings.ContainsRune("\t\n\r", c)) || c == 0xFFFE || c == 0xFFFF
			if excluded != (before == len(out)) {
				require.Fail(t, "left out or not", "%U", c)
			}
			if !excluded {
				want = append(want, q)
			}
		}
	}
	got := readXML(t, e.AppendEnd(out))
	require.Len(t, got, len(want))
	for i := range want {
		if got[i] != want[i] {
			require.Equal(t, want[i], got[i])
		}
	}
}

func TestEncoder_relabelsBlankNodesOneToOneInRDFXML(t *testing.T) {
	e, err := rdf.NewEncoder(rdf.RDFXML, nil)
	require.NoError(t, err)
	want := map[string]string{
		"b": "b", "_": "_", "1": "_.1", "_1": "_1", "_.1": "_._.1", "_._.1": "_._._.1", "9.a": "_.9.a",
		"größe": "größe",
	}
	for label, want := range want {
		q := rdf.Quad{Subject: rdf.NewBlank(label), Predicate: rdf.NewIRI("p:p"), Object: rdf.NewBlank(label)}
		q.Subject.Value, q.Object.Value = label, label
		got := readXML(t, e.AppendEnd(e.Append(nil, q)))
		require.Equal(t, rdf.NewBlank(want), got[0].Subject)
		require.Equal(t, rdf.NewBlank(want), got[0].Object)
	}
}

// hasXMLForm tells by regular expressions whether RDF/XML can express a
// statement whose terms are valid.
func hasXMLForm(q rdf.Quad) bool {
	for _, t := range []rdf.Term{q.Subject, q.Predicate, q.Object} {
		if excluded.MatchString(t.Value + t.Datatype) {
			return false
		}
	}
	if local, ok := strings.CutPrefix(q.Predicate.Value, rdfNS); ok && syntaxNames.MatchString(local) {
		return false
	}
	parts := splittable.FindStringSubmatch(q.Predicate.Value)
	return parts != nil &&
		(parts[1] != "http://www.w3.org/2000/xmlns/" || (len([]rune(parts[2])) > 1 && ncName.MatchString(parts[2][1:])))
}

var (
	excluded    = regexp.MustCompile(`[^\x09\x0A\x0D\x20-\x{D7FF}\x{E000}-\x{FFFD}\x{10000}-\x{10FFFF}]`)
	syntaxNames = regexp.MustCompile(`^(RDF|ID|about|parseType|resource|nodeID|datatype|Description|li|aboutEach|aboutEachPrefix|bagID)$`)
	splittable  = regexp.MustCompile(`(?s)^(.+?)([` + nameStartChars + `][` + nameChars + `]*)$`)
)
