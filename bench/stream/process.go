package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// patience is how long a process may take to be ready, or to end.
const patience = 60 * time.Second

// process is a program that is started, says "ready" on a line of its own,
// works until its standard input ends, and then prints a last line.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	lines  chan string // what it prints, line by line; closed at its end
	stderr string      // file
}

// start starts a program in a folder. What it complains of goes to a file there.
func start(ctx context.Context, dir, name string, args ...string) (*process, error) {
	stderr, err := os.CreateTemp(dir, "stderr-")
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	p := &process{cmd: exec.CommandContext(ctx, name, args...), lines: make(chan string, 16), stderr: stderr.Name()}
	p.cmd.Dir, p.cmd.Stderr = dir, stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.lines)
		scanner := bufio.NewScanner(stdout)
		for scanner.Scan() {
			p.lines <- scanner.Text()
		}
	}()
	return p, nil
}

// ready waits until the program says so, and returns what it says behind that.
func (p *process) ready() (string, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return "", p.failure(errors.New("it ended before it was ready"))
			}
			if said, ok := strings.CutPrefix(line, "ready"); ok {
				return strings.TrimSpace(said), nil
			}
		case <-timer.C:
			p.kill()
			return "", p.failure(errors.New("it is not ready in time"))
		}
	}
}

// stop ends the program in good order and returns the last line it prints.
func (p *process) stop() (string, error) {
	_ = p.stdin.Close()
	late := time.AfterFunc(patience, p.kill)
	defer late.Stop()
	last := ""
	for line := range p.lines {
		last = line
	}
	if err := p.cmd.Wait(); err != nil {
		return last, p.failure(err)
	}
	return last, nil
}

func (p *process) kill() { _ = p.cmd.Process.Kill() }

// end kills the program, for when its words do not matter.
func (p *process) end() {
	p.kill()
	_, _ = p.stop()
}

func (p *process) failure(err error) error {
	said, _ := os.ReadFile(p.stderr)
	return fmt.Errorf("%s: %w: %s", filepath.Base(p.cmd.Path), err, said[max(0, len(said)-2000):])
}

// cpu returns the processor time that the program has taken, of which the
// kernel keeps account in hundredths of a second (proc(5), fields 14 and 15).
func (p *process) cpu() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// peak returns the most memory the program has had, in bytes.
func (p *process) peak() int64 {
	text := procField(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid), "VmHWM")
	kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(text, " kB"), 10, 64)
	return kilobytes << 10
}
