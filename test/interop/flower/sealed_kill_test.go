package flower_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The collector is killed while all are in the second of four rounds.
func TestCollector_kill_resumesAPrivateTraining(t *testing.T) {
	const rounds = 4
	python := installPrivate(t, oldest)
	for name, mechanisms := range map[string]map[string]any{
		"homomorphic": {"homomorphic": standard},
		"both": {"homomorphic": standard, "dp-adaptive": map[string]any{
			"num_sampled_clients": 3, "init_clip_norm": 1.5, "noise_multiplier": 1, "clip_count_stddev": 1,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			way, with, waits := startRelay(t), setup{data: t.TempDir()}, newGate(t)
			c := startCollector(t, with)
			way.lead(c.clients)
			c.start("killed", private(rounds, 3, mechanisms))
			k := kind{
				Server: way.address, Sizes: []int{4000, 500},
				Secret:   makeKeys(t, python, "--put", c.url+"/job/he/public/killed"),
				Clipping: "own", Again: true, Gate: string(waits),
			}
			public := c.get("/job/he/public/killed")
			p := startParties(t, python, k, 1, 20, 300)
			waits.open(t, 1)
			p.awaitFits(2)
			way.expect()
			c.Kill()
			waits.open(t, rounds+1)
			c = startCollector(t, with)
			require.Equal(t, 1, c.status("killed").Round)
			require.Equal(t, public, c.get("/job/he/public/killed"))
			way.lead(c.clients)
			c.awaitResult("killed")
			require.Len(t, c.rounds("killed"), rounds)

			// The second fit had no result, so there were five.
			result := decrypted(t, python, k, c.weights("adder", "1", "killed"))
			if name == "both" {
				clip := number(t, awaitFit(t, p.clients[0], rounds+1), "dpfedavg_clip_norm")
				requireNoise(t, p.mean(rounds+1, false), result, effective*clip/3)
				requireAccount(t, c, "killed", 1, 1e-5, rounds)
				return
			}
			require.InDeltaSlice(t, p.mean(rounds+1, true), result, nearness)
			// All add the same in every fit, and no round was lost.
			expected, after := p.numbers(0, "got", 1), p.mean(2, true)
			for i := range expected {
				expected[i] += (rounds - 1) * (after[i] - expected[i])
			}
			require.InDeltaSlice(t, expected, result, nearness)
		})
	}
}
