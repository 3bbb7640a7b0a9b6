//go:build unix

package attack_test

import (
	"net"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// A server that may have 64 open files answers while 500 connections say nothing, and says what
// happens.
func TestConnections_thatSayNothingKeepNoneOut(t *testing.T) {
	everyCommand(t, func(t *testing.T, c command) {
		p := c.run(t, options{shell: "ulimit -n 64", tokens: true})
		p.awaitListeners(t)
		at, err := url.Parse(p.at[c.listeners[0]])
		require.NoError(t, err)
		for range 5 {
			for range 100 {
				conn, err := net.Dial("tcp", at.Host)
				require.NoError(t, err)
				defer func() { _ = conn.Close() }()
			}
			a := sendFrom(t, "127.0.0.1", "GET "+at.String()+"/healthz", "", "") // over a connection of its own
			require.Equal(t, http.StatusOK, a.status)
		}
		require.Contains(t, p.Output(), "level=WARN")
		require.Contains(t, p.Output(), "too many connections")
		p.Stop()
	})
}
