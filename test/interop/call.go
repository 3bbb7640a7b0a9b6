package interop

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Ask sends a request, with a body in JSON if there is one.
func Ask(t testing.TB, method, url string, body []byte) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(read)
}

// Call sends a request to the server, and returns the body of its answer, whose status has to be 200.
func (s *Server) Call(t testing.TB, method, path string, body []byte) string {
	t.Helper()
	status, text := Ask(t, method, s.URL+path, body)
	require.Equal(t, http.StatusOK, status, "%s %s: %s", method, path, text)
	return text
}

// StartCollector starts a training collector, and starts the job 1 there with the configuration in a
// file, to which edit may make a change; nil makes none.
func StartCollector(t testing.TB, file string, edit func([]byte) []byte, arguments ...string) *Server {
	t.Helper()
	server := StartServer(t, Build(t, "flcollector"), append([]string{"-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0",
		"-fleet", "127.0.0.1:0", "-data", t.TempDir()}, arguments...)...)
	job, err := os.ReadFile(file)
	require.NoError(t, err)
	if edit != nil {
		job = edit(job)
	}
	require.Equal(t, "200", strings.TrimSpace(server.Call(t, http.MethodPost, "/job/config/1", job)))
	return server
}

// AwaitJob returns when the job 1 of a training collector has finished, and decodes its status.
func (s *Server) AwaitJob(t testing.TB, into any) {
	t.Helper()
	require.Eventually(t, func() bool {
		var status struct{ Status string }
		text := []byte(s.Call(t, http.MethodGet, "/job/status/1", nil))
		require.NoError(t, json.Unmarshal(text, &status))
		require.NoError(t, json.Unmarshal(text, into))
		return status.Status == "FINISHED"
	}, startLimit+time.Minute, 20*time.Millisecond)
}

// PythonScript returns the command that runs a script of the test's package with an interpreter.
func PythonScript(t testing.TB, python, script string, arguments ...string) *exec.Cmd {
	t.Helper()
	path, err := filepath.Abs(script)
	require.NoError(t, err)
	command := exec.Command(python, append([]string{path}, arguments...)...)
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "no_grpc_proxy=127.0.0.1")
	return command
}
