package interop

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/iotenablers/enablers/internal/peertest"
)

const (
	startLimit = 3 * time.Minute // for a process to print or do what is awaited
	stopLimit  = 2 * time.Minute // for a process to end after SIGTERM
)

// Process is a running program. It is killed at the end of the test, and what
// it wrote is logged if the test failed.
type Process struct {
	*peertest.Process
	t       testing.TB
	command *exec.Cmd
}

// StartProcess starts the command, whose Stdout and Stderr must be nil.
func StartProcess(t testing.TB, command *exec.Cmd) *Process {
	t.Helper()
	return StartProcessBy(t, command, command.Start)
}

// StartProcessBy is StartProcess for a command that has to be started somewhere,
// such as in a network namespace: start calls the command's Start there.
func StartProcessBy(t testing.TB, command *exec.Cmd, start func() error) *Process {
	t.Helper()
	process, err := peertest.StartBy(command, start)
	if err != nil {
		t.Fatalf("start %s: %v", command, err)
	}
	p := &Process{Process: process, t: t, command: command}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("output of %s:\n%s", command, p.Output())
		}
	})
	return p
}

// AwaitEnd waits until the process ends by itself and returns its exit code, -1
// if a signal ended it. A process that takes minutes fails the test.
func (p *Process) AwaitEnd() int {
	p.t.Helper()
	select {
	case <-p.Ended():
	case <-time.After(startLimit):
		p.t.Fatalf("%s did not end within %s:\n%s", p.command, startLimit, p.Output())
	}
	return p.command.ProcessState.ExitCode()
}

// Stop ends the process with SIGTERM, and waits for its end. A
// process that takes minutes fails the test.
func (p *Process) Stop() {
	p.t.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		p.Kill() // ended already, or a system without SIGTERM
		return
	}
	select {
	case <-p.Ended():
	case <-time.After(stopLimit):
		p.t.Errorf("%s did not end within %s of SIGTERM", p.command.Path, stopLimit)
		p.Kill()
	}
}

// AwaitLine waits for a line of output that begins with prefix, and returns the
// rest of it. A process that ends before, or that takes minutes, fails the test
// at once.
func (p *Process) AwaitLine(prefix string) string {
	p.t.Helper()
	rest, found := p.FindLine(prefix)
	if !found {
		p.t.Fatalf("%s ended before it wrote %q:\n%s", p.command, prefix, p.Output())
	}
	return rest
}

// FindLine is AwaitLine for a process that may end first. It returns false then.
func (p *Process) FindLine(prefix string) (rest string, found bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	rest, err := p.Process.FindLine(ctx, prefix)
	if errors.Is(err, context.DeadlineExceeded) {
		p.t.Fatalf("%s did not write %q within %s:\n%s", p.command, prefix, startLimit, p.Output())
	}
	return rest, err == nil
}
