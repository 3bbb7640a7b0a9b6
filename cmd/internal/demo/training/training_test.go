package training_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/demo/training"
	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/storage"
)

const (
	patience = time.Minute // ends a test that hangs
	tick     = time.Millisecond
)

// show is a demonstration that runs.
type show struct {
	jobs  *flcollect.Server
	lines *bufio.Scanner
	end   func() error // interrupts it and returns its result
}

// begin runs a collector with a repository in memory, and a demonstration of
// it. The collector lets clients in only if it is open.
func begin(t *testing.T, open bool) *show {
	t.Helper()
	return beginAgain(t, open, 0)
}

// beginAgain is begin for a demonstration that trains again after a while.
func beginAgain(t *testing.T, open bool, again time.Duration) *show {
	t.Helper()
	store, err := repository.New(repository.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
	require.NoError(t, err)
	jobs, err := flcollect.NewServer(flcollect.Config{Documents: storage.NewMemoryDocuments(),
		Blobs: storage.NewMemoryBlobs(), Repository: store})
	require.NoError(t, err)
	gate, err := flower.NewServer(flower.ServerConfig{Handle: jobs.Handle})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	running, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var group sync.WaitGroup
	group.Go(func() { _ = jobs.Run(running) })
	if open {
		group.Go(func() { _ = gate.Serve(running, listener) })
	}
	require.Eventually(t, func() bool { return jobs.Ready() == nil }, patience, tick)
	out, output := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := training.Run(ctx, training.Config{
			Jobs: jobs, Target: listener.Addr().String(), Site: "http://site", Repository: "http://repository", Output: output,
			Again: again,
		})
		_ = output.Close()
		done <- err
	}()
	s := &show{jobs: jobs, lines: bufio.NewScanner(out)}
	s.end = sync.OnceValue(func() error {
		cancel()
		go func() { _, _ = io.Copy(io.Discard, out) }()
		return <-done
	})
	t.Cleanup(func() {
		_ = s.end()
		stop()
		_ = listener.Close()
		group.Wait()
	})
	return s
}

// await returns the next line of output that contains the text.
func (s *show) await(t *testing.T, text string) string {
	t.Helper()
	for s.lines.Scan() {
		if strings.Contains(s.lines.Text(), text) {
			return s.lines.Text()
		}
	}
	require.Fail(t, "the demonstration has ended", text)
	return ""
}

func TestRun_printsALineForEachRoundAndTheResult(t *testing.T) {
	s := begin(t, true)
	require.Contains(t, s.await(t, "job"), "job demo-1: ")
	for _, party := range []string{"screening", "clinic", "oncology"} {
		require.Regexp(t, "^"+party+" +has +[0-9]+ tumours; alone it would reach an accuracy of 0.9", s.await(t, "alone"))
	}
	for range 20 {
		require.Regexp(t, `^round [ 0-9]\d of 20   loss 0\.\d{4}   accuracy 0\.9\d\d   clients 3   \d+\.\d{3} s$`, s.await(t, "round"))
	}
	require.Contains(t, s.await(t, "training"), "training finished: 20 rounds, loss 0.0")
	require.Equal(t, "result in the repository: http://repository/training-results/tumours/1.0", s.await(t, "result"))
	status, err := s.jobs.Status(t.Context(), "demo-1")
	require.NoError(t, err)
	require.True(t, status.Stored)
	require.NoError(t, s.end())
}

// A user who looks at the demonstration copies its configuration.
func TestRun_configuresAJobAsTheRESTInterfaceDoes(t *testing.T) {
	s := begin(t, false)
	s.await(t, "oncology")
	status, err := s.jobs.Status(t.Context(), "demo-1")
	require.NoError(t, err)
	text, err := json.Marshal(status.Config)
	require.NoError(t, err)
	parsed, err := jobconfig.Parse(text)
	require.NoError(t, err)
	require.Equal(t, status.Config.ConfigurationID, parsed.ConfigurationID)
	require.NoError(t, s.end())
}

func TestRun_reportsAnInterruptedTraining(t *testing.T) {
	s := begin(t, false)
	s.await(t, "oncology")
	require.NoError(t, s.jobs.Stop(t.Context()))
	require.Equal(t, "training interrupted after 0 rounds", s.await(t, "training"))
	require.NoError(t, s.end())
}

func TestRun_mayEndBeforeTheTraining(t *testing.T) {
	s := begin(t, false)
	s.await(t, "oncology")
	require.NoError(t, s.end())
	status, err := s.jobs.Status(t.Context(), "demo-1")
	require.NoError(t, err)
	require.Equal(t, report.Waiting, status.State, "it goes on with the next")
}

func TestRun_trainsAgainWithFiveJobsInTurn(t *testing.T) {
	s := beginAgain(t, true, time.Millisecond)
	for _, job := range []string{"demo-1", "demo-2", "demo-3", "demo-4", "demo-5", "demo-1"} {
		require.Contains(t, s.await(t, "job "), "job "+job+": ")
		s.await(t, "training finished")
	}
	jobs, _, err := s.jobs.Jobs(t.Context(), "", "", 100)
	require.NoError(t, err)
	require.Len(t, jobs, 5)
	require.NoError(t, s.end())
}
