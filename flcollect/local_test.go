package flcollect_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// three is a model with three layers of different shapes.
func three(context.Context, jobconfig.Config) (strategy.Model, error) {
	return strategy.Model{
		tensor.FromFloat32s([]float32{0, 0}), tensor.FromFloat32s([]float32{5}), tensor.FromFloat32s([]float32{0, 0, 0}),
	}, nil
}

// keeping is a client that answers with so many layers: the two that are shared, all three,
// or others. It fails where an instruction does not say which are local.
func keeping(layers int) trainer {
	check := func(conf flower.Config, p flower.Parameters) error {
		if conf["local_layers"] != "1" || len(p.Tensors) != 2 {
			return fmt.Errorf("local layers are %v, and %d layers came", conf["local_layers"], len(p.Tensors))
		}
		return nil
	}
	return trainer{step: 1, examples: 10,
		fit: func(_ context.Context, ins flower.FitIns, res *flower.FitRes) error {
			shared := res.Parameters.Tensors
			own := flower.FromTensors(tensor.FromFloat32s([]float32{1e30})).Tensors[0] // which must not matter
			switch layers {
			case 1:
				res.Parameters.Tensors = shared[:1]
			case 3:
				res.Parameters.Tensors = []flower.Blob{shared[0], own, shared[1]}
			}
			return check(ins.Config, ins.Parameters)
		},
		evaluate: func(_ context.Context, ins flower.EvaluateIns, _ *flower.EvaluateRes) error {
			return check(ins.Config, ins.Parameters)
		}}
}

func TestServer_keepsLocalLayersOutOfTheModel(t *testing.T) {
	const rounds = 3
	n := &neighbours{}
	w := newWorld(t, flcollect.Config{Initial: three, Identify: named, Repository: n})
	for _, layers := range []int{1, 2, 3} {
		w.joinAs(t, keeping(layers), fmt.Sprintf("layers-%d", layers))
	}
	conf := config(rounds, 3)
	conf.LocalLayers = []string{"1"}
	require.NoError(t, w.Start(t.Context(), "job", conf))
	status := w.untilState(t, "job", report.Finished)
	require.Equal(t, []float64{3, 3, 3, 3, 3}, w.weights(t, "job"))
	require.Equal(t, rounds, status.Updates.Dropped)
	require.Equal(t, 2*rounds, status.Updates.Kept)
	require.Equal(t, []string{"1"}, status.LocalLayers)
	require.Contains(t, status.Note, "of 3 layers these stay at the clients, and are no part of the model here: 1")
	require.Contains(t, status.Quarantined[0].Reason, "an update of 1 layers, expected the 2 that are shared, or all 3 (local are 1)")

	found, err := w.Report(t.Context(), "job", 1, 0, 0)
	require.NoError(t, err)
	require.Equal(t, 1, found.Counts.Dropped)
	require.Zero(t, found.Clients[1].Dropped)
	require.Equal(t, 1, found.Clients[2].Dropped)
	done, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.Contains(t, done[0].Note, "fit: 1 update with local layers, which left the client and were dropped")
	require.Equal(t, 3, done[0].Evaluate.Results, "evaluation has the local layers, too")

	result, stored := n.stored("job")
	require.True(t, stored)
	require.Len(t, result.Weights, 2)
	require.Equal(t, []string{"1"}, result.LocalLayers)
	h := w.web()
	require.Contains(t, jobstest.Ask(h, "GET", "/job/status/job", "").Body.String(), `"local_layers":["1"]`)
	require.Contains(t, jobstest.Ask(h, "GET", "/live/job", "").Body.String(), "; 3 with local layers, which were dropped")
}

// The layers that the first model has are known after a restart.
func TestServer_knowsLocalLayersAfterARestart(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: three, Identify: named})
	conf := config(4, 1)
	conf.LocalLayers = []string{"1"}
	halt := keeping(3)
	fit, reached, gate := halt.fit, make(chan struct{}), make(chan struct{})
	calls := 0
	halt.fit = func(ctx context.Context, ins flower.FitIns, res *flower.FitRes) error {
		if calls++; calls == 3 {
			close(reached)
			<-gate
		}
		return fit(ctx, ins, res)
	}
	_, leave := w.joinAs(t, halt, "layers-3")
	require.NoError(t, w.Start(t.Context(), "job", conf))
	<-reached
	go close(gate)
	again := w.restart(t, flcollect.Config{Initial: three, Identify: named})
	leave()
	again.joinAs(t, keeping(3), "layers-3")
	status := again.untilState(t, "job", report.Finished)
	require.Equal(t, []float64{4, 4, 4, 4, 4}, again.weights(t, "job"))
	require.Equal(t, 4, status.Updates.Dropped)
}

func TestServer_interruptsAJobWhoseLocalLayersAreNone(t *testing.T) {
	for _, c := range []struct {
		layers []string
		want   string
	}{
		{[]string{"3"}, "local layers: there is no layer 3, the model has 3, from 0 on"},
		{[]string{"head"}, `local layers: "head" is no index, and the layers of the model have no names`},
		{[]string{"0", "1", "2"}, "local layers: all 3 layers of the model are local"},
		{[]string{"1", "01"}, `local layers: layer 1 is listed twice, the second time as "01"`},
	} {
		w := newWorld(t, flcollect.Config{Initial: three})
		conf := config(1, 1)
		conf.LocalLayers = c.layers
		require.NoError(t, w.Start(t.Context(), "job", conf))
		status := w.untilState(t, "job", report.Interrupted)
		require.Contains(t, status.Error, c.want)
	}
}

// The model of a client has all layers; what is local of it is not kept.
func TestServer_cutsDownTheModelOfAClient(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	w.join(t, layered{trainer{step: 1, examples: 1}})
	conf := config(1, 1)
	conf.LocalLayers = []string{"0", "2"}
	require.NoError(t, w.Start(t.Context(), "job", conf))
	w.untilState(t, "job", report.Finished)
	require.Equal(t, []float64{6}, w.weights(t, "job"))
}

// layered is a client that has three layers to begin with.
type layered struct{ trainer }

func (layered) Parameters(_ context.Context, ins flower.GetParametersIns) (flower.Parameters, error) {
	if ins.Config["local_layers"] != "0,2" {
		return flower.Parameters{}, fmt.Errorf("local layers are %v", ins.Config["local_layers"])
	}
	model, err := three(context.Background(), jobconfig.Config{})
	return flower.FromTensors(model...), err
}

func TestServer_findsLocalLayersByTheirNames(t *testing.T) {
	w := newWorld(t, flcollect.Config{InitialNamed: func(ctx context.Context, c jobconfig.Config) (strategy.Model, []string, error) {
		model, err := three(ctx, c)
		return model, []string{"body.weight", "norm.weight", "head.weight"}, err
	}})
	w.join(t, trainer{step: 1, examples: 1})
	conf := config(1, 1)
	conf.LocalLayers = []string{"body.weight", "head.weight"}
	require.NoError(t, w.Start(t.Context(), "job", conf))
	w.untilState(t, "job", report.Finished)
	require.Equal(t, []float64{6}, w.weights(t, "job"))

	conf.LocalLayers = []string{"tail.weight"}
	require.NoError(t, w.Start(t.Context(), "other", conf))
	status := w.untilState(t, "other", report.Interrupted)
	require.Contains(t, status.Error, `local layers: the model has no layer "tail.weight", but ["body.weight" "norm.weight" "head.weight"]`)
}
