package rig

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Patience is how long a process may take to be ready, or to end.
const Patience = 60 * time.Second

// unread is how many lines are kept for one who awaits them.
const unread = 1024

// Process is a program that runs. One goroutine at a time may use it, but
// [Process.CPU] and [Process.Peak] may be called by any.
type Process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	lines  chan string // what it prints; the oldest lines make room for newer ones
	stderr string      // file
}

// Start starts a program in a folder, which is made if need be, with more
// environment variables. Its standard input stays open until [Process.Stop].
// What it complains of goes to a file in the folder. It is killed when the
// context ends; the caller has to end it in any case, with Rest, Stop or End.
func Start(ctx context.Context, folder string, environment []string, name string, args ...string) (*Process, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	stderr, err := os.CreateTemp(folder, "stderr-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = stderr.Close() }() // the program has its own
	p := &Process{cmd: exec.CommandContext(ctx, name, args...), lines: make(chan string, unread), stderr: stderr.Name()}
	p.cmd.Dir, p.cmd.Stderr = folder, stderr
	p.cmd.Env = append(os.Environ(), environment...)
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
	go p.read(stdout)
	return p, nil
}

// read takes all that the program prints, so that it is never held up.
func (p *Process) read(stdout io.Reader) {
	defer close(p.lines)
	scanner := bufio.NewScanner(stdout)
	for scanner.Scan() {
		line := scanner.Text()
		select {
		case p.lines <- line:
			continue
		default:
		}
		select {
		case <-p.lines:
		default: // taken just now
		}
		p.lines <- line // there is room: this is the only sender
	}
	_, _ = io.Copy(io.Discard, stdout) // after a line that is too long
}

// Await waits for a line that begins so, as long as [Patience] allows, and
// returns the rest of it.
func (p *Process) Await(ctx context.Context, prefix string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, Patience, errors.New("it is not ready in time"))
	defer cancel()
	return p.AwaitWork(ctx, prefix)
}

// AwaitWork is Await for what takes longer: as long as the context allows.
func (p *Process) AwaitWork(ctx context.Context, prefix string) (string, error) {
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return "", p.Failure(fmt.Errorf("it ended without %q", prefix))
			}
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				return strings.TrimSpace(rest), nil
			}
		case <-ctx.Done():
			return "", p.Failure(fmt.Errorf("wait for %q: %w", prefix, context.Cause(ctx)))
		}
	}
}

// Rest waits until the program has ended by itself, and returns the lines that
// were not awaited, the last 1024 at the most. After [Patience] the program is
// killed.
func (p *Process) Rest() ([]string, error) {
	late := make(chan struct{})
	timer := time.AfterFunc(Patience, func() { p.Kill(); close(late) })
	defer timer.Stop()
	lines := p.collect(late)
	err := p.cmd.Wait()
	lines = append(lines, p.collect(nil)...) // nothing more can come
	lines = lines[max(0, len(lines)-unread):]
	if err != nil {
		return lines, p.Failure(err)
	}
	return lines, nil
}

// collect takes what is printed up to the end, unless it is given up before.
func (p *Process) collect(giveUp <-chan struct{}) (lines []string) {
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return lines
			}
			if lines = append(lines, line); len(lines) >= 2*unread {
				lines = append(lines[:0], lines[unread:]...)
			}
		case <-giveUp:
			return lines
		}
	}
}

// Stop is [Process.Rest] for a program that ends when its standard input does.
// It returns the last line.
func (p *Process) Stop() (string, error) {
	_ = p.stdin.Close() // it may have ended
	lines, err := p.Rest()
	return strings.Join(lines[max(0, len(lines)-1):], ""), err
}

// End kills the program, should it still run, and waits for its end. It may be
// called again, and after the others.
func (p *Process) End() {
	p.Kill()
	_ = p.cmd.Wait() // reports that it was killed, or that it ended before
	p.collect(nil)
}

// Kill kills the program, should it still run. It still has to be waited for.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() }

// Failure is an error of the program, with the end of what it complained of.
func (p *Process) Failure(err error) error {
	said, _ := os.ReadFile(p.stderr)
	return fmt.Errorf("%s: %w: %s", filepath.Base(p.cmd.Path), err, said[max(0, len(said)-2000):])
}

// ID is the number of the process.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// CPU returns the processor time that the program has taken, of which the
// kernel keeps account in hundredths of a second (proc(5), fields 14 and 15).
// It is zero once the program has ended.
func (p *Process) CPU() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.ID()))
	if err != nil {
		return 0
	}
	return processorTime(string(stat))
}

// processorTime reads a file /proc/PID/stat, whose second field is a name that
// may have spaces and parentheses in it.
func processorTime(stat string) time.Duration {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// Peak returns the most memory that the program has had, in bytes. It is zero
// once the program has ended.
func (p *Process) Peak() int64 {
	text := ProcField(fmt.Sprintf("/proc/%d/status", p.ID()), "VmHWM")
	kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(text, " kB"), 10, 64)
	return kilobytes << 10
}

// Printed returns the first line that a command prints, or why there is none.
func Printed(ctx context.Context, name string, args ...string) string {
	output, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return filepath.Base(name) + ": " + err.Error()
	}
	return FirstLine(strings.TrimSpace(string(output)))
}

// FreeAddress returns a HOST:PORT of loopback where nothing listens, for a
// program that cannot choose one and print it.
func FreeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
