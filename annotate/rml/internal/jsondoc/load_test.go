package jsondoc_test

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// accepted are texts on the edge of the grammar that it allows.
var accepted = []string{
	`null`, ` true `, "\t\r\n false\n", `0`, `-0`, `-0.0e-0`, `1E+2`, `123456789012345678901234567890.5e999999`,
	`""`, `"a"`, `"\"\\\/\b\f\n\r\t\u0000\uFFFF\uabCD"`, `"\ud83d\uDE00"`, "\"\u007f\u0080\u2028\U0010FFFF\"",
	`[]`, `[ ]`, `{}`, "{\n}", `[[],{},[{}]]`, `{"":0}`, `{"a":1,"a":2}`, `{"\u0061":1}`, `[1 , 2]`, `{ "a" : 1 , ` +
		`"b" : 2 }`,
	"\xef\xbb\xbf{}", `"1234567"`, `"12345678"`, `"1234567890123456"`, `"1234567\n"`, `[1.5,true,null,"x"]`,
}

// rejected are texts just beyond it.
var rejected = []string{
	``, ` `, "\xef\xbb\xbf", "\xef\xbb", `nul`, `nulll`, `True`, `tru`, `fals `, `01`, `-01`, `+1`, `-`, `1.`, `.5`,
	`1e`, `1e+`, `1.e1`, `0x1`, `1_0`,
	`NaN`, `Infinity`, `-Infinity`, `"`, `"a`, `"\`, `"\"`, `"\x"`, `"\u12"`, `"\u12G4"`, `"\U0041"`, `'a'`,
	"\"a\nb\"", "\"\x00\"", "\"\x1f\"",
	"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"1234567\xe2\x82\"", `"\ud800"`,
	`"\udc00"`, `"\ud800\ud800"`, `"\ud800x"`, `"\ud83d\n"`,
	`[`, `]`, `[1`, `[1,`, `[1,]`, `[,1]`, `[1 2]`, `[1}`, `{`, `}`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`,
	`{,}`, `{a:1}`, `{1:1}`, `{"a" 1}`,
	`{"a"::1}`, `{"a":1 "b":2}`, `{"a":1]`, `{null:1}`, `1 2`, `{} {}`, `[]]`, `{}}`, `"a" x`, "1\x00", "\v1",
	"\u00a01", `//c`, `1//c`, `/*c*/1`, `[1,/**/2]`,
}

func TestDocument_Load_acceptsExactlyTheGrammar(t *testing.T) {
	_, doc := newDocument(input.Limits{})
	for _, text := range accepted {
		require.NoError(t, doc.Load([]byte(text)), "%q", text)
	}
	for _, text := range rejected {
		var bad *input.SyntaxError
		require.ErrorAs(t, doc.Load([]byte(text)), &bad, "%q", text)
		require.Equal(t, "JSON", bad.Format)
		require.LessOrEqual(t, bad.Offset, len(text))
		require.NotEmpty(t, bad.Reason)
	}
}

func TestDocument_Load_namesThePlaceAndWhatWasExpected(t *testing.T) {
	_, doc := newDocument(input.Limits{})
	for text, want := range map[string]input.SyntaxError{
		"": {Line: 1, Column: 1, Reason: "unexpected end of input, expected a value"},
		"{\n  \"a\": 1\n  \"b\": 2\n}": {
			Line:   3,
			Column: 3,
			Offset: 13,
			Reason: `unexpected '"', expected ',' or '}' after an object member`,
		},
		"[1,\n 2": {
			Line:   2,
			Column: 3,
			Offset: 6,
			Reason: "unexpected end of input, expected ',' or ']' after an array element",
		},
		`{"a":1,}`: {
			Line:   1,
			Column: 8,
			Offset: 7,
			Reason: "unexpected '}', expected a member name in quotes after ','",
		},
		`{a:1}`: {
			Line:   1,
			Column: 2,
			Offset: 1,
			Reason: "unexpected 'a', expected a member name in quotes or '}'",
		},
		`{"a"=1}`: {
			Line:   1,
			Column: 5,
			Offset: 4,
			Reason: "unexpected '=', expected ':' after the member name",
		},
		`{"a":01}`: {
			Line:   1,
			Column: 7,
			Offset: 6,
			Reason: "a number must not begin with 0 and another digit",
		},
		`{"a":tru}`:           {Line: 1, Column: 6, Offset: 5, Reason: "invalid literal, expected true"},
		`{} x`:                {Line: 1, Column: 4, Offset: 3, Reason: "unexpected 'x' after the value"},
		"[\"ok\",\"a\xffb\"]": {Line: 1, Column: 9, Offset: 8, Reason: "invalid UTF-8 in a string"},
		`["\ud800"]`:          {Line: 1, Column: 3, Offset: 2, Reason: "surrogate escape without its other half"},
		"\"tab\there\"": {
			Line:   1,
			Column: 5,
			Offset: 4,
			Reason: `control character '\t' in a string must be escaped`,
		},
		`<observation>21</observation>`: {Line: 1, Column: 1, Reason: "unexpected '<', expected a value"},
	} {
		want.Format = "JSON"
		require.Equal(t, &want, doc.Load([]byte(text)), "%q", text)
	}
}

