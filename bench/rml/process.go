package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// usage is what a process took.
type usage struct {
	wall time.Duration
	cpu  time.Duration // in user and kernel mode
	rss  int64         // peak of the largest process, in bytes
}

// runner runs processes one at a time and measures them.
type runner struct {
	time    string // path of GNU time
	scratch string
	timeout time.Duration
}

var errTimeout = errors.New("timeout")

func newRunner(scratch string, timeout time.Duration) (runner, error) {
	// The peak that the kernel keeps for a child begins with that of the program
	// that started it. GNU time is small.
	path, err := exec.LookPath("time")
	if err != nil {
		return runner{}, errNoTime
	}
	return runner{path, scratch, timeout}, nil
}

// run runs a command in a folder, with standard output to stdout.
func (r runner) run(ctx context.Context, dir string, args []string, stdin io.Reader, stdout io.Writer) (usage, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	report := filepath.Join(r.scratch, "usage")
	cmd := exec.CommandContext(ctx, r.time, append([]string{"-q", "-f", "%M %U %S", "-o", report}, args...)...)
	cmd.Dir = dir
	cmd.Stdin = stdin
	cmd.Stdout = stdout
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	killWithChildren(cmd)
	start := time.Now()
	err := cmd.Run()
	used := usage{wall: time.Since(start)}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return used, errTimeout
	case err != nil:
		return used, fmt.Errorf("%w: %s", err, lastLine(complaint.Bytes()))
	}
	text, err := os.ReadFile(report)
	if err != nil {
		return used, err
	}
	var kilobytes int64
	var user, system float64
	if _, err := fmt.Sscan(string(text), &kilobytes, &user, &system); err != nil {
		return used, fmt.Errorf("read the report of time, %q: %w", text, err)
	}
	used.rss = kilobytes << 10
	used.cpu = time.Duration((user + system) * float64(time.Second))
	return used, nil
}
