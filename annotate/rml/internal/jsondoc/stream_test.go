package jsondoc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/jsondoc"
)

// found is what is selected from a text, in some order, and the error.
type found struct {
	records []string
	err     error
}

// describe appends the records of each iterator: their text, place and one value.
func describe(t *testing.T, dst []string, d *jsondoc.Document, iterators []input.Path, spread []bool, reference input.Path) []string {
	for i, iterator := range iterators {
		nodes, err := d.Records(nil, iterator)
		require.NoError(t, err)
		if spread[i] && len(nodes) == 1 {
			if items, ok, err := d.Items(nil, nodes[0]); ok {
				require.NoError(t, err)
				nodes = items
			}
		}
		for _, n := range nodes {
			values, err := d.Values(nil, n, reference)
			require.NoError(t, err)
			text := fmt.Sprintf("%s %s %s", iterator, d.Place(n), d.Raw(n))
			for _, v := range values {
				text += fmt.Sprintf(" %d:%s", v.Kind, v.Text)
			}
			dst = append(dst, text)
		}
	}
	return dst
}

// source is a compiler with compiled iterators.
type source struct {
	compiler  *jsondoc.Compiler
	iterators []input.Path
	spread    []bool
	reference input.Path
}

func newSource(t *testing.T, exprs ...string) source {
	s := source{compiler: jsondoc.New(input.Limits{MaxDepth: 20})}
	for _, expr := range exprs {
		plain := strings.TrimSuffix(expr, " spread")
		p, err := s.compiler.CompileIterator(plain)
		require.NoError(t, err)
		s.iterators = append(s.iterators, p)
		s.spread = append(s.spread, plain != expr)
	}
	var err error
	s.reference, err = s.compiler.CompileReference("$..a")
	require.NoError(t, err)
	return s
}

func (s source) whole(t *testing.T, text string) found {
	d := s.compiler.NewDocument().(*jsondoc.Document)
	if err := d.Load([]byte(text)); err != nil {
		return found{err: err}
	}
	records := describe(t, nil, d, s.iterators, s.spread, s.reference)
	slices.Sort(records)
	return found{records: records}
}

func (s source) streamed(t *testing.T, text string, window int) found {
	d := s.compiler.NewDocument().(*jsondoc.Document)
	d.SetWindow(window)
	d.Open(iotest.OneByteReader(strings.NewReader(text)), s.iterators, s.spread, 1<<20)
	var records []string
	for {
		more, err := d.Next()
		if err != nil {
			return found{err: err}
		}
		if !more {
			slices.Sort(records)
			return found{records: records}
		}
		records = describe(t, records, d, s.iterators, s.spread, s.reference)
	}
}

// equal compares a text that is streamed with the same that is loaded whole.
func (s source) equal(t *testing.T, text string, window int) {
	t.Helper()
	whole, streamed := s.whole(t, text), s.streamed(t, text, window)
	if streamed.err != nil && strings.Contains(streamed.err.Error(), "is in this object again") {
		return // documented: a large object must not repeat a name
	}
	require.Equal(t, whole, streamed, "window %d, text %q", window, text)
}

var streamTexts = []string{
	`[{"a":1},{"a":"x\n\ud83d\ude00"} , {"b":[1,2,{"a":null}]},123, -1.5e+10,true,null,"é"]`,
	`[]`, ` {} `, `123`, `"text"`, "\xEF\xBB\xBF[1,2]\n\n ", `[[1,2],[3,[4,5]],[]]`,
	`{"meta":{"a":[1,{"x":2}]},"list":[{"a":1},{"a":2},{"a":[3,4]}],"after":{"list":[1]}}`,
	`{"list":{"x":{"a":1},"y":{"a":2}},"other":[{"list":[{"a":9}]}]}`,
	"{\"a\":[{\"b\":[{\"a\":1},\n{\"a\":2}]},{\"b\":[]},\n {\"c\":1,\"b\":[{\"a\":3}]}],\"b\":[5]}",
	`{"list":[1,2],"list":[3,4]}`, `{"a":{"b":1},"list":7}`, `{"\u006cist":[1,2,3]}`,
	`[1,2`, `[1,]`, `[1,2]]`, `{"list":[1,2}`, `{"list":[1,2],}`,
	"[1,\n\n 2,\n x]", `[1 2]`, `{"list":[{"a":01}]}`,
	`{"list" [1]}`, `["\ud83d"]`, `["` + "\x01" + `"]`,
	`[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]`, ``, ` `, `[1]x`, "[1,2]\n\n  }",
	`[]⛚`, "[1]\n ⛚ and more", `{}é`, "[]\xE2\x9B", "[]😀", "[]\xF0x",
	"{\"list\":[\"\xff\"]}", `{1:2}`, `{"list":[1],2:3}`, `[tru]`, `[1,nulx]`, `nul`, `{"list":[1,2],"z":9`,
}

