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

// process is a program that runs.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	lines  chan string // what it prints, line by line; closed at its end
	stderr string      // file
}

// start starts a program in a folder. What it complains of goes to a file there.
func start(ctx context.Context, folder, name string, args ...string) (*process, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	stderr, err := os.CreateTemp(folder, "stderr-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = stderr.Close() }()
	p := &process{cmd: exec.CommandContext(ctx, name, args...), lines: make(chan string, 1024), stderr: stderr.Name()}
	p.cmd.Dir, p.cmd.Stderr = folder, stderr
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

// await waits for a line that begins so, and returns the rest of it.
func (p *process) await(ctx context.Context, prefix string) (string, error) {
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return "", p.failure(fmt.Errorf("it ended without %q", prefix))
			}
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				return rest, nil
			}
		case <-ctx.Done():
			return "", p.failure(fmt.Errorf("wait for %q: %w", prefix, context.Cause(ctx)))
		}
	}
}

// rest waits until the program has ended by itself, and returns the lines that
// nobody has read.
func (p *process) rest() ([]string, error) {
	late := time.AfterFunc(patience, p.kill)
	defer late.Stop()
	var lines []string
	for line := range p.lines {
		lines = append(lines, line)
	}
	if err := p.cmd.Wait(); err != nil {
		return lines, p.failure(err)
	}
	return lines, nil
}

func (p *process) kill() { _ = p.cmd.Process.Kill() }

// end kills the program, should it still run, and waits for its end.
func (p *process) end() {
	p.kill()
	_, _ = p.rest() // says that it was killed
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
func (p *process) peak() (int64, error) {
	text := procField(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid), "VmHWM")
	kilobytes, err := strconv.ParseInt(strings.TrimSuffix(text, " kB"), 10, 64)
	if err != nil {
		return 0, p.failure(errors.New("the system does not say how much memory it had"))
	}
	return kilobytes << 10, nil
}
