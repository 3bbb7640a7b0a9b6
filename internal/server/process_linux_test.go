package server_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

func TestRun_notifiesAnAbstractSocket(t *testing.T) {
	m := manage(t, "@enablers-test-"+rand.Text())
	p := servertest.Start(t, command(nil, func(context.Context, *slog.Logger) []server.Part {
		return []server.Part{{Name: "part", Run: idle}}
	}))
	require.Equal(t, "READY=1\nSTATUS=serving", m.next())
	require.NoError(t, p.Stop())
}
