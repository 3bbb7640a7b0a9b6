//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/iotenablers/enablers/test/multilink/vm/wire"
)

// backlog is how many pieces of input may wait for a process.
const backlog = 256

// drainLimit is how long a process that has ended may leave its output open, by
// what it started.
const drainLimit = time.Second

// server does what the host asks.
type server struct {
	port io.ReadWriter

	writing sync.Mutex // of lines to the port

	mu        sync.Mutex
	processes map[uint64]*process
}

// process is one that the host started.
type process struct {
	command *exec.Cmd
	input   chan []byte
}

func newServer(port io.ReadWriter) *server {
	return &server{port: port, processes: map[uint64]*process{}}
}

// serve reports that the guest is ready and then serves the host until that asks
// for the end.
func (s *server) serve(ready wire.Ready) error {
	s.report(wire.Report{Ready: &ready})
	requests := json.NewDecoder(s.port)
	for {
		var request wire.Request
		if err := requests.Decode(&request); err != nil {
			return fmt.Errorf("read what the host asks: %w", err)
		}
		switch {
		case request.PowerOff:
			return nil
		case request.Start != nil:
			s.start(request.ID, *request.Start)
		default:
			s.tell(request)
		}
	}
}

func (s *server) report(report wire.Report) {
	line, err := json.Marshal(report)
	if err != nil {
		panic(err) // of plain structs
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if _, err := s.port.Write(append(line, '\n')); err != nil {
		fmt.Println("guest: write to the host:", err)
	}
}

// start starts a process and reports what it writes and how it ends.
func (s *server) start(id uint64, start wire.Start) {
	fail := func(err error) {
		s.report(wire.Report{ID: id, Exit: &wire.Exit{Code: -1, Cause: err.Error()}})
	}
	if len(start.Argv) == 0 {
		fail(errors.New("start a process: no program is named"))
		return
	}
	command := exec.Command(start.Argv[0], start.Argv[1:]...)
	command.Env = append(os.Environ(), start.Env...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Stdout = &reporter{server: s, id: id}
	command.Stderr = &reporter{server: s, id: id, complaints: true}
	command.WaitDelay = drainLimit
	input, err := command.StdinPipe()
	if err != nil {
		fail(err)
		return
	}
	if err := command.Start(); err != nil {
		fail(err)
		return
	}
	p := &process{command: command, input: make(chan []byte, backlog)}
	s.mu.Lock()
	s.processes[id] = p
	s.mu.Unlock()
	go feed(input, p.input)
	go s.wait(id, p)
}

// feed writes pieces to the process.
func feed(input io.WriteCloser, pieces <-chan []byte) {
	for piece := range pieces {
		_, _ = input.Write(piece) // a process may end before it has read all
	}
}

func (s *server) wait(id uint64, p *process) {
	err := p.command.Wait()
	s.mu.Lock()
	delete(s.processes, id)
	close(p.input)
	s.mu.Unlock()
	exit := wire.Exit{Code: p.command.ProcessState.ExitCode()}
	if err != nil && exit.Code <= 0 {
		exit.Cause = err.Error()
	}
	s.report(wire.Report{ID: id, Exit: &exit})
}

// tell passes input and signals to a process, if it still runs.
func (s *server) tell(request wire.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, runs := s.processes[request.ID]
	if !runs {
		return
	}
	if len(request.Input) > 0 {
		s.put(p, request.Input)
	}
	if request.Signal != 0 {
		// To all that it started as well.
		_ = syscall.Kill(-p.command.Process.Pid, syscall.Signal(request.Signal))
	}
}

// put ends a process that does not read its input, for it must not hold up the
// others.
func (s *server) put(p *process, piece []byte) {
	select {
	case p.input <- piece:
	default:
		fmt.Printf("guest: %s does not read its input\n", p.command)
		_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
	}
}

// reporter reports what a process writes.
type reporter struct {
	server     *server
	id         uint64
	complaints bool
}

// Write reports a piece, and never fails.
func (r *reporter) Write(piece []byte) (int, error) {
	report := wire.Report{ID: r.id, Output: piece}
	if r.complaints {
		report = wire.Report{ID: r.id, Complaint: piece}
	}
	r.server.report(report)
	return len(piece), nil
}
