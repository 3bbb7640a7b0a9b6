package document_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/internal/document"
)

func TestParse_readsYAMLLikeJSON(t *testing.T) {
	for name, tc := range map[string]struct{ yaml, json string }{
		"scalars":        {"[a, 1, -2.5, true, null, ~, '1', \"x\\ty\"]", `["a",1,-2.5,true,null,null,"1","x\ty"]`},
		"yes is text":    {"[yes, no, on, off, y]", `["yes","no","on","off","y"]`},
		"integers":       {"[0x1F, 0o17, +5, 1_000, 0b11]", `[31,15,5,1000,3]`},
		"large integers": {"[123456789012345678901234567890]", `[123456789012345678901234567890]`},
		"floats":         {"[1e3, .5, 1.50]", `[1e3,0.5,1.50]`},
		"dates":          {"[2020-01-02, 2020-01-02T03:04:05Z]", `["2020-01-02","2020-01-02T03:04:05Z"]`},
		"keys":           {"200: a\ntrue: b\n1.5: c\n", `{"200":"a","true":"b","1.5":"c"}`},
		"order":          {"b: 1\na: 2\n", `{"b":1,"a":2}`},
		"aliases":        {"a: &x {b: [1]}\nc: *x\n", `{"a":{"b":[1]},"c":{"b":[1]}}`},
		"key alias":      {"a: &x b\n*x : c\n", `{"a":"b","b":"c"}`},
		"merge":          {"a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n", `{"a":{"b":1,"c":2},"d":{"c":3,"b":1}}`},
		"merges":         {"a: {<<: [{b: 1}, {b: 2, c: 3}]}\n", `{"a":{"b":1,"c":3}}`},
		"block":          {"a: |\n  x\n  y\nb: >-\n  x\n  y\n", `{"a":"x\ny\n","b":"x y"}`},
		"mark":           {"\xef\xbb\xbfa: 1", `{"a":1}`},
		"flow":           {"{a: b, }", `{"a":"b"}`},
		"surrogates":     {`{"a":"\ud83d\ude00\/"}`, `{"a":"😀/"}`},
	} {
		t.Run(name, func(t *testing.T) {
			root, _, err := document.Parse([]byte(tc.yaml), document.Limits{})
			require.NoError(t, err)
			require.Equal(t, tc.json, string(root.AppendJSON(nil)))
		})
	}
}

func TestParse_refusesYAMLWithoutJSON(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"infinity":     {"a: .inf", `line 1, "/a": ".inf" is not a number that JSON has`},
		"tag":          {"a: !python/object x", `line 1, "/a": the tag "!python/object" is not allowed`},
		"binary":       {"a: !!binary aGk=", "is not allowed"},
		"set":          {"a: !!set {b}", "is not allowed"},
		"list as key":  {"? [a]\n: b", "a key has to be a string"},
		"null as key":  {"~: b", "a key has to be a string"},
		"no anchor":    {"a: *b", "unknown anchor"},
		"merge scalar": {"a: {<<: b}", "only mappings can be merged, this is a string"},
		"trailing":     {"{} {}", "there is text after the end"},
		"unfinished":   {"{\"a\":\n1", "line 2: the document ends too early"},
		"digits":       {"a: !!int 0x" + strings.Repeat("f", 200), "the number has 202 digits"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := document.Parse([]byte(tc.text), document.Limits{})
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestParse_keepsThePlaceOfValues(t *testing.T) {
	for _, text := range []string{"a:\n- b\n- \"c/d~\":\n    e: 1\n", "{\"a\":\n[\"b\",\n{\"c/d~\":\n{\"e\": 1}}]}"} {
		root, _, err := document.Parse([]byte(text), document.Limits{})
		require.NoError(t, err)
		e, ok := root.Resolve("/a/1/c~1d~0/e")
		require.True(t, ok)
		require.Equal(t, "/a/1/c~1d~0/e", e.Pointer())
		require.Equal(t, 4, e.Line)
		require.EqualError(t, e.Errorf("no"), `line 4, "/a/1/c~1d~0/e": no`)
		for _, nowhere := range []string{"/b", "/a/2", "/a/-1", "/a/x", "/a/0/b", "a"} {
			_, ok := root.Resolve(nowhere)
			require.False(t, ok, nowhere)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("a: &x {b: [1, .5, 'x']}\nc: *x\nd: {<<: *x}\ne: |\n  f\n"))
	f.Add([]byte(`{"a":[1,-2.5e3,"x\u00e4",true,null,{}],"<<":"-","":"~"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		root, _, err := document.Parse(data, document.Limits{Bytes: 1 << 14, Values: 2000})
		if err != nil {
			return
		}
		text := root.AppendJSON(nil)
		require.True(t, json.Valid(text), "%s", text)
		for _, format := range []document.Format{document.JSON, document.YAML} {
			var written bytes.Buffer
			require.NoError(t, root.Write(&written, format))
			again, _, err := document.Parse(written.Bytes(), document.Limits{})
			require.NoError(t, err, "%s", written.String())
			require.Equal(t, string(text), string(again.AppendJSON(nil)), "%s", written.String())
		}
	})
}
