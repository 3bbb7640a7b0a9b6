package flower_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
)

// private is a configuration with privacy mechanisms.
func private(rounds, clients int, mechanisms map[string]any) map[string]any {
	config := training("avg", rounds, clients, nil)
	config["privacy-mechanisms"] = mechanisms
	return config
}

// clippingMod is who clips the updates of a release's clients: Flower itself in the
// oldest; later ones have nothing that goes with it.
func clippingMod(version string) string {
	if version == oldest {
		return "flower"
	}
	return "own"
}

func TestCollector_clipNorms_followFlowersRule(t *testing.T) {
	takesLong(t)
	const rounds, clients = 6, 4
	for _, version := range releases() {
		t.Run(version, func(t *testing.T) {
			python := install(t, version)
			c := startCollector(t, setup{})
			conf := map[string]any{"num_sampled_clients": clients, "init_clip_norm": 1.0, "clip_norm_lr": 0.9,
				"clip_norm_target_quantile": 0.4}
			rule, err := json.Marshal(conf)
			require.NoError(t, err)
			conf["noise_multiplier"], conf["clip_count_stddev"] = 1e-12, 1e-9 // as good as none
			c.start("clipped", private(rounds, clients, map[string]any{"dp-adaptive": conf}))
			p := startParties(t, python, kind{
				Server: c.clients, Sizes: []int{50, 6}, Reach: 0.7, Clipping: clippingMod(version),
			}, 5, 1, 90, 7)
			c.awaitResult("clipped")
			p.awaitEnd()
			p.requireMeans(rounds, false)

			var within [rounds][clients]int
			var told []float64
			for k := range rounds {
				config := awaitFit(t, p.clients[0], k+1)
				require.NotContains(t, config, "dpfedavg_noise_stddev")
				told = append(told, number(t, config, "dpfedavg_clip_norm"))
				for i, client := range p.clients {
					if client.AwaitLine("clipped "+strconv.Itoa(k+1)+" ") == "0" {
						within[k][i] = 1
					}
				}
			}
			rows, err := json.Marshal(within)
			require.NoError(t, err)
			require.Regexp(t, "0.*1|1.*0", string(rows), "some are clipped, and some are not")
			var flowers []float64
			require.NoError(t, json.Unmarshal(run(t, install(t, oldest), "adaptive.py", string(rule),
				string(rows)), &flowers))
			require.InEpsilonSlice(t, flowers[:rounds], told, 1e-6)
		})
	}
}

// number is a floating-point number that a client received.
func number(t *testing.T, config map[string][2]any, name string) float64 {
	t.Helper()
	require.Equal(t, "float", config[name][0], name)
	return config[name][1].(float64)
}

func TestCollector_addsNoNoiseToThatOfItsClients(t *testing.T) {
	const rounds = 2
	python := install(t, oldest)
	c := startCollector(t, setup{})
	c.start("theirs", private(rounds, 3, map[string]any{"dp-adaptive": map[string]any{
		"num_sampled_clients": 3, "init_clip_norm": 1.5, "noise_multiplier": 1, "clip_count_stddev": 1,
		"server_side_noising": false,
	}}))
	p := startParties(t, python, kind{Server: c.clients, Sizes: []int{300}, Clipping: "flower"}, 1, 20, 300)
	c.awaitResult("theirs")
	p.awaitEnd()
	p.requireMeans(rounds, false)
	for k := range rounds {
		config := awaitFit(t, p.clients[0], k+1)
		share := effective * number(t, config, "dpfedavg_clip_norm") / math.Sqrt(3)
		require.InEpsilon(t, share, number(t, config, "dpfedavg_noise_stddev"), 0.01)
	}
	requireAccount(t, c, "theirs", 1, 1e-5, rounds)
}

// effective is the multiplier of the noise on models that leaves 1 for both releases
// of a round, where the deviation on the count of clients is 1 as well.
var effective = 1 / math.Sqrt(1-0.25)

func TestCollector_models_haveTheNoiseOfTheirAccount(t *testing.T) {
	takesLong(t)
	const rounds = 3
	conf := map[string]any{"num_sampled_clients": 3, "init_clip_norm": 1.5, "noise_multiplier": 1,
		"clip_count_stddev": 1, "delta": 1e-6}
	for _, version := range releases() {
		for name, mechanisms := range map[string]map[string]any{
			"dp-adaptive": {"dp-adaptive": conf},
			"both":        {"dp-adaptive": conf, "homomorphic": standard},
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				c := startCollector(t, setup{})
				c.start("noised", private(rounds, 3, mechanisms))
				python, k := install(t, version), kind{Server: c.clients, Sizes: []int{39_000, 1000},
					Clipping: clippingMod(version)}
				if name == "both" {
					python = installPrivate(t, version)
					k.Secret = makeKeys(t, python)
				}
				p := startParties(t, python, k, 1, 20, 300)
				c.awaitResult("noised")
				p.awaitEnd()
				for round := 1; round <= rounds; round++ {
					clip := number(t, awaitFit(t, p.clients[0], round), "dpfedavg_clip_norm")
					requireNoise(t, p.mean(round, false), p.numbers(0, "got", round), effective*clip/3)
				}
				if name == "both" {
					result := decrypted(t, python, k, c.weights("adder", "1", "noised"))
					require.InDeltaSlice(t, p.numbers(1, "got", rounds), result, nearness)
				}
				requireAccount(t, c, "noised", 1, 1e-6, rounds)
			})
		}
	}
}

// requireNoise checks that numbers have Gaussian noise of a deviation. Its figures
// may be eight standard errors away, which happens once in 10^15 times, and the
// deviation a two-hundredth more than it has to be.
func requireNoise(t *testing.T, plain, noised []float64, deviation float64) {
	t.Helper()
	require.Len(t, noised, len(plain))
	n := float64(len(plain))
	var sum, squares, beyond float64
	for i, number := range noised {
		z := (number - plain[i]) / deviation
		sum += z
		squares += z * z
		if math.Abs(z) > 1 {
			beyond++
		}
	}
	require.InDelta(t, 0, sum/n, 8/math.Sqrt(n))
	require.InDelta(t, 1, squares/n, 0.01+8*math.Sqrt(2/n))
	share := math.Erfc(math.Sqrt(0.5)) // of a Gaussian, beyond one deviation
	require.InDelta(t, share, beyond/n, 0.005+8*math.Sqrt(share*(1-share)/n))
}

// requireAccount checks that a job has in its status, and in its result, what
// dp-accounting computes for so many rounds.
func requireAccount(t *testing.T, c *collector, id string, multiplier, delta float64, rounds int) {
	t.Helper()
	python := peertest.Python(t, "dp-accounting==0.6.0")
	answer := run(t, python, "epsilon.py", fmt.Sprint(multiplier), fmt.Sprint(delta), strconv.Itoa(rounds))
	var want float64
	_, err := fmt.Sscan(string(answer), &want)
	require.NoError(t, err)
	var status struct{ Epsilon, Delta float64 }
	c.read("/job/status/"+id, &status)
	require.InEpsilon(t, want, status.Epsilon, 1e-4)
	require.Equal(t, delta, status.Delta)
	results := c.results("adder", "1")
	require.Len(t, results, 1)
	told, err := strconv.ParseFloat(results[0].Results["epsilon"], 64)
	require.NoError(t, err)
	require.InEpsilon(t, want, told, 1e-4)
}
