package jsondoc_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/jsondoc"
	"github.com/iotenablers/enablers/internal/conformance"
)

const catalogue = `{
	"Country Code": "DE", "a": {"b": [{"c": 1}, {"c": 2}], "x-y": 3, "été": 4}, "a.b": 5, "*": 6, "#": 7,
	"code": {"rgba": [255, 0, 1]}, "Temp (°C)": 8, "[x]": 9, "it's": 10, "$": 11
}`

func TestParseReference_readsReferencesOfMappings(t *testing.T) {
	c, doc := newDocument(input.Limits{})
	require.NoError(t, doc.Load([]byte(catalogue)))
	for expr, want := range map[string][]string{
		"Country Code":           {`"DE"`},
		"['Country Code']":       {`"DE"`},
		"$['Country Code']":      {`"DE"`},
		`@["Country Code"]`:      {`"DE"`},
		"a.x-y":                  {"3"},
		"a.été":                  {"4"},
		"$.a.été":                {"4"},
		"a.b[0].c":               {"1"},
		"a.b[-1].c":              {"2"},
		"a.b.[1].c":              {"2"},
		"a.b[*].c":               {"1", "2"},
		"a.b.*.c":                {"1", "2"},
		"a..c":                   {"1", "2"},
		"a..[0]":                 {`{"c":1}`},
		"['a.b']":                {"5"},
		"a.b":                    {`[{"c":1},{"c":2}]`},
		"['*']":                  {"6"},
		"#":                      {"7"},
		"Temp (°C)":              {"8"},
		"['[x]']":                {"9"},
		"it's":                   {"10"},
		"['$']":                  {"11"},
		"code.rgba.[*]":          {"255", "0", "1"},
		"code.rgba[0:2]":         {"255", "0"},
		"code.rgba":              {"[255,0,1]"},
		"a.b[?(@.c == 2)].c":     {"2"},
		"@.code.rgba[2]":         {"1"},
		"@..rgba":                {"[255,0,1]"},
		"a.b.c":                  nil,
		"a.nothing.here":         nil,
		"country code":           nil,
		"code.rgba[7]":           nil,
		"code.rgba[-4]":          nil,
		"@":                      {compact(t, catalogue)},
		"$":                      {compact(t, catalogue)},
		"code.rgba[0,0]":         {"255", "255"},
		"$.a.b[?@.c<$.a.b[1].c]": {`{"c":1}`},
	} {
		p, err := c.CompileReference(expr)
		require.NoError(t, err, expr)
		require.Equal(t, expr, p.String())
		values, err := doc.Values(nil, doc.Root(), p)
		require.NoError(t, err)
		var got []string
		for _, v := range values {
			got = append(got, compact(t, string(doc.Raw(v.Node))))
		}
		require.Equal(t, want, got, expr)
	}
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, json.Compact(&b, []byte(text)))
	return b.String()
}

func TestDocument_Values_startsAtTheRecord(t *testing.T) {
	c, doc := newDocument(input.Limits{})
	iterator, err := c.CompileIterator("$.rooms[*]")
	require.NoError(t, err)
	inner, err := c.CompileIterator("$.sensors[?@.on]")
	require.NoError(t, err)
	whole, err := c.CompileIterator("")
	require.NoError(t, err)
	require.Equal(t, "$", whole.String())
	refs := compileAll(t, c, []string{"id", "$.id", "@.id"})
	require.NoError(t, doc.Load([]byte(`{"id":0,"rooms":[{"id":1,"sensors":[{"id":2},{"id":3,"on":null}]},{"id":4}]}`)))
	all, err := doc.Records(nil, whole)
	require.NoError(t, err)
	require.Equal(t, []input.Node{0}, all)
	rooms, err := doc.Records(nil, iterator)
	require.NoError(t, err)
	require.Len(t, rooms, 2)
	sensors, err := doc.RecordsIn(nil, rooms[0], inner)
	require.NoError(t, err)
	require.Len(t, sensors, 1)
	for i, want := range map[input.Node]string{0: "0", rooms[0]: "1", rooms[1]: "4", sensors[0]: "3"} {
		for _, r := range refs {
			v, err := doc.Values(nil, i, r)
			require.NoError(t, err)
			require.Len(t, v, 1)
			require.Equal(t, want, string(v[0].Text))
		}
	}
}

