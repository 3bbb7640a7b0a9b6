package xpath_test

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/xpath"
)

// manyNodes is a document with a lookup table, few things and many other elements.
func manyNodes(t testing.TB) *document {
	return readTree(t, []byte("<r><t id='1'/><t id='2'/><lookup><i id='1'>A</i><i id='2'>B</i></lookup>"+
		strings.Repeat("<a>x</a>", 5000)+"</r>"))
}

func TestEvaluator_Append_keepsPartsThatAreTheSameEverywhere(t *testing.T) {
	tree := manyNodes(t)
	const few = 100 // steps, where the document has 15,000 nodes
	for source, want := range map[string][2]string{
		"concat(@id, count(//a))":                                      {"15000", "25000"},
		"concat(//i, @id)":                                             {"A1", "A2"},
		"let $id := @id return string(//lookup/i[@id = $id])":          {"A", "B"},
		"for $id in @id return concat($id, count(//a[1 = 1]))":         {"15000", "25000"},
		"if (//i[@id = '2']) then string(@id) else ''":                 {"1", "2"},
		"string(//lookup/i[1]/@id = @id)":                              {"true", "false"},
		"@id/concat(., //lookup/i[2])":                                 {"1B", "2B"},
		"string-join((@id, for $i in //i return $i), ' ')":             {"1 A B", "2 A B"},
		"concat(@id, some $i in //lookup/i satisfies $i = 'B')":        {"1true", "2true"},
		"concat(@id, sum(for $i in //i return count(//a) + $i/@id))":   {"110003", "210003"},
		"concat(@id, string-join(//lookup/i[. = //lookup/i[2]], ' '))": {"1B", "2B"},
	} {
		for _, compatible := range []bool{false, true} {
			o := &xpath.Options{Compatible: compatible}
			x, err := xpath.Compile(source, o)
			require.NoError(t, err)
			if compatible && strings.HasPrefix(source, "concat(//i") {
				require.Equal(t, 1, x.Hoisted())
			}
			var evaluator xpath.Evaluator
			first, err := evaluator.Append(nil, x, tree, 2, xpath.Limits{})
			if !compatible && err != nil {
				continue // more than one item where one is expected
			}
			require.NoError(t, err, source)
			require.Equal(t, []xpath.Item{{Node: -1, Text: want[0]}}, first, source)
			second, err := evaluator.Append(nil, x, tree, 4, xpath.Limits{Steps: few})
			require.NoError(t, err, source)
			require.Equal(t, []xpath.Item{{Node: -1, Text: want[1]}}, second, source)
			evaluator.Forget()
			_, err = evaluator.Append(nil, x, tree, 4, xpath.Limits{Steps: few})
			require.Error(t, err, source)
			require.Zero(t, evaluator.Held())
		}
	}
}

func TestEvaluator_Append_evaluatesOnceWhatIsTheSameInPredicates(t *testing.T) {
	tree := manyNodes(t)
	for source, want := range map[string]string{
		"count(//a[count(//a) = 5000])":                    "=5000",
		"count(//a[. = //lookup/i])":                       "=0",
		"count(for $a in //a return //lookup/i[2])":        "=5000",
		"count(//a ! //lookup/i[1])":                       "=5000",
		"//i[count(//a[count(//a) = 5000]) = 5000][2]/@id": "=2",
	} {
		require.Equal(t, want, outcome(tree, source, 0, xpath.Limits{Steps: 200_000}), source)
	}
}

func TestEvaluator_Append_hoistsNoErrorAway(t *testing.T) {
	tree := manyNodes(t)
	for _, source := range []string{
		"(count(//a), 1 ! count(//a))", "string-join((@id, 'x') ! (//i/string()), '')", "for $x in (//t, 1) return $x/count(//a)",
	} {
		require.Equal(t, "!", outcome(tree, source, 2, xpath.Limits{})[:1], source)
	}
	require.Equal(t, "=1", outcome(tree, "if (@id = 1) then 1 else count(//a ! xs:integer(.))", 2, xpath.Limits{}), "what is not reached")
}

// TestCompile_hoistingChangesNoValue compares all values of the table with those of the expressions as they are written,
// at several nodes one after the other.
func TestCompile_hoistingChangesNoValue(t *testing.T) {
	data, err := os.ReadFile("testdata/document.xml")
	require.NoError(t, err)
	tree := readTree(t, data)
	hoisted := 0
	for _, row := range rows(t) {
		if strings.Contains(row[0], "current-") {
			continue // the clock
		}
		for _, source := range []string{row[0], "string(.), " + row[0], "//*[position() < 4] ! (name(), " + row[0] + ")"} {
			for _, compatible := range []bool{false, true} {
				o := &xpath.Options{Namespaces: prefixes, Compatible: compatible}
				x, err := xpath.Compile(source, o)
				if err != nil {
					continue
				}
				whole, err := xpath.CompileWhole(source, o)
				require.NoError(t, err)
				hoisted += x.Hoisted()
				var evaluator xpath.Evaluator
				for _, at := range []int32{3, 0, 5} {
					got, err := evaluator.Append(nil, x, tree, at, xpath.Limits{})
					want, wantErr := new(xpath.Evaluator).Append(nil, whole, tree, at, xpath.Limits{})
					require.Equal(t, wantErr, err, source)
					require.Equal(t, want, got, source)
				}
			}
		}
	}
	require.Greater(t, hoisted, 100)
}

func TestEvaluator_Append_keepsLittle(t *testing.T) {
	tree := manyNodes(t)
	const room = 3 << 20
	x, err := xpath.Compile("@id, count((//a, @id)), count((//i, @id)), count((//a/text(), @id)), count((//lookup, @id))", nil)
	require.NoError(t, err)
	require.Equal(t, 4, x.Hoisted())
	var evaluator xpath.Evaluator
	for _, at := range []int32{2, 4, 2} {
		_, err = evaluator.Append(nil, x, tree, at, xpath.Limits{Bytes: room})
		require.NoError(t, err)
		require.Positive(t, evaluator.Held())
		require.LessOrEqual(t, evaluator.Held(), room/4)
	}
	_, err = evaluator.Append(nil, x, readTree(t, []byte("<r><t id='1'/></r>")), 2, xpath.Limits{Bytes: room})
	require.NoError(t, err)
	require.Less(t, evaluator.Held(), 10*200, "of another tree")
}

// TestCompile_looksAtEachPartOnce holds the longest chains: a compilation that looks at all parts
// at each level takes minutes for one.
func TestCompile_looksAtEachPartOnce(t *testing.T) {
	for _, chain := range []string{"1+", "a|", "a||", "a!", "1 and ", "/a[1]", "-"} {
		const longest = 64 << 10
		source := strings.Repeat(chain, (longest-2)/len(chain))
		if chain != "/a[1]" {
			source += "a"
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := xpath.Compile(source, nil)
		runtime.ReadMemStats(&after)
		if chain != "-" { // nested too deep
			require.NoError(t, err, chain)
		}
		require.Less(t, after.Mallocs-before.Mallocs, uint64(16*len(source)), chain)
	}
}
