package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server"
)

func TestFlags_Hosts_readsNamesWithCommasBetween(t *testing.T) {
	var hosts []string
	declared := func() *server.Flags {
		f := server.NewFlags("thing", "THING", "thing does things.")
		f.Hosts(&hosts)
		return f
	}
	require.NoError(t, declared().Parse([]string{"-hosts", "a.example, https://b.example:8443 ,"}))
	require.Equal(t, []string{"a.example", "https://b.example:8443"}, hosts)
	t.Setenv("THING_HOSTS", "c.example")
	require.NoError(t, declared().Parse(nil))
	require.Equal(t, []string{"c.example"}, hosts)
	t.Setenv("THING_HOSTS", "c.example:80")
	err := declared().Parse(nil)
	require.ErrorContains(t, err, "THING_HOSTS")
	require.ErrorContains(t, err, "without a port")
}
