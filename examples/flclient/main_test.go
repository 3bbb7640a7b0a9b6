package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/storage"
)

const (
	patience = 30 * time.Second
	tick     = time.Millisecond
)

// lines is a writer for several goroutines.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func TestRun_trainsTheJobOfTheExampleToItsTarget(t *testing.T) {
	jobs, err := flcollect.NewServer(flcollect.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
	require.NoError(t, err)
	gate, err := flower.NewServer(flower.ServerConfig{Handle: jobs.Handle})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var group sync.WaitGroup
	group.Go(func() { _ = jobs.Run(ctx) })
	group.Go(func() { _ = gate.Serve(ctx, listener) })
	defer group.Wait()
	defer stop()
	require.Eventually(t, func() bool { return jobs.Ready() == nil }, patience, tick)

	body, err := os.ReadFile("../flcollect/job.json")
	require.NoError(t, err)
	config, err := jobconfig.Parse(body)
	require.NoError(t, err)
	require.NoError(t, jobs.Start(t.Context(), "1", config))
	out := &lines{}
	require.NoError(t, train(t.Context(), listener.Addr().String(), out))
	require.Equal(t, 3, strings.Count(out.text.String(), "has been sent away\n"))
	status, err := jobs.Status(t.Context(), "1")
	require.NoError(t, err)
	require.NotNil(t, status.Early)
	require.Equal(t, 15, status.Round, "where the accuracy is above 0.98")
}