func TestParse_namesThePlaceAndTheReason(t *testing.T) {
	c, _ := newDocument(input.Limits{})
	for expr, want := range map[string]jsondoc.PathError{
		"":               {Offset: 0, Reason: "unexpected end, expected a path"},
		"$.students[*]]": {Offset: 13, Reason: "unexpected ']', expected '.', '[' or the end of the path"},
		"$.Country Code": {Offset: 9, Reason: "unexpected ' ', expected '.', '[' or the end of the path"},
		"$.": {
			Offset: 2,
			Reason: "unexpected end, expected a member name or '*' after '.'; a name with other characters is written ['name']",
		},
		"$x":                  {Offset: 1, Reason: "unexpected 'x', expected '.', '[' or the end of the path"},
		"@name":               {Offset: 1, Reason: "unexpected 'n', expected '.', '[' or the end of the path"},
		"$['a":                {Offset: 4, Reason: "unexpected end, expected the closing '"},
		"$[1 2]":              {Offset: 4, Reason: "unexpected '2', expected ',' or ']'"},
		"$[]":                 {Offset: 2, Reason: "unexpected ']', expected a quoted name, an index, a slice, '*' or '?'"},
		"$[007]":              {Offset: 2, Reason: "an index must not have leading zeros nor be -0"},
		"$[9007199254740992]": {Offset: 2, Reason: "number beyond the range of exact integers, ±(2^53-1)"},
		"$[?@.a==$.b[*]]":     {Offset: 8, Reason: "a query that may select several nodes must not be compared"},
		"$[?length(@)]":       {Offset: 3, Reason: "the result of length() must be compared"},
		"$[?size(@)>1]": {
			Offset: 3,
			Reason: "unknown function size, expected one of count, length, match, search, value",
		},
		"$[?count(1)>1]": {Offset: 9, Reason: "argument of the wrong type, expected a query"},
		"$[?match(@.a)]": {Offset: 12, Reason: "match() takes a single value and a single value"},
		"$['\\x']":       {Offset: 3, Reason: "invalid escape sequence \\'x'"},
		"$['\\ud800']":   {Offset: 3, Reason: "surrogate escape without its other half"},
		"a.b]":           {Offset: 3, Reason: "unexpected ']' in a member name; a name with brackets is written ['name']"},
		"a..":            {Offset: 3, Reason: "unexpected end, expected a member name"},
		".a":             {Offset: 0, Reason: "unexpected '.', expected a member name"},
		"a[0]b":          {Offset: 4, Reason: "unexpected 'b', expected '.' or '['"},
		"a\xff":          {Offset: 1, Reason: "invalid UTF-8"},
	} {
		want.Expr = expr
		_, err := c.CompileReference(expr)
		require.Equal(t, &want, err, expr)
	}
	_, err := c.CompileIterator("$.students[*]]")
	require.EqualError(t, err,
		`JSONPath "$.students[*]]" at byte 13: unexpected ']', expected '.', '[' or the end of the path`)
	for _, deep := range []string{
		"$[?" + strings.Repeat("(", 100_000), "$" + strings.Repeat("[?@", 100_000), "$[?" +
			strings.Repeat("length(", 100_000), "$[?" + strings.Repeat("!(", 100_000),
	} {
		_, err := jsondoc.Parse(deep)
		require.ErrorContains(t, err, "nest deeper than 100")
	}
}

// expressions finds the JSONPath expressions of a mapping in Turtle: what
// stands in the properties that hold one, and between the braces of templates.
var (
	expressions = regexp.MustCompile(`(?:rml:iterator|rml:reference|rml:child|rml:parent|rr:child|rr:parent)\s+"([^"]*)"`)
	templates   = regexp.MustCompile(`(?:rml:template|rr:template)\s+"([^"]*)"`)
	braces      = regexp.MustCompile(`\{([^{}\\]+)\}`)
)

func TestParseReference_compilesTheConformanceMappings(t *testing.T) {
	root := conformance.Dir(t, "")
	c, _ := newDocument(input.Limits{})
	seen := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "mapping.ttl" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("JSONPath")) {
			return err
		}
		for _, m := range expressions.FindAllSubmatch(text, -1) {
			seen[string(m[1])] = true
		}
		for _, m := range templates.FindAllSubmatch(text, -1) {
			for _, r := range braces.FindAllSubmatch(m[1], -1) {
				seen[string(r[1])] = true
			}
		}
		return nil
	}))
	require.Greater(t, len(seen), 80)
	require.Contains(t, seen, "$['ISO 3166']")
	require.Contains(t, seen, "Country Code")
	for expr := range seen {
		_, err := c.CompileReference(expr)
		if expr == "$.students[*]]" { // the cases 0002g expect it to be refused
			require.Error(t, err)
			continue
		}
		require.NoError(t, err, expr)
	}
}

