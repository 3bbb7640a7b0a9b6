package interop

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

// Namespaces are for tests that need a root of their own: they run again in mount and network
// namespaces, where nothing of this machine changes.
type Namespaces struct {
	// Variable names the folder of what Build has made, inside the namespaces.
	Variable string
	// Reason says why the tests take root.
	Reason string
	// Build makes what the tests need in a folder that is removed after them. It runs outside.
	Build func(folder string) error
	// Prepare makes the namespaces ready. It runs inside.
	Prepare func() error
}

// Main runs the tests, for the status of the process.
func (n Namespaces) Main(m *testing.M) int {
	status, err := 0, error(nil)
	if os.Getenv(n.Variable) == "" {
		status, err = n.enter()
	} else if err = n.Prepare(); err == nil {
		return m.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tests in namespaces:", err)
		return 1
	}
	return status
}

// enter runs this program's tests in new namespaces.
func (n Namespaces) enter() (status int, err error) {
	if os.Geteuid() != 0 {
		return 0, errors.New(n.Reason)
	}
	folder, err := os.MkdirTemp("", "namespaces")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := n.Build(folder); err != nil {
		return 0, err
	}
	runtime.LockOSThread() // the end of this thread would end the tests
	tests := exec.Command(os.Args[0], os.Args[1:]...)
	tests.Env = append(os.Environ(), n.Variable+"="+folder)
	tests.Stdout, tests.Stderr = os.Stdout, os.Stderr
	tests.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	var failed *exec.ExitError
	if err := tests.Run(); errors.As(err, &failed) {
		return max(failed.ExitCode(), 1), nil
	} else if err != nil {
		return 0, fmt.Errorf("run the tests in namespaces of their own: %w", err)
	}
	return 0, nil
}
