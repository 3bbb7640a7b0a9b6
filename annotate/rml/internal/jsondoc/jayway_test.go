package jsondoc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/jsondoc"
)

func ExampleNewJayway() {
	compiler := jsondoc.NewJayway(input.Limits{})
	path, err := compiler.CompileReference(`rooms[?(@.name =~ /H.*/i)].seats.length()`)
	if err != nil {
		fmt.Println(err)
		return
	}
	doc := compiler.NewDocument()
	if err := doc.Load([]byte(`{'rooms': [{'name': 'hall', 'seats': [1, 2]}]}`)); err != nil {
		fmt.Println(err)
		return
	}
	values, err := doc.Values(nil, 0, path)
	for _, v := range values {
		fmt.Printf("%s\n", v.Text)
	}
	fmt.Println(err)
	// Output:
	// 2
	// <nil>
}

const jaywayText = `{"a b": "x", "list": [{"id": 1, "v": "One", "t": ["p", "q"]}, {"id": 2, "v": "two"}, {"id": 3}],
	"n": [1, 2, 3.50], "f-g": 1e10, "o": {"k": null, "l": [1, {"m": "a/b"}]}, "s": "text", "e": []}`

func TestNewJayway_selectsAsJayway(t *testing.T) {
	c := jsondoc.NewJayway(input.Limits{})
	doc := c.NewDocument()
	for expr, want := range map[string][]string{
		`$.['a b']`:                                  {"x"},
		` list[0].v `:                                {"One"},
		`$.list.[*].id`:                              {"1", "2", "3"},
		`$..id`:                                      {"1", "2", "3"},
		`$.list[?(@.v =~ /o.*/i)].id`:                {"1"},
		`$.list[?(@.v =~ /o.*/)].id`:                 nil,
		`$.list[?(@.id in [1, '3'])].id`:             {"1", "3"},
		`$.list[?(@.id nin [1])].id`:                 {"2", "3"},
		`$.list[?(@.v && @.id > 1)].id`:              {"2"},
		`$.list[?(!@.v)].id`:                         {"3"},
		`$.list[?(@.t contains 'p')].id`:             {"1"},
		`$.list[?(@.t anyof ['q', 'r'])].id`:         {"1"},
		`$.list[?(@.t subsetof ['p', 'q', 'r'])].id`: {"1"},
		`$.list[?(@.t size 2)].id`:                   {"1"},
		`$.list[?(@.t.length() == 2)].id`:            {"1"},
		`$.list[?(@.missing == null)].id`:            nil,
		`$.list[?(@.id == '2' || @.v == 'One')].id`:  {"1", "2"},
		`list.length()`:                              {"3"},
		`n.sum()`:                                    {"6.5"},
		`n.max()`:                                    {"3.5"},
		`n.first()`:                                  {"1"},
		`n`:                                          {"1", "2", "3.5"},
		`n[-1:]`:                                     {"3.5"},
		`f-g`:                                        {"1.0E10"},
		`o`:                                          {`{k=null, l=[1,{"m":"a\/b"}]}`},
		`['s','zz']`:                                 {"{s=text, zz=null}"},
		`o.k`:                                        nil,
		`o.keys()`:                                   nil,
		`e`:                                          nil,
		`s.length()`:                                 nil,
	} {
		p, err := c.CompileReference(expr)
		require.NoError(t, err, expr)
		require.NoError(t, doc.Load([]byte(jaywayText)))
		values, err := doc.Values(nil, 0, p)
		require.NoError(t, err, expr)
		var have []string
		for _, v := range values {
			have = append(have, string(v.Text))
		}
		require.Equal(t, want, have, expr)
	}
}

func TestNewJayway_namesTheFaultOfAPath(t *testing.T) {
	c := jsondoc.NewJayway(input.Limits{})
	for expr, reason := range map[string]string{
		"":                     "expected a path",
		"a.":                   "expected a member name",
		"a[?(@.b =~ 'x')]":     "pattern between slashes",
		"a[?(@.b =~ /(?=x)/)]": "the pattern is not valid",
		"a[?('x')]":            "must be compared",
		"a[?(@.b ~ 1)]":        "expected ')'",
	} {
		_, err := c.CompileReference(expr)
		require.ErrorContains(t, err, reason, expr)
	}
	_, err := c.CompileIterator("list.length()")
	require.ErrorContains(t, err, "cannot end with a function")
}

func TestNewJayway_readsWhatIsNotJSON(t *testing.T) {
	c := jsondoc.NewJayway(input.Limits{MaxDepth: 8})
	doc := c.NewDocument()
	root, err := c.CompileReference("$")
	require.NoError(t, err)
	for text, want := range map[string]string{
		`{'a':'b"c'}`:                `{a=b"c}`,
		`{a: b c, d: NaN}`:           `{a=b c, d=NaN}`,
		`{"a":007,"b":1.,"c":+5}`:    `{a=7, b=1.0, c=+5}`,
		`{"a":1 "b":2}`:              `{a=1 "b":2}`,
		`{,"a":[1,,2,],} x`:          `{a=[1,2]}`,
		"{\"a\":\"x\ny\\q\\ud800\"}": "{a=xyq\ufffd}",
	} {
		require.NoError(t, doc.Load([]byte(text)), text)
		values, err := doc.Values(nil, 0, root)
		require.NoError(t, err)
		require.Len(t, values, 1, text)
		require.Equal(t, want, string(values[0].Text), text)
	}
	for _, text := range []string{"", "{", "not JSON", "'a'", `{"a"}`, `{"a":[1}`, `"x`, "[[[[[[[[[1]]]]]]]]]"} {
		require.Error(t, doc.Load([]byte(text)), text)
	}
}

func TestCompiler_ReadStrictly_refusesWhatIsNotJSON(t *testing.T) {
	c := jsondoc.NewJayway(input.Limits{})
	c.ReadStrictly()
	doc := c.NewDocument()
	for _, text := range []string{`{'a':1}`, `{"a":b}`, `{"a":1} x`, `[1,]`} {
		require.Error(t, doc.Load([]byte(text)), text)
	}
	require.NoError(t, doc.Load([]byte(`{"a":1}`)))
}

func FuzzJayway(f *testing.F) {
	for _, expr := range []string{
		"$", "list[0].v", `$.list[?(@.v =~ /o.*/i)].id`, "list.length()", "['s','n']", "$..*", `$.list[?(@.t anyof ['q'])]`,
		"n.concat($.s, 'x')", "n.sum($.n[*])", "$..[?(@..id)]",
	} {
		f.Add(expr, jaywayText)
	}
	f.Add("$", `{'a': NaN, b: [1,,2]} x`)
	c := jsondoc.NewJayway(input.Limits{MaxDepth: 32, MaxNodes: 500})
	f.Fuzz(func(t *testing.T, expr, text string) {
		if len(expr) > 200 || len(text) > 4000 {
			return
		}
		p, err := c.CompileReference(expr)
		if err != nil {
			var bad *jsondoc.PathError
			require.ErrorAs(t, err, &bad)
			return
		}
		doc := c.NewDocument()
		if doc.Load([]byte(text)) != nil {
			return
		}
		values, err := doc.Values(nil, 0, p)
		if err != nil {
			require.ErrorIs(t, err, jsondoc.ErrTooCostly)
		}
		for _, v := range values {
			require.Less(t, v.Kind, input.Null, "%s of %s", expr, text)
		}
	})
}
