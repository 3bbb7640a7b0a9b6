package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server/servertest"
)

func TestRun_servesMetrics(t *testing.T) {
	p := start(t)
	servertest.CheckMetrics(t, "flcollector", p.web+"/metrics", "")
	servertest.CheckMetrics(t, "flcollector", p.web+"/repository/metrics", "")
	require.NoError(t, p.Stop())
}