var streamIterators = [][]string{
	{"$[*]"}, {"$.*"}, {"$ spread"}, {"$.list[*]"}, {"$.list spread"}, {"$.a[*].b[*]"}, {"$..a"}, {"$..*"}, {"$.list"},
	{"$.list[?@.a > 1]"}, {"$.a[?@.c].b[*]"}, {"$['a','list'][*]"}, {"$..b[*]"}, {"$.list[*]", "$.a[*]", "$.meta"},
	{"$.list spread", "$..a", "$.other[*].list[*]"},
}

func TestDocument_Next_givesTheRecordsOfTheWholeAtEveryWindow(t *testing.T) {
	for _, exprs := range streamIterators {
		s := newSource(t, exprs...)
		require.Empty(t, s.compiler.Streams(s.iterators, s.spread))
		for _, text := range streamTexts {
			for window := 1; window <= len(text)+2; window++ {
				s.equal(t, text, window)
			}
		}
	}
}

func TestDocument_Next_refusesANameThatALargeObjectRepeats(t *testing.T) {
	s := newSource(t, "$.list[*]")
	text := `{"list":[1,2,3,4,5,6,7,8,9],` + "\n" + ` "x":0, "list":[1,2,3]}`
	got := s.streamed(t, text, 16)
	require.ErrorContains(t, got.err, `JSON line 2 column 9: the member name "list" is in this object again`)
	s.equal(t, text, 4096)
}

func TestDocument_Next_refusesARecordBeyondTheLimit(t *testing.T) {
	s := newSource(t, "$[*]")
	d := s.compiler.NewDocument().(*jsondoc.Document)
	d.Open(strings.NewReader("[1,\n \""+strings.Repeat("x", 1<<20)), s.iterators, s.spread, 1<<18)
	_, err := d.Next()
	require.NoError(t, err)
	_, err = d.Next()
	require.ErrorContains(t, err, "JSON line 2 column 2: a value of more than 262144 bytes")
}

func TestCompiler_Streams_saysWhyNot(t *testing.T) {
	for expr, reason := range map[string]string{
		"$":                       "the iterator $ selects the whole document",
		"$[0][*]":                 "the iterator $[0][*] counts the elements of an array",
		"$.a[1:3]":                "the iterator $.a[1:3] counts the elements of an array",
		"$.a[?@.x == $.y]":        "the iterator $.a[?@.x == $.y] compares records with other parts of the document",
		"$.a[?count($..x) > 1].b": "the iterator $.a[?count($..x) > 1].b compares records with other parts of the document",
	} {
		s := newSource(t, expr)
		require.Equal(t, reason, s.compiler.Streams(s.iterators, s.spread))
	}
}

func FuzzDocument_Next_equalsTheWhole(f *testing.F) {
	for i, text := range streamTexts {
		f.Add(text, uint8(i), uint16(7*i))
	}
	f.Fuzz(func(t *testing.T, text string, nth uint8, window uint16) {
		if len(text) > 1<<12 {
			return
		}
		newSource(t, streamIterators[int(nth)%len(streamIterators)]...).equal(t, text, 1+int(window)%1024)
	})
}
