package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server/servertest"
)

func TestRun_servesMetrics(t *testing.T) {
	p := start(t, t.TempDir())
	servertest.CheckMetrics(t, "annotator", p.url+"/metrics", "")
	require.NoError(t, p.stop())
}
