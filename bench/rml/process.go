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
	"strconv"
	"strings"
	"time"
)

// usage is what a process took.
type usage struct {
	wall time.Duration
	rss  int64 // peak of the largest process, in bytes
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
	cmd := exec.CommandContext(ctx, r.time, append([]string{"-q", "-f", "%M", "-o", report}, args...)...)
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
	kilobytes, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return used, fmt.Errorf("read what GNU time reports: %w", err)
	}
	used.rss = kilobytes << 10
	return used, nil
}
