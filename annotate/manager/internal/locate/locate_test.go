package locate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/manager/internal/locate"
)

func TestFind_returnsWhatThePlaceNames(t *testing.T) {
	for _, test := range []struct{ format, message, place, want string }{
		{"JSON", ` {"a": [1, {"b/c": "x~y"}], "d": 2}`, "", `{"a": [1, {"b/c": "x~y"}], "d": 2}`},
		{"JSON", `{"a": [1, {"b/c": "x~y"}], "d": 2}`, "/a/1/b~1c", `"x~y"`},
		{"JSON", `{"a": [1, {"b/c": "x~y"}], "d": 2}`, "/d", `2`},
		{"JSON", `[[], [3 , 4]]`, "/1/1", `4`},
		{"JSON", "{\n\"a\": x\n}", "line 2 column 6", "x"},
		{"JSON", "{\n\"a\":", "line 2 column 5", ":"},
		{"CSV", "id,v\n1,\"a\nb\"\n2,c\n", "row 1 (line 2)", "1,\"a\nb\""},
		{"CSV", "id,v\r\n1,a\r\n2,c", "row 2 (line 3)", "2,c"},
		{"XML", `<r><s id="1"/><s id="2"><t>x</t></s><s/></r>`, "/r[1]/s[2]", `<s id="2"><t>x</t></s>`},
		{"XML", `<r><s id="1"/><s id="2"><t>x</t></s></r>`, "/r[1]/s[1]/@id", `<s id="1"/>`},
		{"XML", `<p:r xmlns:p="urn:p"><p:s>x</p:s></p:r>`, "/p:r[1]/p:s[1]/text()[1]", `<p:s>x</p:s>`},
	} {
		span, ok := locate.Find([]byte(test.message), test.format, test.place)
		require.True(t, ok, "%s in %s", test.place, test.message)
		require.Equal(t, test.want, test.message[span.Start:span.End], test.place)
	}
}

func TestFind_findsNothingThatIsNotThere(t *testing.T) {
	for _, test := range []struct{ format, message, place string }{
		{"JSON", `{"a": [1]}`, "/a/1"}, {"JSON", `{"a": [1]}`, "/a/-"}, {"JSON", `{"a": 1}`, "/a/b"}, {"JSON", `{"a"`, "/a"},
		{"JSON", `x`, ""}, {"JSON", "{}", "line 7 column 1"}, {"JSON", "{}", "line 1 column 9"}, {"JSON", "{}", "line 0 column 0"},
		{"CSV", "a", "row 4 (line 9)"}, {"CSV", "a", "row 4 of the view"}, {"XML", "<r><s/></r>", "/r[1]/s[2]"}, {"XML", "<r>", "/"},
		{"XML", "<r><a/><r><a/></r></r>", "/r[1]/a[2]"}, {"", "", "somewhere"},
	} {
		_, ok := locate.Find([]byte(test.message), test.format, test.place)
		require.False(t, ok, "%s in %s", test.place, test.message)
	}
}

// FuzzFind checks that what is found is a part of the message.
func FuzzFind(f *testing.F) {
	f.Add([]byte(`{"a": [1, 2]}`), "JSON", "/a/1")
	f.Add([]byte("a\n\"b\n"), "CSV", "row 1 (line 2)")
	f.Add([]byte("<r><s/></r>"), "XML", "/r[1]/s[1]")
	f.Add([]byte("x\ny"), "JSON", "line 2 column 1")
	f.Fuzz(func(t *testing.T, message []byte, format, at string) {
		if span, ok := locate.Find(message, format, at); ok {
			require.True(t, 0 <= span.Start && span.Start <= span.End && span.End <= len(message), "%v of %d", span, len(message))
		}
	})
}
