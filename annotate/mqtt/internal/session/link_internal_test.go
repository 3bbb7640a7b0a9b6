package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLink_pause_growsToItsBound(t *testing.T) {
	require.LessOrEqual(t, longest, 1<<10, "counting on from it must not overflow 32 bits")
	config := &Config{ReconnectMin: 100 * time.Millisecond, ReconnectMax: 5 * time.Second}
	l := newLink(Client{Config: config, Version: dialect{}}, forgotten{})
	defer l.abort()
	require.LessOrEqual(t, l.pause(0), config.ReconnectMin)
	for _, n := range []int{10, longest - 1, longest, longest + 1, 10 * longest} {
		require.GreaterOrEqual(t, l.pause(n), config.ReconnectMax/2)
		require.LessOrEqual(t, l.pause(n), config.ReconnectMax)
	}
}
