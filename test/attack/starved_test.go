//go:build unix

package attack_test

import (
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/interop"
)

// starved are all servers, with the flags of their listeners.
var starved = map[string][]string{
	"annotator":   {"-listen"},
	"modelrepo":   {"-listen"},
	"flcollector": {"-listen", "-grpc-listen"},
	"apimanager":  {"-listen", "-gateway-listen", "-admin-listen"},
	"multilink":   {"-listen"},
	"enablers": {"-listen", "-mqtt", "-modelrepo", "-flcollector", "-flcollector-grpc", "-apimanager", "-gateway", "-gateway-admin",
		"-multilink", "-multilink-client"},
}

// startStarved starts a command after a line of the shell.
func startStarved(t *testing.T, name, shell, data string) *interop.Process {
	t.Helper()
	arguments := []string{"-c", shell + `; exec "$0" "$@"`, markedProgram(t, name), "-data", data}
	for _, flag := range starved[name] {
		arguments = append(arguments, flag, "127.0.0.1:0")
	}
	if name == "multilink" {
		arguments = append(arguments, "-role", "server", "-allow", "nothing", "-tap", "tstarved0", "-token", strings.Repeat("t", 32))
	}
	command := exec.Command("/bin/sh", arguments...)
	command.Dir = t.TempDir()
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + command.Dir}
	return interop.StartProcess(t, command)
}

// startedAt waits for the address of the first listener.
func startedAt(p *interop.Process) string {
	return strings.TrimSuffix(strings.Fields(p.AwaitLine("listening on "))[0], "/")
}

// statusOf asks over a connection of its own.
func statusOf(t *testing.T, address string) int {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	answer, err := transport.RoundTrip(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode
}

// A server that may have 64 open files answers while 500 connections say nothing, and says what
// happens.
func TestConnections_thatSayNothingKeepNoneOut(t *testing.T) {
	for name := range starved {
		t.Run(name, func(t *testing.T) {
			p := startStarved(t, name, "ulimit -n 64", filepath.Join(t.TempDir(), "data"))
			address := startedAt(p)
			at, err := url.Parse(address)
			require.NoError(t, err)
			for range 5 {
				for range 100 {
					conn, err := net.Dial("tcp", at.Host)
					require.NoError(t, err)
					defer func() { _ = conn.Close() }()
				}
				require.Equal(t, http.StatusOK, statusOf(t, address+"/healthz"))
			}
			require.Contains(t, p.Output(), "level=WARN")
			require.Contains(t, p.Output(), "too many connections")
			p.Stop()
		})
	}
}
