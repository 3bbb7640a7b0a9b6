package paessler_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/jsondoc"
	"github.com/iotenablers/enablers/annotate/rml/paessler"
)

const station = `{"id":"S1","Country Code":"PL","n":21.50,"big":12345678901234567890,"exp":1E3,"on":true,"none":null,
"0":"zero","a.b":"dotted","it's":"quoted","list":[3,1,2],
"sensors":{"z":{"v":1},"a":{"v":2},"m":{"v":3},"k":{"v":4}},
"rows":[{"k":"x","v":1,"w":"2"},{"k":"y","v":2},{"k":"z","v":30}]}`

// agreed are expressions for which the evaluator and the built-in engine give
// the same values, apart from the order of members.
var agreed = map[string]string{
	"id":                         `"S1"`,
	"$.id":                       `"S1"`,
	"@.id":                       `"S1"`,
	"$['id']":                    `"S1"`,
	`$["id"]`:                    `"S1"`,
	"['id']":                     `"S1"`,
	"Country Code":               `"PL"`,
	"$['Country Code']":          `"PL"`,
	`$['it\'s']`:                 `"quoted"`,
	`$["it's"]`:                  `"quoted"`,
	`$['\u0069d']`:               `"S1"`,
	"['a.b']":                    `"dotted"`,
	"n":                          `21.50`,
	"big":                        `12345678901234567890`,
	"exp":                        `1E3`,
	"on":                         `true`,
	"none":                       `null`,
	"list":                       `[3,1,2]`,
	"list[*]":                    `3 1 2`,
	"list.[*]":                   `3 1 2`,
	"list.*":                     `3 1 2`,
	"list[0]":                    `3`,
	"list[9]":                    ``,
	"list[1:]":                   `1 2`,
	"$.list[2,0]":                `2 3`,
	"missing":                    ``,
	"missing.deeper":             ``,
	"id.deeper":                  ``,
	"rows[*].k":                  `"x" "y" "z"`,
	"rows[1].k":                  `"y"`,
	"$.rows[?(@.k=='y')].v":      `2`,
	"$.rows[?(@.v > 1)].k":       `"y" "z"`,
	"$.rows[?(@.v == 30)].k":     `"z"`,
	"$.sensors.m.v":              `3`,
	"sensors..v":                 `2 4 3 1`,
	"$.sensors.*.v":              `2 4 3 1`,
	"$.sensors[*].v":             `2 4 3 1`,
	"sensors.*":                  `{"v":2} {"v":4} {"v":3} {"v":1}`,
	"$..k":                       `"x" "y" "z" {"v":4}`,
	"rows[0]['k','v','k']":       `"x" 1 "x"`,
	"$['rows'][2]['k']":          `"z"`,
	"$.rows[*]['k','v']":         `"x" 1 "y" 2 "z" 30`,
	"$.rows[?@.k != 'x']['k']":   `"y" "z"`,
	"$.rows[?(@.v<3)]['v']":      `1 2`,
	"$.rows[?(@.k=='x')]['w']":   `"2"`,
	"$.rows[?(@.k=='x')].v":      `1`,
	"$.rows[?@.k=='x' || @.v>2]": `{"k":"x","v":1,"w":"2"} {"k":"z","v":30}`,
}

// differing are expressions for which they do not give the same, with what
// RFC 9535 and the built-in engine say. An entry that fails because the library
// has learned is to be deleted.
var differing = []struct{ expr, right, library string }{
	{"$.list[-1]", `2`, ``},
	{"$.list[2:0:-1]", `2 1`, ``},
	{"$.rows[?(@.w == 2)].k", ``, `"x"`},
	{"$.rows[?@.k].k", `"x" "y" "z"`, ``},
	{"$.rows[?length(@.k)==1].v", `1 2 30`, ``},
	{"$.rows[-1].k", `"z"`, ``},
}

