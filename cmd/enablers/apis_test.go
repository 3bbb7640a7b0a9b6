package main

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/host"
)

func TestAPIs_library_leavesNoConnection(t *testing.T) {
	var opened, closed atomic.Int32
	service := httptest.NewUnstartedServer(http.NotFoundHandler())
	service.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			opened.Add(1)
		case http.StateClosed:
			closed.Add(1)
		}
	}
	service.Start()
	defer service.Close()

	s, err := readSettings([]string{"-access", "none"})
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	d, err := s.Door.Open(t.Context(), door.Config{Name: "enablers", Logger: log})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	(&library{env: &host.Env{Door: d, Logger: log}}).publish(t.Context(), []ownAPI{
		{enabler: "one", address: service.URL}, {enabler: "another", address: service.URL + "/another"},
	})
	require.EqualValues(t, 1, opened.Load(), "the second request uses the connection of the first")
	require.Eventually(t, func() bool { return closed.Load() == 1 }, time.Minute, time.Millisecond)
}
