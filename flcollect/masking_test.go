package flcollect_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/record"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/secagg"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// masked is the configuration of a job with secure aggregation for so many SuperNodes.
func masked(rounds, clients int) jobconfig.Config {
	c := withApp(rounds, clients)
	c.Strategy, c.SecAgg = "FedAvg", &secagg.Settings{}
	return c
}

// maskedNode runs a SuperNode with the mod, which adds a step to every number. What it
// answers in a stage may be an error.
func (w *fleetWorld) maskedNode(t *testing.T, step float64, examples int64, fails func(round int, stage secagg.Stage) error) {
	t.Helper()
	var client *secagg.Client
	var model strategy.Model
	node := make(chan uint64, 1)
	rounds := 0
	answer := func(m record.Message) (record.Dict, error) {
		if client == nil {
			client = secagg.NewClient(<-node, func(context.Context) ([]tensor.Tensor, int64, error) {
				return strategy.Map(model, func(values []float64, layer, from int) {
					model[layer].ReadFloat64s(values, from)
					for i := range values {
						values[i] += step
					}
				}), examples, nil
			})
		}
		instruction := "fitins"
		if m.Metadata.Type == record.Evaluate {
			instruction = "evaluateins"
		}
		if arrays, ok := m.Content.Arrays(instruction + ".parameters"); ok {
			parameters, err := arrays.Parameters()
			if err == nil {
				model, err = parameters.Decode()
			}
			if err != nil {
				return nil, err
			}
		}
		number := record.Metrics{{Name: "num_examples", Value: examples}}
		status := record.Config{{Name: "code", Value: int64(0)}, {Name: "message", Value: ""}}
		if m.Metadata.Type == record.Evaluate {
			return record.Dict{
				{Name: "evaluateres.loss", Value: record.Metrics{{Name: "loss", Value: model[0].Float64s()[0]}}},
				{Name: "evaluateres.num_examples", Value: number},
				{Name: "evaluateres.metrics", Value: record.Config{}}, {Name: "evaluateres.status", Value: status},
			}, nil
		}
		config, _ := m.Content.Config(secagg.Record)
		request := secagg.Values{}
		for _, v := range config {
			request[v.Name] = v.Value
		}
		stage := secagg.Stage(request["stage"].(string))
		if stage == secagg.StageSetup {
			rounds++
		}
		if fails != nil {
			if err := fails(rounds, stage); err != nil {
				return nil, err
			}
		}
		values, err := client.Answer(t.Context(), request)
		content := record.Dict{{Name: secagg.Record, Value: record.FromConfig(flower.Config(values))}}
		if stage == secagg.StageCollect {
			content = append(content, record.Dict{
				{Name: "fitres.parameters", Value: record.Arrays{}}, {Name: "fitres.num_examples", Value: number},
				{Name: "fitres.metrics", Value: record.Config{{Name: "step", Value: step}}}, {Name: "fitres.status", Value: status},
			}...)
		}
		return content, err
	}
	node <- w.node(t, answer).ID()
}

// Clients drop out in any stage of a round; the mean is that of the others, and the next
// round has all of them again.
func TestServer_Start_trainsOnMaskedUpdates(t *testing.T) {
	w := newFleetWorld(t, flcollect.Config{InitialNamed: namedLayers})
	config := masked(4, 5)
	config.Records = ""
	fails := map[int]secagg.Stage{2: secagg.StageSetup, 3: secagg.StageCollect, 4: secagg.StageUnmask}
	for i, step := range []float64{0.1, 0.2, 0.3, 0.4} {
		w.maskedNode(t, step, int64(100*(i+1)), nil)
	}
	w.maskedNode(t, 1, 500, func(round int, stage secagg.Stage) error {
		if fails[round] == stage {
			return errors.New("the data are away")
		}
		return nil
	})
	require.NoError(t, w.Start(t.Context(), "masked", config))
	require.Eventually(t, func() bool { // the race detector makes masks slow
		status, err := w.Status(t.Context(), "masked")
		return err == nil && status.State == report.Finished
	}, 15*patience, 10*time.Millisecond)
	all, four := (0.1*100+0.2*200+0.3*300+0.4*400+1*500)/1500, (0.1*100+0.2*200+0.3*300+0.4*400)/1000
	moved := all + four + four + all
	require.InDeltaSlice(t, []float64{moved, moved, moved, 1 + moved}, w.weights(t, "masked"), 1e-3)
	rounds, err := w.Rounds(t.Context(), "masked", 0, 0)
	require.NoError(t, err)
	require.Len(t, rounds, 4)
	for i, want := range [][2]int{{5, 0}, {4, 1}, {4, 1}, {5, 0}} {
		require.Equal(t, want, [2]int{rounds[i].Fit.Results, rounds[i].Fit.Failures})
		require.True(t, rounds[i].Aggregated)
		require.NotNil(t, rounds[i].Loss)
		require.Contains(t, rounds[i].Note, "masked updates is exact to")
	}
	require.Contains(t, rounds[2].Note, "collect_masked_vectors")
	found, err := w.Report(t.Context(), "masked", 3, 0, 0)
	require.NoError(t, err)
	require.Equal(t, [2]int{4, 1}, [2]int{found.Counts.Kept, found.Counts.Failed})
	for _, c := range found.Clients {
		require.Nil(t, c.Norm)
		require.Equal(t, c.Outcome == "kept", c.Update != "")
	}
}