func TestCompareNumbers_comparesExactValues(t *testing.T) {
	_, doc := newDocument(input.Limits{})
	ascending := []string{
		"-1e400", "-9007199254740993", "-9007199254740992.5", "-9007199254740992", "-10", "-9.99", "-1e-400", "0", "1e-401", "1e-400",
		"0.1", "0.10000000000000000000001", "1", "1.5", "9", "99e-1", "10", "123456789012345678901234567890",
		"123456789012345678901234567891", "1e99999999999999999999",
	}
	twins := map[string][]string{
		"0":   {"-0", "0.0", "0e5", "-0.00E-3"},
		"10":  {"10.0", "1e1", "100e-1", "0.1e2", "1.0E+1"},
		"0.1": {"1e-1", "0.10", "10E-2"},
	}
	holds := func(a, op, b string) bool {
		p, err := jsondoc.Parse("$[?@.a" + op + "@.b]")
		require.NoError(t, err)
		require.NoError(t, doc.Load([]byte(`[{"a":`+a+`,"b":`+b+`}]`)))
		nodes, err := doc.Select(nil, 0, p)
		require.NoError(t, err)
		return len(nodes) == 1
	}
	for i, a := range ascending {
		for j, b := range ascending {
			require.Equal(t, i < j, holds(a, "<", b), "%s < %s", a, b)
			require.Equal(t, i <= j, holds(a, "<=", b), "%s <= %s", a, b)
			require.Equal(t, i > j, holds(a, ">", b), "%s > %s", a, b)
			require.Equal(t, i == j, holds(a, "==", b), "%s == %s", a, b)
		}
		for _, b := range twins[a] {
			require.True(t, holds(a, "==", b) && holds(b, ">=", a) && !holds(a, "<", b), "%s == %s", a, b)
		}
	}
}

func TestDocument_Select_comparesContainersByContent(t *testing.T) {
	_, doc := newDocument(input.Limits{})
	p, err := jsondoc.Parse("$[?@[0]==@[1]]")
	require.NoError(t, err)
	for text, want := range map[string]bool{
		`{"a":1,"b":[1,{"c":null}]},{"b":[1.0,{"c":null}],"a":1e0}`: true,
		`{"a":1},{"a":1,"b":2}`:         false,
		`{"a":1,"b":2},{"a":1}`:         false,
		`{"a":1,"b":2},{"a":1,"c":2}`:   false,
		`{"\u0061":"x"},{"a":"\u0078"}`: true,
		`{"a":1,"a":2},{"a":2}`:         true,
		`{"a":1,"a":2},{"a":1}`:         false,
		`[1,2],[1,2,3]`:                 false,
		`[1,2,3],[1,2]`:                 false,
		`[],{}`:                         false,
		`[[],{}],[[],{}]`:               true,
		`"1",1`:                         false,
		`null,false`:                    false,
	} {
		require.NoError(t, doc.Load([]byte("[["+text+"]]")))
		nodes, err := doc.Select(nil, 0, p)
		require.NoError(t, err)
		require.Equal(t, want, len(nodes) == 1, text)
	}
}

func TestDocument_Select_stopsPathsThatMultiply(t *testing.T) {
	c, doc := newDocument(input.Limits{})
	many := "[" + strings.Repeat(`{"a":[1,2,3]},`, 5000) + `{"a":[]}]`
	require.NoError(t, doc.Load([]byte(strings.Repeat("[", 300)+"1"+strings.Repeat("]", 300))))
	for _, expr := range []string{"$..*..*..*..*", "$..[?count(@..*..*..*)>1]"} {
		p, err := c.CompileReference(expr)
		require.NoError(t, err)
		values, err := doc.Values(nil, 0, p)
		require.ErrorIs(t, err, jsondoc.ErrTooCostly, expr)
		require.Empty(t, values)
	}
	require.NoError(t, doc.Load([]byte(many)))
	for _, expr := range []string{"$[?length($)>0]"} {
		p, err := c.CompileIterator(expr)
		require.NoError(t, err)
		records, err := doc.Records(nil, p)
		require.ErrorIs(t, err, jsondoc.ErrTooCostly, expr)
		require.Empty(t, records)
	}
	p, err := c.CompileIterator("$..a[*]")
	require.NoError(t, err)
	records, err := doc.Records(nil, p)
	require.NoError(t, err)
	require.Len(t, records, 15_000)
}

