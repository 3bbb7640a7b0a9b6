package flcollect_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/storage"
)

// leavingDocuments are used by a caller that leaves just when a job is stored.
type leavingDocuments struct {
	storage.Documents
	leave func()
}

func (d leavingDocuments) Get(ctx context.Context, key string) (storage.Document, error) {
	if err := ctx.Err(); err != nil {
		return storage.Document{}, err
	}
	return d.Documents.Get(ctx, key)
}

func (d leavingDocuments) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	revision, err := d.Documents.Create(ctx, key, data)
	d.leave()
	if ctx.Err() != nil {
		return 0, ctx.Err() // as a store behind a network does
	}
	return revision, err
}

func TestServer_Start_storesTheJobOfACallerThatLeaves(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	w := newWorld(t, flcollect.Config{Documents: leavingDocuments{storage.NewMemoryDocuments(), leave}, Initial: zeros})
	require.NoError(t, w.Start(ctx, "job", config(1, 1)), "it is stored")
	w.join(t, trainer{step: 1, examples: 1})
	w.untilState(t, "job", report.Finished)
}

// A client that stays after its dismissal has 15 seconds.
func TestServer_Start_doesNotWaitForClientsOfTheLastRun(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		w := newWorldOn(t, lan, flcollect.Config{Initial: zeros, ClientTimeout: 10 * time.Second})
		joinForever(t, w)
		require.Eventually(t, func() bool { return w.Totals().Lobby == 1 }, patience, time.Millisecond)
		require.NoError(t, w.Start(t.Context(), "job", config(1, 2)))
		status := w.untilState(t, "job", report.Interrupted)
		require.Equal(t, 1, status.Clients)
		began := time.Now()
		require.NoError(t, w.Start(t.Context(), "job", config(1, 2)))
		require.Zero(t, time.Since(began), "at once")
		w.until(t, "job", "in its second run", func(s flcollect.Status) bool { return s.Run == 2 })
	})
}