func TestDocument_Load_refusesNestingBeyondTheLimit(t *testing.T) {
	nested := func(depth int) []byte {
		return []byte(strings.Repeat(`[{"a":`, depth/2) + "1" + strings.Repeat("}]", depth/2))
	}
	_, doc := newDocument(input.Limits{})
	require.NoError(t, doc.Load(nested(512)))
	require.ErrorContains(t, doc.Load(nested(514)), "nesting deeper than the limit of 512")
	require.ErrorContains(t, doc.Load(nested(10_000)), "nesting deeper than the limit of 512")
	require.ErrorContains(t, doc.Load(bytes.Repeat([]byte("["), 5_000_000)), "nesting deeper")
	_, doc = newDocument(input.Limits{MaxDepth: 1_000_000})
	require.NoError(t, doc.Load(nested(1_000_000)))
	require.Equal(t, "/0/a/0", doc.Place(3))
}

func TestDocument_Load_refusesMoreNodesThanTheLimit(t *testing.T) {
	c, doc := newDocument(input.Limits{MaxNodes: 100})
	path := compileAll(t, c, []string{"[98]"})[0]
	fits := []byte("[" + strings.Repeat("1,", 98) + "7]")
	require.NoError(t, doc.Load(fits))
	values, err := doc.Values(nil, 0, path)
	require.NoError(t, err)
	require.Equal(t, "7", string(values[0].Text))
	require.ErrorContains(t, doc.Load([]byte("["+strings.Repeat("1,", 99)+"7]")), "more values than the limit of 100")
	_, err = doc.Values(nil, 0, path)
	require.Error(t, err, "nothing is loaded after a refused text")
	require.NoError(t, doc.Load(fits))
}

func TestDocument_Load_takesMemoryInProportionToTheText(t *testing.T) {
	var text bytes.Buffer
	text.WriteByte('[')
	for i := 0; text.Len() < 20<<20; i++ {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(strings.Replace(observation, "81542", strconv.Itoa(i), 1))
	}
	text.WriteByte(']')
	c, doc := newDocument(input.Limits{})
	paths := compileAll(t, c, []string{"$[*]", "seq"})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, doc.Load(text.Bytes()))
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100<<20))
	rows, err := doc.Records(nil, paths[0])
	require.NoError(t, err)
	require.Greater(t, len(rows), 100_000)
	for i, row := range rows {
		values, err := doc.Values(nil, row, paths[1])
		require.NoError(t, err)
		require.Len(t, values, 1)
		if string(values[0].Text) != strconv.Itoa(i) {
			require.Equal(t, strconv.Itoa(i), string(values[0].Text))
		}
	}
}

func TestDocument_Load_freesLargeBuffers(t *testing.T) {
	_, doc := newDocument(input.Limits{})
	require.NoError(t, doc.Load([]byte("["+strings.Repeat("1,", 1<<20)+"1]")))
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range 70 {
		require.NoError(t, doc.Load([]byte(observation)))
	}
	require.Less(t, heap()+20<<20, before, "the tape of a million values is still held")
	runtime.KeepAlive(doc)
}

// validJSON is the other reader's opinion, with our stricter points added.
func validJSON(text []byte) bool {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if !json.Valid(text) || !utf8.Valid(text) {
		return false
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if text[i+1] != 'u' {
			i++
			continue
		}
		unit, _ := strconv.ParseUint(string(text[i+2:i+6]), 16, 16)
		i += 5
		switch {
		case unit>>10 == 0xDC00>>10:
			return false
		case unit>>10 == 0xD800>>10:
			if !bytes.HasPrefix(text[i+1:], []byte(`\u`)) {
				return false
			}
			low, _ := strconv.ParseUint(string(text[i+3:i+7]), 16, 16)
			if low>>10 != 0xDC00>>10 {
				return false
			}
			i += 6
		}
	}
	return true
}

// FuzzLoad compares what is accepted, and what is read, with encoding/json.
func FuzzLoad(f *testing.F) {
	for _, text := range append(append([]string{observation}, accepted...), rejected...) {
		f.Add([]byte(text))
	}
	_, doc := newDocument(input.Limits{MaxDepth: 10_000})
	f.Fuzz(func(t *testing.T, text []byte) {
		err := doc.Load(text)
		require.Equal(t, validJSON(text), err == nil, "%q: %v", text, err)
		if err != nil {
			return
		}
		require.NoError(t, doc.Load(text), "a second time, with the names learned")
		var want any
		decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&want))
		requireTree(t, doc, 0, want)
	})
}
