package interop

import (
	"bytes"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	startLimit = 3 * time.Minute // for a process to print or do what is awaited
	stopLimit  = 2 * time.Minute // for a process to end after SIGTERM
	outputKept = 64 << 10        // bytes of a process's output
)

// Process is a running program. It is killed at the end of the test, and what
// it wrote is logged if the test failed.
type Process struct {
	t       testing.TB
	command *exec.Cmd
	output  output
	ended   chan struct{}
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
	p := &Process{t: t, command: command, ended: make(chan struct{})}
	p.output.changed = make(chan struct{})
	command.Stdout, command.Stderr = &p.output, &p.output
	command.WaitDelay = time.Second // a grandchild may hold the pipe
	if err := start(); err != nil {
		t.Fatalf("start %s: %v", command, err)
	}
	go func() {
		_ = command.Wait() // how it ended does not matter, the tests look at what it did
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("output of %s:\n%s", command, p.Output())
		}
	})
	return p
}

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// AwaitEnd waits until the process ends by itself and returns its exit code, -1
// if a signal ended it. A process that takes minutes fails the test.
func (p *Process) AwaitEnd() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(startLimit):
		p.t.Fatalf("%s did not end within %s:\n%s", p.command, startLimit, p.Output())
	}
	return p.command.ProcessState.ExitCode()
}

// Output returns the end of what the process wrote to standard output and
// standard error, up to 64 KiB.
func (p *Process) Output() string { return p.output.String() }

// Kill ends the process without a warning, as kill -9 does, and waits for its
// end. It does nothing if the process has ended.
func (p *Process) Kill() {
	select {
	case <-p.ended:
		return
	default:
	}
	_ = p.command.Process.Kill() // fails only if the process ends by itself meanwhile
	<-p.ended
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
	case <-p.ended:
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
	timeout := time.After(startLimit)
	for over := false; ; {
		changed := p.output.next()
		for line := range strings.Lines(p.Output()) {
			rest, found := strings.CutPrefix(line, prefix)
			if found && strings.HasSuffix(line, "\n") {
				return strings.TrimRight(rest, "\r\n"), true
			}
		}
		if over {
			return "", false
		}
		select {
		case <-changed:
		case <-p.ended:
			over = true
		case <-timeout:
			p.t.Fatalf("%s did not write %q within %s:\n%s", p.command, prefix, startLimit, p.Output())
		}
	}
}

// Pid returns the identifier of the process.
func (p *Process) Pid() int { return p.command.Process.Pid }

// output keeps the end of what is written to it.
type output struct {
	mu      sync.Mutex
	text    []byte
	changed chan struct{} // closed by the next Write
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, text...)
	if surplus := len(o.text) - outputKept; surplus > 0 {
		o.text = append(o.text[:0], o.text[surplus:]...)
	}
	close(o.changed)
	o.changed = make(chan struct{})
	return len(text), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(bytes.ToValidUTF8(o.text, []byte("?")))
}

// next returns a channel that is closed when there is more output.
func (o *output) next() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.changed
}
