package main

import (
	"bytes"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun_mapsAnEndpointAndAThing(t *testing.T) {
	server := httptest.NewServer(services())
	defer server.Close()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), server.URL, &out))
	require.Contains(t, out.String(), "sosa:isHostedBy <http://example.org/room/a>")
	require.Contains(t, out.String(), `sosa:hasSimpleResult "2.15E1"^^<http://www.w3.org/2001/XMLSchema#double>`)
}
