package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// patience is how long a process may take to be ready.
const patience = 60 * time.Second

// process is a program that runs.
type process struct {
	cmd    *exec.Cmd
	lines  chan string // what it prints first, line by line
	stderr string      // file
}

// start starts a program in a folder, with more environment variables. What it
// complains of goes to a file there.
func start(ctx context.Context, folder string, environment []string, name string, args ...string) (*process, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	stderr, err := os.CreateTemp(folder, "stderr-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = stderr.Close() }()
	p := &process{cmd: exec.CommandContext(ctx, name, args...), lines: make(chan string, 16), stderr: stderr.Name()}
	p.cmd.Dir, p.cmd.Stderr = folder, stderr
	p.cmd.Env = append(os.Environ(), environment...)
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.lines)
		scanner := bufio.NewScanner(stdout)
		for scanner.Scan() {
			select {
			case p.lines <- scanner.Text():
			default: // nobody waits for it any more
			}
		}
	}()
	return p, nil
}

// await waits for a line that begins so, and returns the rest of it.
func (p *process) await(prefix string) (string, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return "", p.failure(errors.New("it ended before it was ready"))
			}
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				return rest, nil
			}
		case <-timer.C:
			return "", p.failure(errors.New("it is not ready in time"))
		}
	}
}

// end kills the program and waits for its end.
func (p *process) end() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // says that it was killed
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
