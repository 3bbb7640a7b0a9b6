package jsondoc_test

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/jsondoc"
)

func TestDocument_Values_readsKindsAndText(t *testing.T) {
	c, doc := newDocument(input.Limits{})
	require.NoError(t, doc.Load([]byte(` {"s":"a\nb\u00e9\ud83d\ude00","i":-30,"d":3.50e1,"b":true,"z":null,`+
		`"o":{"x":[1]},"a":[1,"2"],"e":""} `)))
	for expr, want := range map[string]input.Value{
		"s":      {Kind: input.String, Text: []byte("a\nbé😀")},
		"$.i":    {Kind: input.Integer, Text: []byte("-30")},
		"@.d":    {Kind: input.Double, Text: []byte("3.50e1")},
		"['b']":  {Kind: input.Boolean, Text: []byte("true")},
		"z":      {Kind: input.Null},
		"o":      {Kind: input.Object, Text: []byte(`{"x":[1]}`)},
		"a":      {Kind: input.Array, Text: []byte(`[1,"2"]`)},
		"o.x[0]": {Kind: input.Integer, Text: []byte("1")},
		"e":      {Kind: input.String, Text: []byte{}},
	} {
		p, err := c.CompileReference(expr)
		require.NoError(t, err)
		got, err := doc.Values(nil, doc.Root(), p)
		require.NoError(t, err)
		require.Len(t, got, 1, expr)
		require.Equal(t, want.Kind, got[0].Kind, expr)
		require.Equal(t, want.Text, got[0].Text, expr)
	}
}

// requireTree compares a node with what encoding/json read.
func requireTree(t *testing.T, doc *jsondoc.Document, n input.Node, want any) {
	t.Helper()
	v := doc.Value(n)
	switch want := want.(type) {
	case nil:
		require.Equal(t, input.Null, v.Kind)
	case bool:
		require.Equal(t, input.Boolean, v.Kind)
		require.Equal(t, strconv.FormatBool(want), string(v.Text))
	case json.Number:
		kind := input.Integer
		if strings.ContainsAny(string(want), ".eE") {
			kind = input.Double
		}
		require.Equal(t, kind, v.Kind)
		require.Equal(t, string(want), string(v.Text))
	case string:
		require.Equal(t, input.String, v.Kind)
		require.Equal(t, want, string(v.Text))
	case []any:
		require.Equal(t, input.Array, v.Kind)
		elements := doc.Elements(nil, n)
		require.Len(t, elements, len(want))
		for i, e := range elements {
			requireTree(t, doc, e.Node, want[i])
		}
	case map[string]any:
		require.Equal(t, input.Object, v.Kind)
		for name, member := range want {
			nodes, err := doc.Select(nil, n, nameSelector(t, name))
			require.NoError(t, err)
			require.Len(t, nodes, 1, "member %q", name)
			requireTree(t, doc, nodes[0], member)
		}
	}
}

// nameSelector is the path of a member with any name.
func nameSelector(t *testing.T, name string) *jsondoc.Path {
	t.Helper()
	text, err := json.Marshal(name)
	require.NoError(t, err)
	p, err := jsondoc.Parse("$[" + string(text) + "]")
	require.NoError(t, err)
	return p
}

