package flcollect_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/storage"
)

func TestServer_Result_isTheWeightedMean(t *testing.T) {
	n := &neighbours{}
	w := newWorld(t, flcollect.Config{Initial: zeros, Repository: n, Orchestrator: n})
	one, _ := w.join(t, trainer{step: 1, examples: 10})
	two, _ := w.join(t, trainer{step: 4, examples: 20})
	require.NoError(t, w.Start(t.Context(), "job", config(3, 2)))
	status := w.untilState(t, "job", report.Finished)
	require.NoError(t, <-one)
	require.NoError(t, <-two)

	// Each round adds (10*1 + 20*4) / 30 = 3.
	require.Equal(t, []float64{9, 9, 9, 10}, w.weights(t, "job"))
	require.Equal(t, 3, status.Round)
	require.True(t, status.Stored)
	require.Empty(t, status.Error)
	require.Empty(t, status.Quarantined)
	require.Equal(t, []string{"round 1", "round 2", "round 3", "store job"}, n.all())
	result, _ := n.stored("job")
	require.Equal(t, []float64{9, 9, 9, 10}, numbers(result.Weights))
	require.Equal(t, 3, result.Rounds)
	require.InDelta(t, 9, *result.FinalLoss, 1e-9)
	require.InDelta(t, 0.9, result.Metrics["accuracy"], 1e-9)

	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.Len(t, rounds, 3)
	for i, r := range rounds {
		require.Equal(t, i+1, r.Number)
		require.True(t, r.Aggregated)
		require.Empty(t, r.Note)
		require.Equal(t, 2, r.Fit.Results)
		require.Equal(t, 2, r.Evaluate.Results)
		require.InDelta(t, float64(3*(i+1)), *r.Loss, 1e-9)
		require.InDelta(t, 3, r.FitMetrics["step"], 1e-9)
		require.Positive(t, r.Fit.Sent)
		require.Equal(t, r.Fit.Sent, r.Fit.Received)
	}
	totals := w.Totals()
	require.EqualValues(t, 3, totals.Rounds)
	require.EqualValues(t, 12, totals.Results)
	require.Equal(t, 1, totals.Jobs[report.Finished])
}

// fullBlobs are blobs on a disk without space.
type fullBlobs struct{ storage.Blobs }

func (fullBlobs) Space(context.Context) error { return storage.ErrFull }

func TestServer_Ready_findsAFullDiskOfTheBlobsAlone(t *testing.T) {
	w := newWorld(t, flcollect.Config{Blobs: fullBlobs{storage.NewMemoryBlobs()}})
	require.Eventually(t, func() bool { return errors.Is(w.Ready(), storage.ErrFull) }, patience, time.Millisecond)
}
