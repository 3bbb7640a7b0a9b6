package xpath_test

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/xpath"
)

// fuzzSteps is the budget of an evaluation while fuzzing.
const fuzzSteps = 2000

// seedEvery is the distance of the rows of the table that are seeds.
const seedEvery = 9

// FuzzCompile compiles arbitrary expressions: nothing may panic, and an error has an offset within
// the expression.
func FuzzCompile(f *testing.F) {
	for i, row := range rows(f) {
		if i%seedEvery == 0 {
			f.Add(row[0])
		}
	}
	f.Fuzz(func(t *testing.T, source string) {
		x, err := xpath.Compile(source, &xpath.Options{Namespaces: prefixes})
		if err == nil {
			require.Equal(t, source, x.String())
			return
		}
		var e *xpath.Error
		require.ErrorAs(t, err, &e)
		require.GreaterOrEqual(t, e.Offset, 0)
		require.LessOrEqual(t, e.Offset, len(source))
	})
}

// FuzzEvaluator_Append evaluates arbitrary expressions within a small budget: nothing may panic,
// values are the same each time, and an expression without nodes selects none.
func FuzzEvaluator_Append(f *testing.F) {
	for i, row := range rows(f) {
		if i%seedEvery == 1 {
			f.Add(row[0], uint8(i%40))
		}
	}
	data, err := os.ReadFile("testdata/document.xml")
	require.NoError(f, err)
	tree := readTree(f, data)
	f.Fuzz(func(t *testing.T, source string, at uint8) {
		if strings.Contains(source, "current-") {
			return // the clock
		}
		x, err := xpath.Compile(source, &xpath.Options{Namespaces: prefixes})
		if err != nil {
			return
		}
		node := int32(at) % tree.Len()
		var evaluator xpath.Evaluator
		first, err := evaluator.Append(nil, x, tree, node, xpath.Limits{Steps: fuzzSteps})
		if limit := (*xpath.Error)(nil); errors.As(err, &limit) && limit.Code == "limit" {
			return // what the first evaluation has kept takes no more steps
		}
		again, err2 := evaluator.Append(nil, x, tree, node, xpath.Limits{Steps: fuzzSteps})
		require.Equal(t, err, err2)
		require.Equal(t, first, again)
		for _, i := range first {
			require.True(t, i.Node < 0 || x.SelectsNodes(), source)
		}
	})
}

// TestEvaluator_Append_endsWithinItsBudget holds expressions that would run for long otherwise.
func TestEvaluator_Append_endsWithinItsBudget(t *testing.T) {
	tree := readTree(t, []byte("<r>"+strings.Repeat("<a>x</a>", 400)+"</r>"))
	for _, source := range []string{
		"count(1 to 1000000000)",
		"for $a in //a, $b in //a, $c in //a return 1",
		"//a[../a[../a[. = ../a]]]",
		"some $a in 1 to 100000, $b in 1 to 100000 satisfies $a = -$b",
		"let $a := 'xxxxxxxxxxxxxxxx'" + doubled("||", 40),
		"let $a := 1.5" + doubled("*", 40),
		"let $a := (1, 2)" + doubled(",", 40),
	} {
		got := outcome(tree, source, 0, xpath.Limits{})
		require.Contains(t, []string{"!limit", "!FOAR0002"}, got, source)
	}
	for _, source := range []string{
		"matches('a', '" + strings.Repeat("(a{900}){900}", 3) + "')",
		"matches('a', '" + strings.Repeat("a{900}", 300) + "')",
		"matches('a', '" + strings.Repeat(`[^\w]`, 800) + "')",
		strings.Repeat("(", 1000) + "1" + strings.Repeat(")", 1000),
		strings.Repeat("a[", 1000) + "1" + strings.Repeat("]", 1000),
	} {
		_, err := xpath.Compile(source, nil)
		require.Error(t, err)
	}
	require.Equal(t, "=32768", outcome(tree, "1"+strings.Repeat("+1", 32767), 0, xpath.Limits{}))
}

// TestEvaluator_Append_looksForTheNodesOfAnArgumentOnce compares the steps of a path that selects one node with
// those of a path that selects none.
func TestEvaluator_Append_looksForTheNodesOfAnArgumentOnce(t *testing.T) {
	tree := readTree(t, []byte("<r><b/>"+strings.Repeat("<a>x</a>", 400)+"</r>"))
	steps := func(source, want string) int {
		x, err := xpath.Compile(source, &xpath.Options{Compatible: true})
		require.NoError(t, err)
		return sort.Search(1<<16, func(steps int) bool {
			items, err := new(xpath.Evaluator).Append(nil, x, tree, 0, xpath.Limits{Steps: steps + 1})
			if err != nil {
				return false
			}
			require.Equal(t, []xpath.Item{{Node: -1, Text: want}}, items)
			return true
		})
	}
	for _, call := range []string{"normalize-space(%s)", "concat('', %s)", "substring-before(%s, 'y')"} {
		found, none := steps(fmt.Sprintf(call, "//b"), ""), steps(fmt.Sprintf(call, "//c"), "")
		require.Greater(t, found, 400, call)
		require.LessOrEqual(t, none, found, call)
	}
}

// doubled returns let clauses that join a variable with itself, again and again.
func doubled(operator string, times int) string {
	var b strings.Builder
	for range times {
		fmt.Fprintf(&b, ", $a := ($a %s $a)", operator)
	}
	return b.String() + " return count($a)"
}

func ExampleCompile() {
	x, err := xpath.Compile("for $n in 1 to 3 return $n * 2", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	items, err := new(xpath.Evaluator).Append(nil, x, &document{nodes: []xpath.Node{{Parent: -1, End: 1}}}, 0, xpath.Limits{})
	fmt.Println(items, err)
	// Output: [{-1 2} {-1 4} {-1 6}] <nil>
}