// FuzzPath looks for expressions that crash or hang, and for nodes that are
// not of the document.
func FuzzPath(f *testing.F) {
	for _, expr := range []string{
		"$", "@.x", "a.b[0]", "Country Code", "$..*..*", "$[?@.a == 'x' && !(@.b < 1.5e3)]", "$[::-2]", "$[1:3,'a',*]",
		`$[?match(@.a, "[a-c]+|\\p{Lu}{2,3}")]`,
		"$[?search(@, $.a)]", "$[?count(@..*) > length(value($.a))]", "$.a[?@[0] != @[-1]]", "$.students[*]]",
	} {
		f.Add(expr, catalogue)
	}
	c, doc := newDocument(input.Limits{MaxDepth: 64, MaxNodes: 1000})
	f.Fuzz(func(t *testing.T, expr, text string) {
		p, err := c.CompileReference(expr)
		if err != nil {
			var bad *jsondoc.PathError
			require.ErrorAs(t, err, &bad)
			require.LessOrEqual(t, bad.Offset, len(expr))
			return
		}
		if doc.Load([]byte(text)) != nil {
			return
		}
		values, err := doc.Values(nil, 0, p)
		if err != nil {
			require.ErrorIs(t, err, jsondoc.ErrTooCostly)
		}
		for _, v := range values {
			require.NotNil(t, doc.Raw(v.Node))
		}
		if strings.HasPrefix(expr, "$") && err == nil && len(values) > 0 {
			again, err := jsondoc.Parse(doc.NormalizedPath(values[0].Node))
			require.NoError(t, err, "a normalized path is a path")
			require.True(t, again.Singular())
		}
	})
}

func TestPattern_acceptsIRegexps(t *testing.T) {
	_, doc := newDocument(input.Limits{})
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"a.c", "abc", true}, {"a.c", "a\nc", false}, {"a.c", "a\rc", false}, {"b", "abc", false}, {"a|bc", "bc", true},
		{"(a|b)*c?", "abab", true},
		{"[a-c]+", "abcabc", true}, {"[^a-c]+", "abc", false}, {"[^a-c]+", "xyz", true}, {"[-a]+", "a-", true},
		{"[a-]+", "a-", true}, {`[\]\^]`, "^", true},
		{"[&&~~]+", "&~", true}, {"[a:]+", ":a", true}, {`\p{Lu}\p{Ll}+`, "Ab", true}, {`[\p{Nd}x]+`, "1x2", true},
		{`\P{L}`, "a", false}, {"a{2,3}", "aa", true},
		{"a{2}", "aaa", false}, {"a{2,}", "aaaa", true}, {`\.\*\\`, `.*\`, true}, {`\d`, "1", false}, {`\w`, "w", false},
		{"(?i)a", "A", false}, {"(?:a)", "a", false},
		{"a**", "a", false}, {"a*?", "a", false}, {"[]", "a", false}, {"[[:alpha:]]", "a", false}, {"a{,2}", "a", false},
		{"a{", "a{", false}, {`\p{Greek}`, "α", false},
		{"(a", "a", false}, {"a)", "a", false}, {"[c-a]", "b", false}, {"", "", true}, {"é+", "éé", true}, {
			"a{1001}",
			strings.Repeat("a", 1001),
			false,
		},
	} {
		row, err := json.Marshal([]map[string]string{{"p": c.pattern, "s": c.text}})
		require.NoError(t, err)
		require.NoError(t, doc.Load(row))
		literal, err := json.Marshal(c.pattern)
		require.NoError(t, err)
		for _, expr := range []string{"$[?match(@.s,@.p)]", "$[?match(@.s," + string(literal) + ")]"} {
			p, err := jsondoc.Parse(expr)
			require.NoError(t, err)
			nodes, err := doc.Select(nil, 0, p)
			require.NoError(t, err)
			require.Equal(t, c.want, len(nodes) == 1, "%s on %q", expr, c.text)
		}
	}
}

func TestPattern_boundsTheCostOfPatternsInMessages(t *testing.T) {
	_, doc := newDocument(input.Limits{})
	p, err := jsondoc.Parse("$[?search(@.s,@.p)]")
	require.NoError(t, err)
	for _, pattern := range []string{
		"(" + strings.Repeat("[ab]*", 100) + "){1000}",
		strings.Repeat("(", 90) + "a" + strings.Repeat("){9}", 90),
	} {
		var b strings.Builder
		for i := range 1000 {
			b.WriteString(`,{"s":"` + strings.Repeat("a", 1000) + `","p":"` + pattern + strings.Repeat("x", i%2) + `"}`)
		}
		require.NoError(t, doc.Load([]byte("["+b.String()[1:]+"]")))
		_, err = doc.Select(nil, 0, p)
		require.ErrorIs(t, err, jsondoc.ErrTooCostly)
	}
}
