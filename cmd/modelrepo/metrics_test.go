package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server/servertest"
)

func TestRun_servesMetrics(t *testing.T) {
	_, url, p := start(t, "-store", "memory:")
	servertest.CheckMetrics(t, "modelrepo", url+"/metrics", "")
	require.NoError(t, p.Stop())
}