// A job whose clients are of start_client says at once why it waits, and does not train them
// in clear. Beside SuperNodes they evaluate.
func TestServer_Status_saysWhichClientsCannotMask(t *testing.T) {
	w := newFleetWorld(t, flcollect.Config{InitialNamed: namedLayers})
	config := masked(1, 3)
	config.StrategyConf["fraction_fit"] = 0.1
	require.NoError(t, w.Start(t.Context(), "masked", config))
	evaluated := make(chan struct{}, 1)
	for range 3 {
		w.join(t, trainer{step: 1, examples: 10, evaluate: func(context.Context, flower.EvaluateIns, *flower.EvaluateRes) error {
			select {
			case evaluated <- struct{}{}:
			default:
			}
			return nil
		}, fit: func(context.Context, flower.FitIns, *flower.FitRes) error {
			return errors.New("it was asked to train in clear")
		}})
	}
	status := w.until(t, "masked", "three clients", func(s flcollect.Status) bool { return s.Clients == 3 })
	require.Equal(t, report.Waiting, status.State)
	require.Contains(t, status.Note, "3 of 3 clients take no part in the secure aggregation")
	require.Contains(t, status.Note, "the job waits for 3 more SuperNodes")
	for range 3 {
		w.maskedNode(t, 2, 100, nil)
	}
	w.untilState(t, "masked", report.Finished)
	<-evaluated
	require.InDeltaSlice(t, []float64{2, 2, 2, 3}, w.weights(t, "masked"), 1e-3)
	status, err := w.Status(t.Context(), "masked")
	require.NoError(t, err)
	require.NotContains(t, status.Note, "SuperNode")
	require.Equal(t, []string{"secagg"}, status.Config.Mechanisms())
}

// A round of the protocol that fails leaves the model as it was, and the training goes on.
func TestServer_Start_goesOnAfterAMaskedRoundThatFails(t *testing.T) {
	w := newFleetWorld(t, flcollect.Config{InitialNamed: namedLayers})
	for range 3 {
		w.maskedNode(t, 1, 100, func(round int, stage secagg.Stage) error {
			if round == 1 && stage == secagg.StageShare {
				return errors.New("not now")
			}
			return nil
		})
	}
	require.NoError(t, w.Start(t.Context(), "masked", masked(2, 3)))
	status := w.untilState(t, "masked", report.Finished)
	require.InDeltaSlice(t, []float64{1, 1, 1, 2}, w.weights(t, "masked"), 1e-3)
	require.Contains(t, status.Note, "the secure aggregation failed: secagg: too few clients: stage share_keys")
}

func TestServer_Start_namesTheSettingOfSecureAggregation(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	h := w.web()
	for name, c := range map[string]struct {
		changes map[string]string
		want    string
	}{
		"setting": {map[string]string{"app": `"a/b"`, "privacy-mechanisms": `{"secagg":{"num_shares":2}}`},
			`"loc":["body","privacy-mechanisms","secagg","num_shares"]`},
		"mechanism": {map[string]string{"app": `"a/b"`, "privacy-mechanisms": `{"secagg":{},"homomorphic":{}}`},
			`"loc":["body","privacy-mechanisms","secagg"]`},
		"strategy": {map[string]string{"app": `"a/b"`, "privacy-mechanisms": `{"secagg":{}}`, "strategy": `"FedMedian"`},
			`"loc":["body","strategy"]`},
	} {
		t.Run(name, func(t *testing.T) {
			answer := jobstest.Ask(h, http.MethodPost, "/job/config/x", string(jobstest.Body(t, c.changes)))
			require.Equal(t, http.StatusUnprocessableEntity, answer.Code)
			require.Contains(t, answer.Body.String(), c.want)
		})
	}
}

// A program's configuration is checked like that of the REST interface.
func TestServer_Start_refusesSecureAggregationThatIsImpossible(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	config := masked(1, 4)
	config.SecAgg.ReconstructionThreshold = 5
	var field *secagg.FieldError
	require.ErrorAs(t, w.Start(t.Context(), "masked", config), &field)
	require.Equal(t, "reconstruction_threshold", field.Field)
}
