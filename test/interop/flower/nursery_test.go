package flower_test

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// nurseries are the processes of testdata/nursery.py by their Python, which run for as
// long as the tests: until their standard input ends.
var nurseries = struct {
	sync.Mutex
	sockets map[string]string
	all     []nurse
}{sockets: map[string]string{}}

// nurse is such a process, and its standard input.
type nurse struct {
	*exec.Cmd
	input io.Closer
}

// endNurseries ends them.
func endNurseries() {
	nurseries.Lock()
	defer nurseries.Unlock()
	for _, n := range nurseries.all {
		_ = n.input.Close()
		_ = n.Wait() // how it ends does not matter any more
	}
}

// nursery returns the socket of the process that runs programs with a Python.
func nursery(t testing.TB, python string) string {
	t.Helper()
	nurseries.Lock()
	defer nurseries.Unlock()
	if socket := nurseries.sockets[python]; socket != "" {
		return socket
	}
	socket := filepath.Join(workshop, fmt.Sprintf("%d.sock", len(nurseries.sockets)))
	path, err := filepath.Abs(filepath.Join("testdata", "nursery.py"))
	require.NoError(t, err)
	command := exec.Command(python, path, socket)
	command.Dir, command.Env = workshop, pythonEnvironment()
	input, err := command.StdinPipe()
	require.NoError(t, err)
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err, "a Python does not start")
	require.Equal(t, "ready\n", line)
	nurseries.sockets[python], nurseries.all = socket, append(nurseries.all, nurse{command, input})
	return socket
}
