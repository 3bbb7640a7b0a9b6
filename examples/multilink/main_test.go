package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFailoverLosesNoFrame(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(t.Context(), &out))
	require.Equal(t, `connected over wifi0
wifi0 is cut
200 of 200 frames arrived, the last of them over mesh0
`, out.String())
}
