package round

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/internal/reputation"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// witness notes the rounds that it begins.
type witness struct {
	strategy.Strategy
	rounds []strategy.Round
}

func (w *witness) Begin(round strategy.Round) (strategy.Aggregation, error) {
	w.rounds = append(w.rounds, round)
	return w.Strategy.Begin(round)
}

func TestConductor_keepsTheMemoryOfSums(t *testing.T) {
	made := &witness{Strategy: newStrategy(t, "FedAvg", nil)}
	pool := NewPool()
	for _, name := range []string{"a", "b"} {
		pool.Add(NewMember((&device{step: 1}).init(), name, flower.Peer{}, "name:"+name))
	}
	c := NewConductor(Config{
		Pool: pool, Reputations: reputation.NewTable(), ClientTimeout: time.Hour, Ending: context.Background(),
		Converting: make(chan struct{}, 2), Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}, made)
	start := Start{Number: 1, Model: strategy.Model{tensor.FromFloat32s([]float32{1, 2, 3})}}
	drawn, err := c.Gather(t.Context(), strategy.Fit, 1)
	require.NoError(t, err)
	_, err = c.Fit(t.Context(), start, drawn, audit.NewAttempt(1, true))
	require.NoError(t, err)
	_, err = c.Collect(t.Context(), start, drawn, nil, audit.NewAttempt(1, true))
	require.NoError(t, err)
	s := c.Stream(t.Context(), Streaming{Buffer: 2, Concurrency: 2, Need: 2})
	defer s.Close()
	require.NoError(t, s.Begin(start, audit.NewAttempt(1, true)))
	require.Len(t, made.rounds, 3)
	require.NotNil(t, made.rounds[0].Spare)
	require.Same(t, made.rounds[0].Spare, made.rounds[1].Spare)
	require.Nil(t, made.rounds[2].Spare, "a version that waits for clients would keep the memory")
}
