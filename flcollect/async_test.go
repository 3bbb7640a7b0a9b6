package flcollect_test

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// asynchronous makes a configuration asynchronous.
func asynchronous(conf flcollect.JobConfig, buffer, concurrency int, staleness float64) flcollect.JobConfig {
	conf.Async = &flcollect.JobAsync{Buffer: buffer, Concurrency: concurrency, Staleness: &staleness}
	return conf
}

// waiting is a client each of whose fits takes a token from its gate.
func waiting(step float64, gate <-chan struct{}) trainer {
	return trainer{step: step, examples: 10, fit: func(ctx context.Context, _ flower.FitIns, _ *flower.FitRes) error {
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
}

func TestServer_async_doesNotWaitForASlowClient(t *testing.T) {
	const versions = 10
	w := newWorld(t, flcollect.Config{Initial: zeros})
	slow := make(chan struct{})
	began := make(chan struct{}, 1)
	late := waiting(1, slow)
	fit := late.fit
	late.fit = func(ctx context.Context, ins flower.FitIns, res *flower.FitRes) error {
		select {
		case began <- struct{}{}:
		default:
		}
		return fit(ctx, ins, res)
	}
	w.join(t, late)
	for range 7 {
		w.join(t, trainer{step: 1, examples: 10})
	}
	conf := withAvailable(config(versions, 2), 8, 2)
	require.NoError(t, w.Start(t.Context(), "job", asynchronous(conf, 4, 8, 0.5)))
	<-began
	status := w.untilState(t, "job", flcollect.Finished)
	require.Equal(t, versions, status.Round)
	require.Equal(t, versions, status.Aggregated)
	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.Len(t, rounds, versions)
	for i, r := range rounds {
		require.Equal(t, i+1, r.Number)
		require.Equal(t, 4, r.Fit.Results)
		require.NotNil(t, r.Async)
		require.NotNil(t, r.Loss)
		require.LessOrEqual(t, r.Async.Kept, r.Async.Training)
		require.Positive(t, r.Async.Training, "the slow client trains")
	}
	_, err = flcollect.VerifyAudit(joined(w.auditLog(t, "job")))
	require.NoError(t, err)
}

var _ = math.Pi
var _ = slices.Max[[]int]
var _ sync.Mutex
var _ strategy.Model
