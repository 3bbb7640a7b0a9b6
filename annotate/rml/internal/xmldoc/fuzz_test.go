package xmldoc_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/xmldoc"
)

// seeds are documents to begin from.
var seeds = []string{
	"<a/>", library, groups, message,
	"\xEF\xBB\xBF<?xml version='1.0' encoding='UTF-8' standalone='no'?>\r\n<a " +
		"b='\t&#9;&lt;'>x\r\ny<![CDATA[<]]>&#x41;]]&gt;</a><!-- - -->",
	"<p:a xmlns:p='u' xmlns='v' p:b='' b=''><c xmlns=''/></p:a>",
	"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
	"<a><b></a></b>", "<ä ö='ü'>żółw</ä>", "<a xmlns:p='x' xmlns:q='x' p:b='' q:b=''/>",
}

// literalReturn finds character references to a carriage return, which the
// comparison below could not tell from line ends.
var literalReturn = regexp.MustCompile(`&#(0*13|x0*[dD]);`)

// FuzzLoad loads arbitrary bytes: nothing may panic, an error has a place
// within the input, and what is accepted encoding/xml accepts as well, with
// the same text.
func FuzzLoad(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := xmldoc.New(nil, input.Limits{})
		all, err := c.CompileIterator("//node() | //@*")
		require.NoError(t, err)
		doc := c.NewDocument()
		if err := doc.Load(data); err != nil {
			var syntax *input.SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.LessOrEqual(t, syntax.Offset, len(data))
			return
		}
		nodes, err := doc.Records(nil, all)
		require.NoError(t, err)
		first := doc.(*xmldoc.Document).Text()
		require.NoError(t, doc.Load(data))
		require.Equal(t, first, doc.(*xmldoc.Document).Text())
		again, err := doc.Records(nil, all)
		require.NoError(t, err)
		require.Equal(t, nodes, again)
		for _, n := range nodes[:min(len(nodes), 50)] {
			require.True(t, strings.HasPrefix(doc.Place(n), "/"))
		}
		want, err := decodedText(data)
		if err != nil {
			// Its own decoder refuses versions after 1.0 and some names.
			require.Regexp(t, "unsupported version|invalid (XML )?name|attribute name|expected (element|attribute)", err.Error())
			return
		}
		if !literalReturn.Match(data) {
			got := doc.(*xmldoc.Document).Text()
			require.Equal(t, spaced(want), spaced(got))
		}
	})
}

// spaced replaces line ends, which encoding/xml keeps in attributes, by spaces.
func spaced(s string) string {
	return strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(s)
}

// FuzzPath evaluates arbitrary expressions: nothing may panic, and a path that
// is evaluated step by step selects what its syntax tree selects.
func FuzzPath(f *testing.F) {
	for expr := range expressions {
		f.Add(expr, uint8(0))
	}
	for expr := range groupValues {
		f.Add(expr, uint8(1))
	}
	for _, expr := range []string{
		"lower-case(a)", "string-join(//a, ',')", "matches(a,'(')", "a[", "$x", "q:a", "replace(.,'a*','$1')",
	} {
		f.Add(expr, uint8(2))
	}
	documents := []string{library, groups, message}
	f.Fuzz(func(t *testing.T, expr string, which uint8) {
		c := xmldoc.New(spaces, input.Limits{})
		path, err := c.CompileReference(expr)
		if err != nil {
			return
		}
		var tree input.Path
		if xmldoc.Plain(path) {
			tree, err = c.CompileReference("(" + expr + ")")
			require.NoError(t, err)
			require.False(t, xmldoc.Plain(tree))
		}
		doc := c.NewDocument()
		require.NoError(t, doc.Load([]byte(documents[int(which)%len(documents)])))
		for record := range input.Node(12) {
			got, err := doc.Values(nil, record, path)
			if err != nil {
				require.ErrorContains(t, err, "evaluate")
				return
			}
			if tree != nil {
				want, err := doc.Values(nil, record, tree)
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
		}
	})
}
