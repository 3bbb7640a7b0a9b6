package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun_logsFailedCallsOfTheGateway(t *testing.T) {
	p := start(t, "-data", t.TempDir())
	status, _ := ask(t, http.MethodGet, p.gateway+"/nowhere?apikey=secret-key", "secret-token", "", nil)
	require.Equal(t, http.StatusNotFound, status)
	p.Log.Await(t, `"reason":"no_route"`)
	require.NoError(t, p.Stop())
	for line := range strings.Lines(p.Log.String()) {
		require.NotContains(t, line, "secret-")
		if strings.Contains(line, "no_route") {
			require.True(t, json.Valid([]byte(line)), line)
		}
	}
}

func TestRun_logsNothingOfTheGatewayIfItIsOff(t *testing.T) {
	name := filepath.Join(t.TempDir(), "access.log")
	p := start(t, "-data", t.TempDir(), "-access-log", "off", "-access-log-file", name)
	ask(t, http.MethodGet, p.gateway+"/nowhere", "", "", nil)
	require.NoError(t, p.Stop())
	require.NotContains(t, p.Log.String(), "no_route")
	_, err := os.Stat(name)
	require.ErrorIs(t, err, os.ErrNotExist)
}
