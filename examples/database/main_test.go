package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun_mapsTwoTables(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), t.TempDir(), &out))
	require.Contains(t, out.String(), `ex:height "2.15E1"^^<http://www.w3.org/2001/XMLSchema#double>`)
	require.Contains(t, out.String(), "<http://example.org/sensor/t2> sosa:isHostedBy <http://example.org/place/cellar>")
}
