package dedup_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/dedup"
)

func TestSet_Add_reportsDuplicates(t *testing.T) {
	set := dedup.NewSet()
	for i := range 1000 {
		require.True(t, set.Add([]byte("s"), fmt.Append(nil, i), []byte("o")))
	}
	for i := range 1000 {
		require.False(t, set.Add([]byte("s"), fmt.Append(nil, i), []byte("o")))
	}
	require.True(t, set.Add([]byte("ab"), []byte("c")))
	require.True(t, set.Add([]byte("a"), []byte("bc")), "the ends of the terms count")
}

func TestSet_Reset_emptiesTheSet(t *testing.T) {
	set := dedup.NewSet()
	for round := range 3 {
		for i := range 10_000 >> (4 * round) { // the table of the first round is too large for the second
			require.True(t, set.Add(fmt.Append(nil, i)))
		}
		set.Reset()
	}
}
