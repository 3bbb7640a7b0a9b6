//go:build linux

package vmtest

import (
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/iotenablers/enablers/test/multilink/vm/wire"
)

// transcriptSize is how much of what was done in the guest is kept: its end.
const transcriptSize = 256 << 10

// Guest is a machine that runs. Its methods fail the test, from the test's
// goroutine, when the machine ends too early. They are safe for use by several
// goroutines, but for those that are documented to fail the test.
type Guest struct {
	tb         testing.TB
	port       net.Conn
	ready      chan wire.Ready
	transcript *tail
	begun      time.Time

	writing sync.Mutex // of lines to the port

	mu        sync.Mutex
	last      uint64
	processes map[uint64]*Process
	over      error // why no process can be started any more
}

func newGuest(tb testing.TB, port net.Conn) *Guest {
	g := &Guest{
		tb: tb, port: port,
		ready:      make(chan wire.Ready, 1),
		transcript: &tail{limit: transcriptSize},
		begun:      time.Now(),
		processes:  map[uint64]*Process{},
	}
	go g.listen()
	return g
}

// listen takes what the guest reports until the port ends.
func (g *Guest) listen() {
	reports := json.NewDecoder(g.port)
	for {
		var report wire.Report
		if err := reports.Decode(&report); err != nil {
			g.end(fmt.Errorf("the virtual machine has ended: %w", err))
			return
		}
		if report.Ready != nil {
			g.ready <- *report.Ready
			continue
		}
		g.mu.Lock()
		p := g.processes[report.ID]
		if report.Exit != nil {
			delete(g.processes, report.ID)
		}
		g.mu.Unlock()
		if p != nil {
			p.take(report)
		}
	}
}

// end ends every process that is left.
func (g *Guest) end(cause error) {
	g.mu.Lock()
	left := g.processes
	g.processes, g.over = map[uint64]*Process{}, cause
	g.mu.Unlock()
	for _, p := range left {
		p.take(wire.Report{Exit: &wire.Exit{Code: -1, Cause: cause.Error()}})
	}
}

func (g *Guest) powerOff() {
	_ = g.ask(wire.Request{PowerOff: true}) // it may have ended
	_ = g.port.SetReadDeadline(time.Now().Add(endLimit))
}

func (g *Guest) ask(request wire.Request) error {
	line, err := json.Marshal(request)
	if err != nil {
		return err
	}
	g.writing.Lock()
	defer g.writing.Unlock()
	if _, err := g.port.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write to the virtual machine: %w", err)
	}
	return nil
}

// In returns a network namespace that "ip netns add" made, in which to start
// processes.
func (g *Guest) In(namespace string) *Namespace {
	return &Namespace{guest: g, prefix: []string{"ip", "netns", "exec", namespace}}
}

// Root returns the network namespace of the machine, in which to start processes.
func (g *Guest) Root() *Namespace { return &Namespace{guest: g} }

// Logf notes something among what was done in the guest, which is shown if the
// test fails.
func (g *Guest) Logf(format string, values ...any) {
	fmt.Fprintf(g.transcript, "%7.2f "+format+"\n", append([]any{time.Since(g.begun).Seconds()}, values...)...)
}
