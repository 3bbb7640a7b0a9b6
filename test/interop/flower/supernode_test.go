package flower_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/interop"
)

// superNodes are releases for the two ways in which SuperNodes speak, gRPC and,
// since 1.40, HTTP, each with its options for an address of its own.
var superNodes = map[string]func(host, port string) []string{
	"1.30.0": func(host, port string) []string {
		return []string{"--clientappio-api-address", net.JoinHostPort(host, port)}
	},
	newest: func(host, port string) []string { return []string{"--host", host, "--port", port} },
}

func TestCollector_superNode_isRefusedWithAHint(t *testing.T) {
	for version, at := range superNodes {
		t.Run(version, func(t *testing.T) {
			python := install(t, version)
			c := startCollector(t, setup{})
			home := t.TempDir()
			command := exec.Command(filepath.Join(filepath.Dir(python), "flower-supernode"), "--insecure",
				"--superlink", c.clients)
			command.Args = append(command.Args, at(freeAddress(t))...)
			command.Env = append(os.Environ(), "FLWR_HOME="+home, "FLWR_TELEMETRY_ENABLED=0", "COLUMNS=2000",
				"PATH="+filepath.Dir(python)+string(os.PathListSeparator)+os.Getenv("PATH"))
			node := interop.StartProcess(t, command)
			select {
			case <-node.Ended():
			case <-time.After(time.Minute):
				require.Fail(t, "the SuperNode goes on", node.Output())
			}
			require.NotZero(t, node.AwaitEnd())
			require.Contains(t, node.Output(), "This port is not for SuperNodes")
			require.Contains(t, node.Output(), "Start flower-supernode with --superlink ")
			require.Contains(t, node.Output(), "which is the address of -fleet")
			require.Contains(t, c.Output(), "a SuperNode was refused")
		})
	}
}

// freeAddress returns an address on which nothing listens: a SuperNode takes no
// port of 0.
func freeAddress(t testing.TB) (host, port string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	host, port, err = net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return host, port
}
