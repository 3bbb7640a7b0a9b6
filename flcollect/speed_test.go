package flcollect_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// The clients of a round are of one tier, which round, status and page say.
func TestServer_drawsClientsBySpeed(t *testing.T) {
	const rounds, clients = 12, 6
	w := newWorld(t, flcollect.Config{Initial: zeros, Identify: named})
	for i := range clients {
		w.joinAs(t, trainer{step: 1, examples: 10}, fmt.Sprintf("client-%d", i))
	}
	conf := config(rounds, clients)
	conf.StrategyConf = strategy.Conf{"fraction_fit": 0.01, "fraction_evaluate": 0.01, "min_fit_clients": 2,
		"min_evaluate_clients": 1, "min_available_clients": clients}
	conf.SpeedTiers = 2
	require.NoError(t, w.Start(t.Context(), "job", conf))
	status := w.untilState(t, "job", report.Finished)
	done, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.Zero(t, done[0].Sampling.Tier, "no client has trained before")
	require.Equal(t, clients, done[0].Sampling.Size)
	counted := make([]int, 3)
	filled, deviation := 0, 0.0
	for _, r := range done {
		require.Equal(t, 2, r.Fit.Clients)
		require.Contains(t, r.Note, "fit: drawn from ")
		counted[(r.Sampling.Tier+2)%3]++
		filled += r.Sampling.Filled
		deviation = max(deviation, r.Sampling.Deviation)
	}
	require.Equal(t, &report.Samplings{Rounds: counted, Filled: filled, Deviation: deviation}, status.Sampling)
	require.Contains(t, status.Note, "clients are drawn by speed: rounds of each tier, from the fastest: ")
	h := w.web()
	require.Contains(t, jobstest.Ask(h, "GET", "/job/status/job", "").Body.String(), `"sampling":{"rounds":[`)
	require.Contains(t, jobstest.Ask(h, "GET", "/live/job", "").Body.String(), "clients are drawn by speed: ")
}
