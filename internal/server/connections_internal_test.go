package server

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFlags_Connections_resolvesTheBoundOnce(t *testing.T) {
	f := NewFlags("test", "TEST", "a test")
	connections := f.Connections()
	inherited := connections.max
	require.LessOrEqual(t, inherited, most)
	require.GreaterOrEqual(t, inherited, 16)
	for _, wrong := range []string{"-1", "1", "many", "4x", "", "7 7"} {
		require.ErrorContains(t, f.Parse([]string{"-max-connections", wrong}), "max-connections")
		require.Equal(t, inherited, connections.max)
	}
	require.NoError(t, f.Parse([]string{"-max-connections", "7"}))
	require.Equal(t, 7, connections.max)
	require.NoError(t, f.Parse([]string{"-max-connections", "0"}))
	require.Equal(t, inherited, connections.max)
	require.Equal(t, "0", f.Lookup("max-connections").Value.String())
}
