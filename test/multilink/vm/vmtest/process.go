//go:build linux

package vmtest

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/iotenablers/enablers/test/multilink/vm/wire"
)

// runLimit is how long a process may take that is waited for.
const runLimit = time.Minute

// Namespace is where processes of the guest are started.
type Namespace struct {
	guest  *Guest
	prefix []string
}

// Run runs a program and returns what it wrote to its standard output and error.
// It fails the test when the program does, or takes a minute.
func (n *Namespace) Run(tb testing.TB, argv ...string) string {
	tb.Helper()
	said, err := n.Try(argv...)
	if err != nil {
		tb.Fatal(err)
	}
	return said
}

// Try is Run for commands that may fail.
func (n *Namespace) Try(argv ...string) (string, error) {
	p, err := n.start(Program{Argv: argv})
	if err != nil {
		return "", err
	}
	select {
	case <-p.Ended():
	case <-time.After(runLimit):
		p.Signal(syscall.SIGKILL)
		return p.Output(), fmt.Errorf("run %q: it takes more than %v: %s", argv, runLimit, p.Output())
	}
	if err := p.Err(); err != nil {
		return p.Output(), fmt.Errorf("run %q: %w: %s", argv, err, strings.TrimSpace(p.Output()))
	}
	return p.Output(), nil
}

// Program is what to start.
type Program struct {
	// Argv is the program, by its path or found in PATH, and its arguments.
	Argv []string
	// Env are variables besides those that every process gets, as NAME=VALUE.
	Env []string
	// Stdout takes the standard output, a piece at a time. By default it is
	// part of Output.
	Stdout io.Writer
}

// Start starts a program that runs until the machine ends or it is signalled.
// It fails the test when that is not possible.
func (n *Namespace) Start(tb testing.TB, program Program) *Process {
	tb.Helper()
	p, err := n.start(program)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func (n *Namespace) start(program Program) (*Process, error) {
	g := n.guest
	g.mu.Lock()
	if g.over != nil {
		g.mu.Unlock()
		return nil, fmt.Errorf("start %q: %w", program.Argv, g.over)
	}
	g.last++
	p := &Process{guest: g, id: g.last, name: strings.Join(program.Argv, " "), stdout: program.Stdout,
		ended: make(chan struct{})}
	g.processes[p.id] = p
	g.mu.Unlock()
	argv := slices.Concat(n.prefix, program.Argv)
	g.Logf("[%d] $ %s", p.id, strings.Join(argv, " "))
	if err := g.ask(wire.Request{ID: p.id, Start: &wire.Start{Argv: argv, Env: program.Env}}); err != nil {
		return nil, fmt.Errorf("start %q: %w", program.Argv, err)
	}
	return p, nil
}

// Process is one in the guest. It is safe for use by several goroutines.
type Process struct {
	guest  *Guest
	id     uint64
	name   string
	stdout io.Writer
	ended  chan struct{}

	mu     sync.Mutex
	output bytes.Buffer
	exit   wire.Exit
}

// take takes a report of the guest. Those of one process come one after the other.
func (p *Process) take(report wire.Report) {
	if p.stdout != nil && len(report.Output) > 0 {
		_, _ = p.stdout.Write(report.Output)
		report.Output = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, piece := range [][]byte{report.Output, report.Complaint} {
		if len(piece) > 0 {
			p.output.Write(piece)
			p.guest.Logf("[%d] %s", p.id, strings.TrimRight(string(piece), "\n"))
		}
	}
	if report.Exit != nil {
		p.exit = *report.Exit
		p.guest.Logf("[%d] ended: %d %s", p.id, p.exit.Code, p.exit.Cause)
		close(p.ended)
	}
}

// Output returns what the process wrote so far.
func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// Ended returns a channel that is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Err returns nil while the process runs, and if it ended well.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.exit.Cause != "":
		return fmt.Errorf("it ended: %s", p.exit.Cause)
	case p.exit.Code != 0:
		return fmt.Errorf("it ended with status %d", p.exit.Code)
	}
	return nil
}

// Signal sends a signal to the process and to all that it started, if it still
// runs.
func (p *Process) Signal(signal syscall.Signal) {
	_ = p.guest.ask(wire.Request{ID: p.id, Signal: int(signal)}) // else it has ended
}

// Stop signals the process and waits for its end. It fails the test when that does
// not come.
func (p *Process) Stop(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	p.Signal(signal)
	select {
	case <-p.ended:
	case <-time.After(runLimit):
		tb.Fatalf("stop %q: it runs %v later", p.name, runLimit)
	}
}

// Input writes to the standard input of the process.
func (p *Process) Input(piece []byte) error {
	return p.guest.ask(wire.Request{ID: p.id, Input: piece})
}
