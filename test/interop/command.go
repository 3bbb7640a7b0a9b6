package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Build builds a command of this module, such as "annotator", and returns the
// path of the program.
func Build(t testing.TB, command string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), command)
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program,
		"github.com/iotenablers/enablers/cmd/"+command)
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", command, err, said)
	}
	return program
}

// Server is one of our commands that serves HTTP.
type Server struct {
	*Process
	// URL is the address of the first listener, such as "http://127.0.0.1:4711".
	URL string
}

// StartServer starts a program in an empty folder and returns when it has
// written the line that tells where it listens. The arguments should let it
// choose a port ("-listen", "127.0.0.1:0"). The environment is that of the
// test without the variables that configure our servers.
func StartServer(t testing.TB, program string, arguments ...string) *Server {
	t.Helper()
	command := exec.Command(program, arguments...)
	command.Dir = t.TempDir()
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "ANNOTATOR_") || strings.HasPrefix(variable, "MODELREPO_") || strings.HasPrefix(variable, "DB_")
	})
	s := &Server{Process: StartProcess(t, command)}
	address, _, _ := strings.Cut(s.AwaitLine("listening on "), " ")
	s.URL = address
	return s
}
