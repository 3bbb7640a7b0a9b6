package rig_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// role is the variable that turns the test binary into a program to measure.
const role = "BENCH_RIG_ROLE"

func TestMain(m *testing.M) {
	if as := os.Getenv(role); as != "" {
		play(as)
		return
	}
	os.Exit(m.Run())
}

func play(as string) {
	untilInputEnds := func() { _, _ = bufio.NewReader(os.Stdin).ReadString(0) }
	switch as {
	case "server":
		fmt.Println("hello")
		fmt.Println("ready at port 7")
		untilInputEnds()
		fmt.Println("some more")
		fmt.Print("all done")
	case "chatterbox": // prints more than a pipe holds, and more than is read
		for i := range 5000 {
			fmt.Println(i, strings.Repeat("x", 100))
		}
		fmt.Println("ready")
		untilInputEnds()
	case "gossip":
		for i := range 5000 {
			fmt.Println(i)
		}
	case "endless line":
		fmt.Println(strings.Repeat("x", 1<<20))
		untilInputEnds()
	case "worker":
		memory := make([]byte, 64<<20)
		for at := 0; at < len(memory); at += 4096 {
			memory[at] = 1
		}
		for began := time.Now(); time.Since(began) < 300*time.Millisecond; {
			memory[0]++
		}
		fmt.Println("ready")
		untilInputEnds()
		fmt.Println(memory[0])
	case "failure":
		fmt.Fprintln(os.Stderr, "the disk is full")
		os.Exit(3)
	case "benchmark":
		rig.Main("benchmark", func(context.Context, []string) error {
			folder, err := os.Getwd()
			fmt.Println(folder)
			return err
		})
	case "idler":
		fmt.Println("ready")
		untilInputEnds()
	}
}

func start(t *testing.T, as string) *rig.Process {
	p, err := rig.Start(t.Context(), filepath.Join(t.TempDir(), "new"), []string{role + "=" + as}, os.Args[0])
	require.NoError(t, err)
	t.Cleanup(p.End)
	return p
}

func TestProcess_Await_returnsTheRestOfTheLine(t *testing.T) {
	p := start(t, "server")
	rest, err := p.Await(t.Context(), "ready at")
	require.NoError(t, err)
	require.Equal(t, "port 7", rest)
	last, err := p.Stop()
	require.NoError(t, err)
	require.Equal(t, "all done", last)
}

func TestProcess_doesNotBlockAProgramThatPrintsWithoutEnd(t *testing.T) {
	p := start(t, "chatterbox")
	_, err := p.Await(t.Context(), "ready")
	require.NoError(t, err)
	last, err := p.Stop()
	require.NoError(t, err)
	require.Empty(t, last)

	p = start(t, "gossip")
	lines, err := p.Rest()
	require.NoError(t, err)
	require.Len(t, lines, 1024)
	require.Equal(t, "4999", lines[1023])

	p = start(t, "endless line")
	_, err = p.Stop()
	require.NoError(t, err)
}

func TestProcess_Await_reportsOutputOfAFailedProgram(t *testing.T) {
	p := start(t, "failure")
	_, err := p.Await(t.Context(), "ready")
	require.ErrorContains(t, err, `ended without "ready"`)
	require.ErrorContains(t, err, "the disk is full")
	_, err = p.Stop()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.ExitCode())
	require.ErrorContains(t, err, "the disk is full")
}

func TestProcess_Await_endsWithItsContext(t *testing.T) {
	p := start(t, "idler")
	_, err := p.Await(t.Context(), "ready")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Await(ctx, "more")
	require.ErrorIs(t, err, context.Canceled)
}

func TestProcess_End_killsAndIsIdempotent(t *testing.T) {
	p := start(t, "idler")
	_, err := p.Await(t.Context(), "ready")
	require.NoError(t, err)
	p.End()
	p.End()
	require.ErrorIs(t, find(p), os.ErrProcessDone)
}

// find returns why the process does not exist.
func find(p *rig.Process) error {
	found, err := os.FindProcess(p.ID())
	if err != nil {
		return err
	}
	return found.Signal(os.Interrupt)
}

func TestProcess_CPU_measuresTimeAndMemory(t *testing.T) {
	if rig.ProcField("/proc/meminfo", "MemTotal") == "" {
		t.Skip("this system has no /proc")
	}
	p := start(t, "worker")
	_, err := p.Await(t.Context(), "ready")
	require.NoError(t, err)
	require.Greater(t, p.CPU(), 20*time.Millisecond)
	require.Greater(t, p.Peak(), int64(64<<20))
	require.Less(t, p.Peak(), int64(1<<30))
	_, err = p.Stop()
	require.NoError(t, err)
	require.Zero(t, p.CPU())
	require.Zero(t, p.Peak())
}

func TestPrinted_isTheFirstLineOrTheError(t *testing.T) {
	require.Regexp(t, `^go version go`, rig.Printed(t.Context(), "go", "version"))
	require.Equal(t, "false: exit status 1", rig.Printed(t.Context(), "false"))
	require.Contains(t, rig.Printed(t.Context(), "/nowhere/nothing"), "nothing: ")
}
