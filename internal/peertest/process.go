package peertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// outputKept is how many bytes of a process's output are kept.
const outputKept = 64 << 10

// ErrEnded is the error of a wait for a process that has ended.
var ErrEnded = errors.New("the process has ended")

// Process is a running program.
type Process struct {
	command *exec.Cmd
	output  output
	ended   chan struct{}
}

// Start starts the command, whose Stdout and Stderr must be nil.
func Start(command *exec.Cmd) (*Process, error) { return StartBy(command, command.Start) }

// StartBy is Start for a command that has to be started somewhere, such as in a network
// namespace: start calls the command's Start there.
func StartBy(command *exec.Cmd, start func() error) (*Process, error) {
	p := &Process{command: command, ended: make(chan struct{})}
	p.output.changed = make(chan struct{})
	command.Stdout, command.Stderr = &p.output, &p.output
	command.WaitDelay = time.Second // a grandchild may hold the pipe
	if err := start(); err != nil {
		return nil, err
	}
	go func() {
		_ = command.Wait() // how it ended is in the state of the command
		close(p.ended)
	}()
	return p, nil
}

// Pid returns the identifier of the process.
func (p *Process) Pid() int { return p.command.Process.Pid }

// Output returns the end of what the process wrote to standard output and
// standard error, up to 64 KiB.
func (p *Process) Output() string { return p.output.String() }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

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

// FindLine waits for a line of output that begins with prefix, and returns the
// rest of it. The error is [ErrEnded] if the process ends before, else that of the context.
func (p *Process) FindLine(ctx context.Context, prefix string) (string, error) {
	for over := false; ; {
		changed := p.output.next()
		for line := range strings.Lines(p.Output()) {
			rest, found := strings.CutPrefix(line, prefix)
			if found && strings.HasSuffix(line, "\n") {
				return strings.TrimRight(rest, "\r\n"), nil
			}
		}
		if over {
			return "", fmt.Errorf("wait for %q: %w", prefix, ErrEnded)
		}
		select {
		case <-changed:
		case <-p.ended:
			over = true
		case <-ctx.Done():
			return "", fmt.Errorf("wait for %q: %w", prefix, ctx.Err())
		}
	}
}

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
