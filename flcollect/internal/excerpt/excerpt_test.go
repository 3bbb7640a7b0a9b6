package excerpt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
)

func TestCut_endsBetweenCharacters(t *testing.T) {
	require.Equal(t, "ab…", excerpt.Cut("abé", 3))
	require.Equal(t, "abé", excerpt.Cut("abé", 4))
	require.Equal(t, "\uFFFD", excerpt.Cut("\xff", 3))
}
