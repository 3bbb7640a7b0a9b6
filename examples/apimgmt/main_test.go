package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheExampleServesWhatItPublishes(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	require.Contains(t, out.String(), "GET /forecast/{city} is published\n/forecast/Lisbon: 200 sunny, says "+
		"/forecast/Lisbon\n/elsewhere: 404 ")
}
