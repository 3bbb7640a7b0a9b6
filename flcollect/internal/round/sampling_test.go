package round

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/internal/tiers"
	"github.com/iotenablers/enablers/flcollect/report"
)

// The chance of each client, fast, slow or unknown, is that of uniform sampling, and the
// clients of a round are of one tier.
func TestDrawBySpeed_drawsEachClientAsOften(t *testing.T) {
	const clients, count, draws = 12, 2, 30_000
	speeds := tiers.NewSpeeds(3)
	all := make([]*Client, clients)
	for i := range all {
		all[i] = &Client{Identity: fmt.Sprintf("client-%02d", i)}
		if i < 9 {
			speeds.Observe(all[i].Identity, float64(1+i))
		}
	}
	from := rand.New(rand.NewPCG(5, 6))
	taken, rounds := map[*Client]int{}, &report.Samplings{}
	for range draws {
		drawn, sampling := drawBySpeed(all, count, speeds, from.IntN)
		require.Len(t, drawn, count)
		require.NotEqual(t, drawn[0], drawn[1])
		for _, c := range drawn {
			taken[c]++
			at := 0 // the tier of those without a measurement
			var index int
			_, err := fmt.Sscanf(c.Identity, "client-%d", &index)
			require.NoError(t, err)
			if index < 9 {
				at = 1 + index/3
			}
			require.Equal(t, at, sampling.Tier)
		}
		require.Zero(t, sampling.Deviation)
		rounds = rounds.Plus(*sampling)
	}
	for _, c := range all {
		require.InEpsilon(t, float64(draws*count)/clients, taken[c], 0.05)
	}
	for _, n := range rounds.Rounds {
		require.InEpsilon(t, draws/4.0, n, 0.05)
	}
	require.Contains(t, rounds.String(), "differed from uniform sampling by up to 0 %")
}

// A tier that is too small is filled up, which is counted, and so is what it does to the chances.
func TestDrawBySpeed_countsWhatItFillsUp(t *testing.T) {
	speeds := tiers.NewSpeeds(2)
	all := make([]*Client, 4)
	for i := range all {
		all[i] = &Client{Identity: fmt.Sprintf("client-%d", i)}
		speeds.Observe(all[i].Identity, float64(1+i))
	}
	drawn, sampling := drawBySpeed(all, 3, speeds, func(int) int { return 0 })
	require.Len(t, drawn, 3)
	require.Equal(t, &report.Sampling{Tier: 1, Tiers: 2, Size: 2, Clients: 3, Filled: 1}, sampling, "tiers of one size fill each other up")
	require.Equal(t, "drawn from tier 1 of 2, which has 2 clients; 1 of 3 clients are from the next tiers", sampling.String())

	all = append(all, &Client{Identity: "new"})
	_, sampling = drawBySpeed(all, 2, speeds, func(n int) int { return n - 1 })
	require.Zero(t, sampling.Tier)
	require.Equal(t, 1, sampling.Filled)
	require.InDelta(t, 0.5, sampling.Deviation, 1e-9, "the chance of the new client is a half of the uniform one")
	var none *report.Samplings
	sum := none.Plus(*sampling).Plus(report.Sampling{Tier: 2, Tiers: 2, Filled: 1})
	require.Equal(t, &report.Samplings{Rounds: []int{0, 1, 1}, Filled: 2, Deviation: sampling.Deviation}, sum)
}
