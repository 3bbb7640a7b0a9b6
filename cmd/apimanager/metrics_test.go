package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server/servertest"
)

func TestRun_servesMetrics(t *testing.T) {
	p := start(t, "-data", t.TempDir())
	servertest.CheckMetrics(t, "apimanager", p.portal+"/metrics", "")
	servertest.CheckMetrics(t, "apimanager", p.admin+"/metrics", "")
	require.NoError(t, p.Stop())
}