func TestJSONPath_agreesWithTheBuiltInEngine(t *testing.T) {
	for expr, want := range agreed {
		got := byLibrary(t, expr)
		require.Equal(t, want, strings.Join(got, " "), "library: %s", expr)
		require.ElementsMatch(t, byBuiltIn(t, expr), got, "built in: %s", expr)
	}
}

func TestJSONPath_differsFromTheBuiltInEngineAsListed(t *testing.T) {
	for _, c := range differing {
		require.Equal(t, c.right, strings.Join(byBuiltIn(t, c.expr), " "), "built in: %s", c.expr)
		require.Equal(t, c.library, strings.Join(byLibrary(t, c.expr), " "), "library: %s", c.expr)
		require.NotEqual(t, c.right, c.library, c.expr)
	}
}

func TestJSONPath_selectsInTheSameOrderEachTime(t *testing.T) {
	members := make([]string, 0, 40)
	for i := range 40 {
		members = append(members, `"`+string(rune('a'+i*7%26))+strings.Repeat("x", i)+`":{"v":[{"a":1,"b":2,"c":3}]}`)
	}
	document := "{" + strings.Join(members, ",") + "}"
	for _, expr := range []string{"$.*", "$..*", "$..v", "$.*.v[*].*", "$[?@.v != 1]", "$..['c','a','b']"} {
		want := selectTexts(t, expr, document)
		require.NotEmpty(t, want, expr)
		for range 10 {
			require.Equal(t, want, selectTexts(t, expr, document), expr)
		}
	}
}

func TestJSONPath_sortsMembersByNameAndIndexesByNumber(t *testing.T) {
	require.Equal(t, []string{"1", "2", "4", "3"}, selectTexts(t, "$.*", `{"b":3,"10":2,"9":1,"a":4}`))
	require.Equal(t, []string{"3", "2"}, selectTexts(t, "$[1,0]", `[2,3]`), "a union keeps its order")
}

func TestJSONPath_refusesExpressionsThatAreNotPaths(t *testing.T) {
	e := paessler.JSONPath()
	for _, expr := range []string{
		"", "$.", "$[", "$.a]", "a[", "$.a b", "$.a b:c", "$.*,x:$.b", "$.a + 1", "$.a == $.b", "$.a}", "$['a",
		strings.Repeat("a.", 20_000),
	} {
		_, err := e.Compile(expr, nil)
		require.Error(t, err, expr)
	}
}

func TestJSONPath_refusesTextThatIsNotJSON(t *testing.T) {
	for _, text := range []string{"", "{", "{} {}", "{'a':1}"} {
		_, err := paessler.JSONPath().Parse([]byte(text))
		require.Error(t, err, text)
	}
}

func TestJSONPath_boundsTheNumberOfNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: it selects a million nodes")
	}
	e := paessler.JSONPath()
	root, err := e.Parse([]byte("[" + strings.Repeat("[1],", 2000) + "[1]]"))
	require.NoError(t, err)
	evaluate, err := e.Compile("$[*]["+strings.Repeat("0,", 600)+"0]", nil)
	require.NoError(t, err)
	_, err = evaluate(root)
	require.ErrorContains(t, err, "more than 1048576 nodes")
}

func TestJSONPath_refusesLongEvaluations(t *testing.T) {
	e := paessler.JSONPath()
	root, err := e.Parse([]byte(strings.Repeat(`{"a":1,"b":`, 200) + "1" + strings.Repeat("}", 200)))
	require.NoError(t, err)
	for expr, refused := range map[string]bool{
		"$..a":                           false,
		"$..b..b..b..a":                  true,
		"$. .b.\t.b. .b./**/.a":          true,
		"$" + strings.Repeat("..a", 200): true,
	} {
		evaluate, err := e.Compile(expr, nil)
		require.NoError(t, err)
		found, err := evaluate(root)
		if refused {
			require.ErrorContains(t, err, "too long on 401 values that are nested 201 deep")
			continue
		}
		require.NoError(t, err)
		require.Len(t, found, 200)
	}
}

