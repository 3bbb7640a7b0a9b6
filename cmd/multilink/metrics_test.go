package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server/servertest"
)

func TestRun_servesMetrics(t *testing.T) {
	t.Setenv("MULTILINK_TOKEN", "a token for tests, long enough")
	p := start(t, "-data", t.TempDir())
	servertest.CheckMetrics(t, "multilink", p.address+"/metrics", "a token for tests, long enough")
	require.NoError(t, p.Stop())
}
