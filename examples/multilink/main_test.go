package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestRun_failoverLosesNoFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		require.NoError(t, run(t.Context(), &out))
		require.Equal(t, `connected over wifi0
wifi0 is cut
200 of 200 frames arrived, the last of them over mesh0
`, out.String())
	})
}
