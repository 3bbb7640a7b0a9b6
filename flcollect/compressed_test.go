package flcollect_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/compress"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// wide is a model to begin with whose first layer is worth compressing.
func wide(context.Context, jobconfig.Config) (strategy.Model, error) {
	return strategy.Model{tensor.FromFloat32s(make([]float32, 400), 4, 100), tensor.FromFloat32s([]float32{1})}, nil
}

// compressing is a client that adds 1 to every number, and compresses its update.
func compressing(t *testing.T, kind compress.Kind, told func(conf flower.Config)) trainer {
	t.Helper()
	e, err := compress.NewEncoder(compress.Config{Kind: kind, Share: 0.1})
	require.NoError(t, err)
	return trainer{step: 1, examples: 10, fit: func(_ context.Context, ins flower.FitIns, res *flower.FitRes) error {
		told(ins.Config)
		sent, err := ins.Parameters.Decode()
		if err != nil {
			return err
		}
		trained, err := res.Parameters.Decode()
		if err != nil {
			return err
		}
		res.Parameters, err = e.Encode(trained, sent)
		return err
	}}
}

func TestServer_takesCompressedUpdates(t *testing.T) {
	const rounds = 3
	n := &neighbours{}
	w := newWorld(t, flcollect.Config{Initial: wide, Identify: named, Repository: n})
	told := func(conf flower.Config) {
		if conf["compression"] != "int8,topk" {
			panic(fmt.Sprintf("the client is told %v", conf))
		}
	}
	for _, kind := range compress.Kinds() {
		w.joinAs(t, compressing(t, kind, told), string(kind))
	}
	w.joinAs(t, trainer{step: 1, examples: 10}, "whole")
	conf := config(rounds, 4)
	conf.Compression = []string{"int8", "topk"}
	require.NoError(t, w.Start(t.Context(), "job", conf))
	status := w.untilState(t, "job", report.Finished)
	require.Empty(t, status.Quarantined)
	require.Equal(t, 4*rounds, status.Updates.Kept)
	require.Equal(t, 3*rounds, status.Updates.Compressed)
	require.EqualValues(t, 3*rounds, w.Totals().Compressed)
	for i, kind := range []string{"float16", "int8", "topk"} {
		c := status.Updates.Compressions[i]
		require.Equal(t, kind, c.Kind)
		require.Equal(t, rounds, c.Updates)
		require.EqualValues(t, rounds*(401*4+2*128), c.Whole)
		require.Less(t, c.Bytes, c.Whole*7/10)
	}

	// Steps of 1 are exact as int8 and float16. A tenth of the elements is that of
	// top-k, a different tenth in each round; the others are a quarter behind.
	for i, v := range w.weights(t, "job") {
		switch {
		case i == 400:
			require.InDelta(t, 1+rounds, v, 1e-6)
		case i < 40:
			require.Greater(t, v, rounds*0.75)
		default:
			require.GreaterOrEqual(t, v, rounds*0.75-1e-6)
		}
	}
	found, err := w.Report(t.Context(), "job", 2, 0, 0)
	require.NoError(t, err)
	require.Equal(t, 3, found.Counts.Compressed)
	require.Equal(t, "int8", found.Clients[1].Compressed.Kind)
	require.Nil(t, found.Clients[3].Compressed)
	done, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.Contains(t, done[0].Note, "; fit: 2 updates compressed by the clients: 1 as int8, ")
	var received int64
	for _, c := range done[0].Updates.Compressions {
		received += c.Bytes
	}
	require.Greater(t, done[0].Fit.Received, received)
	require.Less(t, done[0].Fit.Received, done[0].Fit.Sent*3/4)

	result, stored := n.stored("job")
	require.True(t, stored)
	require.Equal(t, status.Updates, result.Updates)
	h := w.web()
	require.Contains(t, jobstest.Ask(h, "GET", "/live/job", "").Body.String(), "; 9 compressed: 3 as float16, ")
	require.Contains(t, jobstest.Ask(h, "GET", "/job/status/job", "").Body.String(), `"compressions":[{"kind":"float16","updates":3,`)
	require.Contains(t, jobstest.Ask(h, "GET", "/metrics", "").Body.String(), "flcollector_compressed_updates_total 9")
}

// The audit log has the digest of the bytes that were sent, and norm bounding sees the
// update that they stand for.
func TestServer_judgesTheWholeUpdateOfACompressedOne(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: wide, Identify: named})
	var digest string
	sending := compressing(t, compress.Int8, func(conf flower.Config) {
		if _, told := conf["compression"]; told {
			panic("compression is announced, and the job does not say so")
		}
	})
	fit := sending.fit
	sending.fit = func(ctx context.Context, ins flower.FitIns, res *flower.FitRes) error {
		err := fit(ctx, ins, res)
		digest = res.Parameters.Digest()
		return err
	}
	w.joinAs(t, sending, "int8")
	require.NoError(t, w.Start(t.Context(), "job", config(1, 1)))
	w.untilState(t, "job", report.Finished)
	found, err := w.Report(t.Context(), "job", 1, 0, 0)
	require.NoError(t, err)
	require.Equal(t, digest, found.Clients[0].Update)
	require.InDelta(t, 20.0249, *found.Clients[0].Norm, 1e-3, "the root of 401")
}

