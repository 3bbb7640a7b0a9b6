//go:build linux

package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/interop"
)

// server is a process of a block that may end by itself.
type server struct {
	*interop.Process
	block block
	kinds []kind
	port  int
}

// launch is how a server is started. The zero value is the usual way.
type launch struct {
	program     string // another one than the block's
	descriptors int    // the limit of open files
	environment []string
	port        int // that of an earlier process; otherwise a new one
}

// launched starts a server over a folder and waits for nothing.
func (b block) launched(t *testing.T, data string, how launch) *server {
	t.Helper()
	port := how.port
	if port == 0 {
		port = newPort()
	}
	program := filepath.Join(os.Getenv(programs), b.command)
	if how.program != "" {
		program = how.program
	}
	arguments := append([]string{program, "-data", data, "-log-level", "info"}, b.arguments(port)...)
	if how.descriptors > 0 {
		arguments = append([]string{"/bin/sh", "-c", `ulimit -n ` + strconv.Itoa(how.descriptors) + ` && exec "$@"`, "sh"}, arguments...)
	}
	command := exec.Command(arguments[0], arguments[1:]...)
	command.Dir = os.Getenv(programs)
	command.Env = append(os.Environ(), how.environment...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s := &server{block: b, port: port, kinds: b.kinds(port, data)}
	s.Process = interop.StartProcess(t, command)
	return s
}

// try starts a server, and reports whether it listens. If not, it has ended as it should: with
// one line that begins with its name, which try returns.
func (b block) try(t *testing.T, data string, how launch) (s *server, line string, listens bool) {
	t.Helper()
	s = b.launched(t, data, how)
	if _, listens = s.FindLine("listening on "); listens {
		return s, "", true
	}
	return s, s.refusal(t), false
}

// start starts a server, which has to listen.
func (b block) start(t *testing.T, data string) *server {
	t.Helper()
	s, line, listens := b.try(t, data, launch{})
	require.True(t, listens, line)
	return s
}

var logged = regexp.MustCompile(`^(time=\d|\{"time")`)

// refusal waits for the end of the server and returns its message. The message has one line.
func (s *server) refusal(t *testing.T) string {
	t.Helper()
	status := s.AwaitEnd()
	said := s.Output()
	require.Equal(t, 1, status, "%s ended with this status:\n%s", s.block.command, said)
	s.calm(t)
	var lines []string
	for line := range strings.Lines(said) {
		if !logged.MatchString(line) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	require.Len(t, lines, 1, "one line says why %s ended:\n%s", s.block.command, said)
	require.True(t, strings.HasPrefix(lines[0], s.block.command+": "), lines[0])
	return lines[0]
}

// calm checks that the server did not panic.
func (s *server) calm(t *testing.T) {
	t.Helper()
	for _, word := range []string{"panic", "goroutine ", "fatal error", "SIGBUS", "SIGSEGV"} {
		require.NotContains(t, s.Output(), word)
	}
}

// end stops the server in order.
func (s *server) end(t *testing.T) {
	t.Helper()
	s.Stop()
	require.Zero(t, s.AwaitEnd(), s.Output())
	s.calm(t)
}
