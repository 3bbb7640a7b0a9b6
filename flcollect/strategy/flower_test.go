package strategy_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// answers are what the strategies of a version of Flower made of some updates;
// testdata/make.py wrote them.
type answers struct {
	Flwr  string
	Cases []struct {
		Strategy string
		Conf     strategy.Conf
		Initial  npys
		Rounds   []struct {
			Loss    float64
			Updates []struct {
				Client   string
				Examples int64
				Model    npys
			}
			Expected npys
		}
	}
}

type npys [][]byte

func (n npys) model(t *testing.T) strategy.Model {
	t.Helper()
	var model strategy.Model
	for _, file := range n {
		layer, err := tensor.Decode(file)
		require.NoError(t, err)
		model = append(model, layer)
	}
	return model
}

func TestNew_strategiesAgreeWithFlower(t *testing.T) {
	for _, version := range []string{"1.3.0", "1.11.1", "1.42.0"} {
		file, err := os.ReadFile("testdata/flower-" + version + ".json")
		require.NoError(t, err)
		var known answers
		require.NoError(t, json.Unmarshal(file, &known))
		for _, c := range known.Cases {
			t.Run(fmt.Sprintf("%s/%s%v/%d", version, c.Strategy, c.Conf, len(c.Rounds[0].Updates)), func(t *testing.T) {
				name := c.Strategy
				if c.Conf["num_clients_to_keep"] != nil {
					name = "MultiKrum"
				}
				made, err := strategy.New(name, c.Conf)
				require.NoError(t, err)
				model := c.Initial.model(t)
				for i, round := range c.Rounds {
					aggregation, err := made.Begin(strategy.Round{Number: i + 1, Model: model, Loss: &round.Loss, Dir: t.TempDir()})
					require.NoError(t, err)
					for _, u := range round.Updates {
						require.NoError(t, aggregation.Add(t.Context(),
							strategy.Update{Client: u.Client, Examples: u.Examples, Model: u.Model.model(t)}))
					}
					got, err := aggregation.Finish(t.Context())
					require.NoError(t, err)
					require.NoError(t, aggregation.Close())
					model = round.Expected.model(t) // small differences do not add up
					near(t, model, got)
				}
			})
		}
	}
}

// near requires that every element is next to the expected one, as seen with
// 32 bits: Flower computes with them.
func near(t *testing.T, expected, got strategy.Model) {
	t.Helper()
	require.Len(t, got, len(expected))
	for layer := range expected {
		require.NoError(t, got[layer].SameForm(expected[layer]))
		want := expected[layer].Float64s()
		for i, v := range got[layer].Float64s() {
			require.LessOrEqual(t, math.Abs(v-want[i]), 2e-5*math.Abs(want[i])+2e-6,
				"layer %d, element %d: %v, expected %v", layer, i, v, want[i])
		}
	}
}
