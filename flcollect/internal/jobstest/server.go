package jobstest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/storage"
)

// Run runs a server, with storage in memory, until the test ends or end is called. It returns
// once jobs can be started.
func Run(t testing.TB, config flcollect.Config) (server *flcollect.Server, end func()) {
	t.Helper()
	config.Documents, config.Blobs, config.Dir = storage.NewMemoryDocuments(), storage.NewMemoryBlobs(), t.TempDir()
	server, err := flcollect.NewServer(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- server.Run(ctx) }()
	end = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ran)
	})
	t.Cleanup(end)
	require.Eventually(t, func() bool { return server.Ready() == nil }, 30*time.Second, time.Millisecond)
	return server, end
}
