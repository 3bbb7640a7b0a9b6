package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/version"
)

func TestRun_printsTheVersion(t *testing.T) {
	for _, argument := range []string{"version", "-version", "--version"} {
		var stdout bytes.Buffer
		require.NoError(t, run(t.Context(), []string{argument}, nil, &stdout, io.Discard))
		require.Equal(t, "rml "+version.String()+"\n", stdout.String())
	}
}
