package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server/servertest"
)

func TestRun_servesMetrics(t *testing.T) {
	p := start(t)
	for _, url := range []string{p.web, p.models, p.collector, p.portal, p.admin} {
		servertest.CheckMetrics(t, "enablers", url+"/metrics", "")
	}
	require.NoError(t, p.Stop())
}
