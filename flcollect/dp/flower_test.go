package dp_test

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

// flower is what Flower's own adaptive clipping made of the answers of its own
// clients; testdata/make.py wrote it.
type flower struct {
	Cases []struct {
		Conf    strategy.Conf
		Clients int
		Initial npys
		Rounds  []struct {
			Clip    float64
			Updates []struct {
				Client   string
				Examples int64
				Bit      bool
				Model    npys
			}
			Expected npys
			Next     float64
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

func TestAdaptive_hasTheClipNormsOfFlower(t *testing.T) {
	file, err := os.ReadFile("testdata/flower-1.3.0.json")
	require.NoError(t, err)
	var known flower
	require.NoError(t, json.Unmarshal(file, &known))
	require.NotEmpty(t, known.Cases)
	for _, c := range known.Cases {
		t.Run(fmt.Sprint(c.Conf), func(t *testing.T) {
			c.Conf["num_sampled_clients"] = c.Clients
			private := wrap(t, "FedAvg", nil, quiet(c.Conf))
			model := c.Initial.model(t)
			for i, round := range c.Rounds {
				config := map[string]any{}
				private.Configure(strategy.Fit, i+1, config)
				require.InEpsilon(t, round.Clip, config["dpfedavg_clip_norm"], 1e-7)
				aggregation := begin(t, private, i+1, model)
				for _, u := range round.Updates {
					require.NoError(t, aggregation.Add(t.Context(), strategy.Update{
						Client: u.Client, Examples: u.Examples, Model: u.Model.model(t), Metrics: map[string]any{"dpfedavg_norm_bit": u.Bit},
					}))
				}
				got := finish(t, aggregation)
				model = round.Expected.model(t)
				for layer, want := range model {
					require.NoError(t, got[layer].SameForm(want))
					for k, v := range want.Float64s() {
						require.InDelta(t, v, got[layer].Float64s()[k], 2e-6*math.Max(1, math.Abs(v)))
					}
				}
				require.InEpsilon(t, round.Next, private.Privacy().ClipNorm, 1e-7)
			}
		})
	}
}
