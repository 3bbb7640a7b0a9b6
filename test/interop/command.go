package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// ProgramsVariable names the environment variable of a folder with programs that were built
// before. Those that are not there are built.
const ProgramsVariable = "ENABLERS_PROGRAMS"

// Build builds a command of this module, such as "annotator", and returns the
// path of the program, which stands in the folder of [ProgramsVariable] if it was built before.
func Build(t testing.TB, command string) string {
	t.Helper()
	program, err := BuildIn(t.TempDir(), command)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// BuildIn is Build for programs that several tests use: the folder is the
// caller's.
func BuildIn(folder, command string) (string, error) {
	name := command
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if made := os.Getenv(ProgramsVariable); made != "" {
		program := filepath.Join(made, name)
		if _, err := os.Stat(program); err == nil {
			return program, nil
		}
	}
	program := filepath.Join(folder, name)
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program,
		"github.com/iotenablers/enablers/cmd/"+command)
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", command, err, said)
	}
	return program, nil
}

// Server is one of our commands that serves HTTP.
type Server struct {
	*Process
	// URL is the address of the first listener, such as "http://127.0.0.1:4711".
	URL string
}

// StartServer starts a program in an empty folder and returns when it has
// written the line with its address. The arguments should let it
// choose a port ("-listen", "127.0.0.1:0"). The environment is that of the
// test without the variables that configure our servers.
func StartServer(t testing.TB, program string, arguments ...string) *Server {
	t.Helper()
	command := exec.Command(program, arguments...)
	command.Dir = t.TempDir()
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return slices.ContainsFunc([]string{"ANNOTATOR_", "APIMANAGER_", "DB_", "MODELREPO_", "FLCOLLECTOR_", "HOST=", "PORT=",
			"FEDERATED_PORT=", "REPOSITORY_ADDRESS=", "ORCHESTRATOR_ADDRESS="},
			func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
	})
	s := &Server{Process: StartProcess(t, command)}
	address, _, _ := strings.Cut(s.AwaitLine("listening on "), " ")
	s.URL = address
	return s
}