func TestServer_refusesMalformedCompressedUpdates(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: wide, Identify: named})
	broken := func(change func(p *flower.Parameters)) trainer {
		c := compressing(t, compress.TopK, func(flower.Config) {})
		fit := c.fit
		c.fit = func(ctx context.Context, ins flower.FitIns, res *flower.FitRes) error {
			err := fit(ctx, ins, res)
			change(&res.Parameters)
			return err
		}
		return c
	}
	w.joinAs(t, broken(func(p *flower.Parameters) { p.Tensors[0] = p.Tensors[0][:2] }), "cut")
	w.joinAs(t, broken(func(p *flower.Parameters) { p.Tensors = p.Tensors[:1] }), "short")
	w.joinAs(t, broken(func(p *flower.Parameters) { p.Type = "enablers.topk/2" }), "newer")
	w.joinAs(t, trainer{step: 1, examples: 10}, "whole")
	require.NoError(t, w.Start(t.Context(), "job", config(1, 4)))
	status := w.untilState(t, "job", report.Finished)
	reasons := map[string]string{}
	found, err := w.Report(t.Context(), "job", 1, 0, 0)
	require.NoError(t, err)
	for _, c := range found.Clients {
		reasons[c.Client] = c.Reason
	}
	require.Len(t, status.Quarantined, 3)
	require.Contains(t, reasons["name:cut"], "compress: bad update: layer 0: the shape is [40], that of the model [4 100]")
	require.Contains(t, reasons["name:short"], "compress: bad update: 1 layers, the model has 2")
	require.Contains(t, reasons["name:newer"], `type "enablers.topk/2", expected "numpy.ndarray"`)
	require.Empty(t, reasons["name:whole"])
	require.Equal(t, 2, status.Updates.Compressed)
}

// The mean of float16 updates is that of their numbers, rounded once to the type of the
// model: none of these means is a float16.
func TestServer_averagesFloat16UpdatesExactly(t *testing.T) {
	values := [][]float32{{1, 2048, 65504}, {1.0009765625, 2050, 65472}, {1.0009765625, 2048, 65504}}
	want := make([]float64, 3)
	w := newWorld(t, flcollect.Config{Initial: func(context.Context, jobconfig.Config) (strategy.Model, error) {
		return strategy.Model{tensor.FromFloat32s([]float32{1, 2048, 65000})}, nil
	}})
	for _, mine := range values {
		half, err := tensor.FromFloat32s(mine).As(tensor.Float16)
		require.NoError(t, err)
		for i, v := range half.Float64s() {
			require.Equal(t, float64(mine[i]), v, "a float16")
			want[i] += v
		}
		w.join(t, answering(func(flower.FitIns) (strategy.Model, error) { return strategy.Model{half}, nil }))
	}
	require.NoError(t, w.Start(t.Context(), "job", config(1, 3)))
	status := w.untilState(t, "job", report.Finished)
	require.Equal(t, 3, status.Updates.Compressed)
	for i, v := range w.weights(t, "job") {
		require.Equal(t, float64(float32(want[i]/3)), v)
		half, err := tensor.FromFloat64s([]float64{v}).As(tensor.Float16)
		require.NoError(t, err)
		require.NotEqual(t, v, half.Float64s()[0])
	}
}

// The server clips the whole update, so its own noise covers it. Noise that clients have
// added does not outlast compression.
func TestServer_privacy_coversCompressedUpdatesWithTheNoiseOfTheServer(t *testing.T) {
	for _, serverSide := range []bool{true, false} {
		w := newWorld(t, flcollect.Config{Initial: wide})
		for range 2 {
			c := compressing(t, compress.Int8, func(flower.Config) {})
			fit := c.fit
			c.fit = func(ctx context.Context, ins flower.FitIns, res *flower.FitRes) error {
				res.Metrics["dpfedavg_norm_bit"] = true
				return fit(ctx, ins, res)
			}
			w.join(t, c)
		}
		conf := private(1)
		conf.DPAdaptive["server_side_noising"] = serverSide
		require.NoError(t, w.Start(t.Context(), "job", conf))
		if serverSide {
			status := w.untilState(t, "job", report.Finished)
			require.Equal(t, 2, status.Updates.Kept)
			continue
		}
		status := w.untilState(t, "job", report.Interrupted)
		require.Contains(t, status.Quarantined[0].Reason, "the job has clients add the noise of differential privacy")
		conf.Compression = []string{"int8"}
		require.ErrorContains(t, w.Start(t.Context(), "other", conf), "clients add the noise")
	}
}
