package flower_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/interop"
)

// Four clients of Flower train without rounds, of which one does not answer before a quarter of the
// versions exists without it. Each adds one to the version that it was sent, and without a weight for
// staleness each version is one more than the one before, whatever their order.
func TestCollector_async_slowClientHoldsUpNone(t *testing.T) {
	const versions, without = 40, 10
	python := install(t, newest)
	c := startCollector(t, setup{})
	config := training("avg", versions, 2, map[string]any{"min_available_clients": 4})
	config["server_conf"] = map[string]any{
		"num_rounds": versions, "async": map[string]any{"buffer": 2, "concurrency": 4, "staleness": 0},
	}
	c.start("async", config)
	waits := newGate(t)
	slow := startClient(t, python, options{Server: c.clients, Gate: string(waits)})
	clients := []*interop.Process{slow}
	for range 3 {
		clients = append(clients, startClient(t, python, options{Server: c.clients}))
	}
	awaitFit(t, slow, 1)
	c.await("async", "further without the slow client", func(s state) bool { return s.Round >= without })
	waits.open(t, versions)
	c.awaitResult("async")
	for _, client := range clients {
		require.Zero(t, client.AwaitEnd(), "the slow one is disconnected in good order as well")
	}
	requireAdded(t, load(t, python, c.weights("adder", "1", "async"))[0], versions)

	var page struct {
		Rounds []struct {
			round
			Async struct {
				Max int `json:"max_staleness"`
			}
		}
	}
	c.read("/job/rounds/async?limit=1000", &page)
	require.Len(t, page.Rounds, versions)
	greatest := 0
	for _, r := range page.Rounds {
		require.Equal(t, 2, r.Fit.Results, "version %d", r.Number)
		require.Equal(t, 2, r.Evaluate.Clients)
		require.Zero(t, r.Evaluate.Failures)
		greatest = max(greatest, r.Async.Max)
	}
	require.GreaterOrEqual(t, greatest, without-1, "the first update of the slow client")
	late, quick := 0, 0
	for k := range versions {
		var report struct {
			Clients []struct {
				Staleness *int
			}
		}
		c.read(fmt.Sprintf("/job/rounds/async/%d/report", k+1), &report)
		for _, client := range report.Clients {
			require.NotNil(t, client.Staleness)
			if *client.Staleness == greatest {
				late++
			} else {
				quick++
			}
		}
	}
	require.Equal(t, 2*versions, late+quick)
	require.Greater(t, quick, late)
}
