package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// sendfileShare watches a download with strace and returns the share of its
// bytes that the kernel sent from the file by itself.
func sendfileShare(ctx context.Context, s server, c content, file string) (float64, error) {
	pid := strconv.Itoa(s.proc().ID())
	tracer := exec.CommandContext(ctx, "strace", "-f", "-q", "-e", "trace=sendfile,splice", "-o", file, "-p", pid)
	if err := tracer.Start(); err != nil {
		return -1, err
	}
	defer func() {
		_ = tracer.Process.Kill()
		_ = tracer.Wait() // reports that it was killed or interrupted
	}()
	deadline := time.Now().Add(10 * time.Second)
	for rig.ProcField("/proc/"+pid+"/status", "TracerPid") == "0" {
		if time.Now().After(deadline) {
			return -1, fmt.Errorf("strace does not get hold of %s", pid)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := receive(ctx, s, c, sha256.New()); err != nil {
		return -1, err
	}
	_ = tracer.Process.Signal(os.Interrupt) // so that it writes the rest
	_ = tracer.Wait()
	text, err := os.ReadFile(file)
	if err != nil {
		return -1, err
	}
	sent := int64(0)
	for line := range strings.Lines(string(text)) {
		if found := regexp.MustCompile(`(?:sendfile|splice).*\) += (\d+)$`).FindStringSubmatch(strings.TrimSpace(line)); found != nil {
			n, err := strconv.ParseInt(found[1], 10, 64)
			if err != nil {
				return -1, err
			}
			sent += n
		}
	}
	return float64(sent) / float64(c.size), nil
}