func TestJSONPath_returnsTheElementsOfArrays(t *testing.T) {
	e := paessler.JSONPath()
	root, err := e.Parse([]byte(`[1,"x"]`))
	require.NoError(t, err)
	elements, ok := e.Elements(root)
	require.True(t, ok)
	require.Equal(t, []string{"1", `"x"`}, texts(t, e, elements))
	_, ok = e.Elements(elements[0])
	require.False(t, ok)
	_, ok = e.Elements("no node")
	require.False(t, ok)
	_, _, ok = e.Value("no node")
	require.False(t, ok)
}

// byLibrary returns the values on the station as JSON.
func byLibrary(t *testing.T, expr string) []string { return selectTexts(t, expr, station) }

func selectTexts(t *testing.T, expr, document string) []string {
	t.Helper()
	e := paessler.JSONPath()
	root, err := e.Parse([]byte(document))
	require.NoError(t, err)
	evaluate, err := e.Compile(expr, nil)
	require.NoError(t, err, expr)
	nodes, err := evaluate(root)
	require.NoError(t, err, expr)
	return texts(t, e, nodes)
}

func texts(t *testing.T, e rml.Evaluator, nodes []any) []string {
	t.Helper()
	out := []string{}
	for _, n := range nodes {
		text, kind, ok := e.Value(n)
		require.True(t, ok)
		switch kind {
		case rml.StringValue:
			text = `"` + text + `"`
		case rml.NullValue:
			text = "null"
		}
		out = append(out, text)
	}
	return out
}

// byBuiltIn returns the values of the built-in engine as JSON.
func byBuiltIn(t *testing.T, expr string) []string {
	t.Helper()
	path, err := jsondoc.ParseReference(expr)
	require.NoError(t, err, expr)
	doc := jsondoc.New(input.Limits{}).NewDocument().(*jsondoc.Document)
	require.NoError(t, doc.Load([]byte(station)))
	nodes, err := doc.Select(nil, doc.Root(), path)
	require.NoError(t, err, expr)
	out := []string{}
	for _, n := range nodes {
		out = append(out, string(doc.Raw(n)))
	}
	return out
}

// The library reads over white space and comments between two dots.
func TestJSONPath_sortsADescentWithWhiteSpace(t *testing.T) {
	for _, expr := range []string{"$.sensors. .v", "$.sensors.\n.v", "$.sensors./* */.v"} {
		for range 20 {
			require.Equal(t, []string{"2", "4", "3", "1"}, byLibrary(t, expr), expr)
		}
	}
}

func FuzzJSONPathDoesNotPanic(f *testing.F) {
	f.Add("$.sensors. .v", station)
	for expr := range agreed {
		f.Add(expr, station)
	}
	for _, c := range differing {
		f.Add(c.expr, station)
	}
	for _, expr := range []string{
		"$..*[?(@.a=~'(')]", "$[?(@.date('x'))]", "$.x{", "$(1)", "$['§#']", "$[#0]", "§#", "$.a[?(1/0 > @.b)]",
		"$[$.a]",
	} {
		f.Add(expr, `{"a":[1,{"b":null}],"":{}}`)
	}
	f.Fuzz(func(t *testing.T, expr, document string) {
		if strings.Count(expr, "$") > 2 || len(document) > 500 {
			t.Skip("the time that the library takes for $ in filters is not bounded")
		}
		e := paessler.JSONPath()
		evaluate, err := e.Compile(expr, nil)
		if err != nil {
			return
		}
		root, err := e.Parse([]byte(document))
		if err != nil {
			return
		}
		nodes, err := evaluate(root)
		if err != nil {
			require.Empty(t, nodes)
			return
		}
		again, err := evaluate(root)
		require.NoError(t, err)
		first, second := texts(t, e, nodes), texts(t, e, again)
		slices.Sort(first)
		slices.Sort(second)
		require.Equal(t, first, second)
		for _, n := range nodes {
			if text, kind, _ := e.Value(n); kind == rml.CompositeValue {
				_, err := e.Parse([]byte(text))
				require.NoError(t, err)
			}
		}
	})
}
