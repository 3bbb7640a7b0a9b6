package xpath_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/xpath"
)

const (
	// inner is an element, and outer a document that has it as the node innerAt.
	inner   = "<i><n>A</n></i>"
	outer   = `<r xml:lang="pl"><x xml:lang="de">1</x>` + inner + "</r>"
	innerAt = 6
)

func TestExpression_SameEverywhere_isFalseOfCallsThatUseTheContext(t *testing.T) {
	tree := readTree(t, []byte(outer))
	uses := 0
	for _, call := range xpath.LibraryCalls() {
		text := fmt.Sprintf("string-join(%s ! string(), ' ')", call)
		got := outcome(tree, fmt.Sprintf("//node() ! %s, (//node())[position() < 3] ! %[1]s", text), 0, xpath.Limits{})
		values := strings.Split(strings.TrimPrefix(got, "="), "|")
		for _, value := range values {
			if value == values[0] {
				continue
			}
			uses++
			x, err := xpath.Compile(call, nil)
			require.NoError(t, err, call)
			require.False(t, x.SameEverywhere(), "%s is %s", call, got)
			break
		}
	}
	require.Greater(t, uses, 10)
}

func TestExpression_StaysInside_isFalseOfCallsThatLookOutside(t *testing.T) {
	within, alone := readTree(t, []byte(outer)), readTree(t, []byte(inner))
	require.Equal(t, "=i", outcome(within, "name()", innerAt, xpath.Limits{}))
	looks := 0
	for _, call := range xpath.LibraryCalls() {
		if strings.HasPrefix(call, "current-") {
			continue // the clock
		}
		got, want := outcome(within, call, innerAt, xpath.Limits{}), outcome(alone, call, 1, xpath.Limits{})
		if got == want {
			continue
		}
		looks++
		x, err := xpath.Compile(call, nil)
		require.NoError(t, err, call)
		require.False(t, x.StaysInside(), "%s is %s, and %s in a document of its own", call, got, want)
	}
	require.Greater(t, looks, 3)
}
