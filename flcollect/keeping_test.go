package flcollect_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/storage"
)

// slowBlobs are committed once the gate says so.
type slowBlobs struct {
	storage.Blobs
	gate chan struct{}
}

func (b slowBlobs) Create(ctx context.Context, key string) (storage.BlobWriter, error) {
	w, err := b.Blobs.Create(ctx, key)
	return slowWriter{w, b.gate}, err
}

type slowWriter struct {
	storage.BlobWriter
	gate chan struct{}
}

func (w slowWriter) Commit(ctx context.Context) (storage.BlobInfo, error) {
	select {
	case <-w.gate:
		return w.BlobWriter.Commit(ctx)
	case <-ctx.Done():
		return storage.BlobInfo{}, ctx.Err()
	}
}

func TestServer_saving_runsWhileClientsEvaluate(t *testing.T) {
	blobs := slowBlobs{storage.NewMemoryBlobs(), make(chan struct{}, 1)}
	w := newWorld(t, flcollect.Config{Blobs: blobs, Initial: zeros})
	evaluated := make(chan struct{}, 1)
	w.join(t, trainer{step: 1, examples: 1, evaluate: func(context.Context, flower.EvaluateIns, *flower.EvaluateRes) error {
		evaluated <- struct{}{}
		return nil
	}})
	blobs.gate <- struct{}{} // the initial one
	require.NoError(t, w.Start(t.Context(), "job", config(1, 1)))
	<-evaluated // before the model of the round is stored
	status, err := w.Status(t.Context(), "job")
	require.NoError(t, err)
	require.Equal(t, 0, status.Round)
	blobs.gate <- struct{}{}
	status = w.untilState(t, "job", report.Finished)
	require.Equal(t, 1, status.Round)
	require.Equal(t, []float64{1, 1, 1, 2}, w.weights(t, "job"))
}