func TestDocument_Values_isIndependentOfEarlierMessages(t *testing.T) {
	names := []string{
		"a", "b", "longer-name", "eightcha", "sevench", "nested", "\\u0061", "", "é",
		"a name that is longer than what is ever learned by the document of it all",
	}
	exprs := []string{
		"a", "b", "longer-name", "eightcha", "sevench", "nested", "nested.a", "nested.nested.b", "['']", "é",
		"$['a name that is longer than what is ever learned by the document of it all']", "$[?@.a=='1'].b", "$..a",
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	var object func(depth int) string
	object = func(depth int) string {
		var b strings.Builder
		b.WriteByte('{')
		for i := range rnd.IntN(6) {
			if i > 0 {
				b.WriteByte(',')
			}
			name := names[rnd.IntN(len(names))]
			b.WriteString(`"` + name + `":`)
			switch kind := rnd.IntN(8); {
			case kind == 0 && depth < 4, name == "nested" && depth < 4:
				b.WriteString(object(depth + 1))
			case kind == 1:
				b.WriteString("[1,[2],{\"a\":3}]")
			default:
				b.WriteString(strconv.Quote(strconv.Itoa(rnd.IntN(3))))
			}
		}
		b.WriteByte('}')
		return b.String()
	}
	c, used := newDocument(input.Limits{})
	paths := compileAll(t, c, exprs)
	other, _ := newDocument(input.Limits{})
	foreign := compileAll(t, other, append([]string{"shifts the numbers"}, exprs...))[1:]
	for range 2000 {
		text := []byte(object(0))
		fresh := c.NewDocument()
		require.NoError(t, used.Load(text))
		require.NoError(t, fresh.Load(text))
		for i, p := range paths {
			want, err := fresh.Values(nil, 0, p)
			require.NoError(t, err)
			got, err := used.Values(nil, 0, p)
			require.NoError(t, err)
			require.Equal(t, want, got, "%s in %s", p, text)
			got, err = used.Values(nil, 0, foreign[i])
			require.NoError(t, err)
			require.Equal(t, want, got, "path of another compiler, %s in %s", p, text)
		}
	}
}

func TestDocument_Values_returnsTheLastOfRepeatedNames(t *testing.T) {
	c, doc := newDocument(input.Limits{})
	path := compileAll(t, c, []string{"a"})[0]
	for range 3 {
		for text, want := range map[string]string{
			`{"a":1,"b":2,"a":3}`:      "3",
			`{"b":2,"a":1}`:            "1",
			`{"a":1,"\u0061":4,"b":2}`: "4",
			`{"a":1,"b":2}`:            "1",
		} {
			require.NoError(t, doc.Load([]byte(text)))
			got, err := doc.Values(nil, 0, path)
			require.NoError(t, err)
			require.Len(t, got, 1)
			require.Equal(t, want, string(got[0].Text), text)
		}
	}
}

func TestShapes_acceptNamesThatNeverRepeat(t *testing.T) {
	c, doc := newDocument(input.Limits{})
	path := compileAll(t, c, []string{"rows.k.v"})[0]
	for i := range 20_000 {
		text := []byte(`{"rows":{"` + strconv.Itoa(i) + `":1,"k":{"v":` + strconv.Itoa(i) + `}}}`)
		require.NoError(t, doc.Load(text))
		got, err := doc.Values(nil, 0, path)
		require.NoError(t, err)
		if len(got) != 1 || string(got[0].Text) != strconv.Itoa(i) {
			require.Failf(t, "wrong value", "%s: %v", text, got)
		}
	}
}

func TestDocument_Load_allocatesNothing(t *testing.T) {
	c, _ := newDocument(input.Limits{})
	paths := compileAll(t, c,
		append([]string{"escaped", "nested.list[1]", "missing", "nested.list[*]", "$..id", "$.rows[?@.id > 1].name"},
			observationNames...))
	doc := c.NewDocument()
	messages := [][]byte{
		[]byte(observation),
		[]byte(`{"escaped":"a\u00e9\n","nested":{"list":[1,2,3]},"rows":[{"id":1,"name":"x"},{"id":2,"name":"y\t"}]}`),
	}
	var values []input.Value
	run := func() {
		for _, m := range messages {
			if doc.Load(m) != nil {
				t.Error("not loaded")
			}
			values = values[:0]
			for _, p := range paths {
				values, _ = doc.Values(values, 0, p)
			}
		}
	}
	run()
	require.Zero(t, testing.AllocsPerRun(100, run))
	require.Len(t, values, 8)
}

func TestDocument_Place_locatesEveryNode(t *testing.T) {
	_, doc := newDocument(input.Limits{})
	require.NoError(t, doc.Load([]byte(`{"rows":[{"a/b~c":1},[2,{"it's\\\u0001":3}]],"":null}`)))
	for n, want := range [][2]string{
		{"", "$"},
		{"/rows", "$['rows']"},
		{"/rows/0", "$['rows'][0]"},
		{"/rows/0/a~1b~0c", "$['rows'][0]['a/b~c']"},
		{"/rows/1", "$['rows'][1]"},
		{"/rows/1/0", "$['rows'][1][0]"},
		{"/rows/1/1", "$['rows'][1][1]"},
		{"/rows/1/1/it's\\\u0001", `$['rows'][1][1]['it\'s\\\u0001']`},
		{"/", "$['']"},
	} {
		require.Equal(t, want[0], doc.Place(input.Node(n)))
		require.Equal(t, want[1], doc.NormalizedPath(input.Node(n)))
	}
}

func TestDocument_Raw_returnsTheSourceOfANode(t *testing.T) {
	c, doc := newDocument(input.Limits{})
	require.NoError(t, doc.Load([]byte(`{"s": "a\n", "o": { "x" : [ 1 ] }, "n": -1.0}`)))
	for expr, want := range map[string]string{"s": `"a\n"`, "o": `{ "x" : [ 1 ] }`, "n": "-1.0", "o.x": "[ 1 ]"} {
		v, err := doc.Values(nil, 0, compileAll(t, c, []string{expr})[0])
		require.NoError(t, err)
		require.Equal(t, want, string(doc.Raw(v[0].Node)))
	}
	require.Nil(t, doc.Raw(99))
}

func TestDocument_Values_refusesForeignPathsAndNodes(t *testing.T) {
	c, doc := newDocument(input.Limits{})
	p := compileAll(t, c, []string{"a"})[0]
	_, err := doc.Values(nil, 0, p)
	require.Error(t, err, "nothing is loaded")
	require.NoError(t, doc.Load([]byte(`{"a":1}`)))
	_, err = doc.Values(nil, 2, p)
	require.Error(t, err)
	_, err = doc.Values(nil, 0, foreignPath("a"))
	require.Error(t, err)
	_, err = doc.Records(nil, foreignPath("a"))
	require.Error(t, err)
}

type foreignPath string

func (p foreignPath) String() string { return string(p) }

func TestPath_isSafeForConcurrentUse(t *testing.T) {
	c, _ := newDocument(input.Limits{})
	paths := compileAll(t, c, []string{"a", "rows[?match(@.id, '[a-z]+') && @.n < 10].n", "rows[0].id"})
	var wait sync.WaitGroup
	for worker := range 4 {
		doc := c.NewDocument()
		wait.Go(func() {
			for i := range 200 {
				n := strconv.Itoa((worker + i) % 10)
				if !assert.NoError(t, doc.Load([]byte(`{"a":`+n+`,"rows":[{"id":"x","n":`+n+`},{"id":"X","n":1}]}`))) {
					return
				}
				for j, want := range []string{n, n, "x"} {
					values, err := doc.Values(nil, 0, paths[j])
					assert.NoError(t, err)
					if assert.Len(t, values, 1) {
						assert.Equal(t, want, string(values[0].Text))
					}
				}
			}
		})
	}
	wait.Wait()
}

func TestCompiler_NewDocument_acceptsPathsCompiledLater(t *testing.T) {
	c, doc := newDocument(input.Limits{})
	late := compileAll(t, c, []string{"b", "a"})
	for range 3 {
		require.NoError(t, doc.Load([]byte(`{"a":1,"b":2}`)))
		for i, want := range []string{"2", "1"} {
			values, err := doc.Values(nil, 0, late[i])
			require.NoError(t, err)
			require.Equal(t, want, string(values[0].Text))
		}
	}
}
