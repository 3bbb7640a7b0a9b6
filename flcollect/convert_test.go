package flcollect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// sending is a client that adds 1 to every number and sends layers of one type.
func sending(dtype tensor.DType) trainer {
	return answering(func(ins flower.FitIns) (strategy.Model, error) {
		model, err := ins.Parameters.Decode()
		if err != nil {
			return nil, err
		}
		sent := make(strategy.Model, len(model))
		for i, layer := range model {
			values := layer.Float64s()
			for k := range values {
				values[k]++
			}
			b := tensor.NewBuilder(dtype, layer.Shape())
			b.Write(values, 0)
			sent[i] = b.Tensor()
		}
		return sent, nil
	})
}

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestServer_convertsUpdatesToTheTypesOfTheModel(t *testing.T) {
	for _, dtype := range []tensor.DType{
		tensor.Float64, tensor.Float16, tensor.BFloat16, tensor.Int64, tensor.Int8, tensor.Uint8,
	} {
		t.Run(dtype.String(), func(t *testing.T) {
			const rounds = 6
			var log lines
			n := &neighbours{}
			logger := slog.New(slog.NewTextHandler(&log, nil))
			w := newWorld(t, flcollect.Config{Initial: zeros, Identify: named, Repository: n, Logger: logger})
			w.joinAs(t, sending(dtype), "other")
			for i := range 4 {
				w.joinAs(t, sending(tensor.Float32), fmt.Sprintf("same-%d", i))
			}
			require.NoError(t, w.Start(t.Context(), "job", config(rounds, 5)))
			status := w.untilState(t, "job", report.Finished)
			require.Empty(t, status.Quarantined)
			require.Zero(t, w.Totals().Suspensions)
			require.EqualValues(t, rounds, w.Totals().Converted)
			want := report.Conversion{From: dtype.String(), To: "float32", Updates: rounds, Layers: 2 * rounds}
			all := report.Updates{
				Counts:      report.Counts{Kept: 5 * rounds, Converted: rounds},
				Conversions: []report.Conversion{want},
			}
			halved := 0
			if dtype == tensor.Float16 { // which counts as compressed as well
				halved, all.Compressed = 1, rounds
				all.Compressions = status.Updates.Compressions
			}
			require.Equal(t, all, status.Updates)
			require.Equal(t, rounds, status.Aggregated)
			for i, v := range w.weights(t, "job") {
				require.Equal(t, []float64{6, 6, 6, 7}[i], v)
			}
			note := "fit: 1 update converted: " + dtype.String() + " to float32 in 2 layers"
			done, err := w.Rounds(t.Context(), "job", 0, 0)
			require.NoError(t, err)
			require.Equal(t, note, done[3].Note)
			require.Contains(t, log.String(), `converted=1 note="`+note+`"`)
			found, err := w.Report(t.Context(), "job", 3, 0, 0)
			require.NoError(t, err)
			require.Equal(t, report.Counts{Kept: 5, Converted: 1, Compressed: halved}, found.Counts)
			require.Equal(t, "name:other", found.Clients[0].Client)
			require.Equal(t, []report.Conversion{{From: dtype.String(), To: "float32", Updates: 1, Layers: 2}}, found.Clients[0].Converted)
			require.Nil(t, found.Clients[0].Reputation)
			require.Nil(t, found.Clients[1].Converted)
			result, stored := n.stored("job")
			require.True(t, stored)
			require.Equal(t, status.Updates, result.Updates)
			h := w.web()
			text := fmt.Sprintf("30 kept, 0 clipped, 0 refused, 0 failed; 6 converted: %s to float32 in 12 layers", dtype)
			require.Contains(t, jobstest.Ask(h, "GET", "/live/job", "").Body.String(), text)
			require.Contains(t, jobstest.Ask(h, "GET", "/live/job", "").Body.String(), "converted: "+dtype.String()+" to float32 in 2 layers")
			require.Contains(t, jobstest.Ask(h, "GET", "/job/status/job", "").Body.String(), `"updates":{"kept":30,`)
			require.Contains(t, jobstest.Ask(h, "GET", "/job/status/job", "").Body.String(), `,"converted":6}`)
		})
	}
}

func TestServer_roundsUpdatesOfCounters(t *testing.T) {
	begin := func(context.Context, jobconfig.Config) (strategy.Model, error) {
		return strategy.Model{tensor.FromInt64s([]int64{4})}, nil
	}
	w := newWorld(t, flcollect.Config{Initial: begin})
	w.join(t, answering(func(flower.FitIns) (strategy.Model, error) {
		return strategy.Model{tensor.FromFloat64s([]float64{10.4})}, nil
	}))
	require.NoError(t, w.Start(t.Context(), "job", config(1, 1)))
	w.untilState(t, "job", report.Finished)
	result, err := w.Result(t.Context(), "job")
	require.NoError(t, err)
	require.Equal(t, strategy.Model{tensor.FromInt64s([]int64{10})}, result.Weights)
}

func TestServer_refusesUpdatesThatTheTypeCannotHold(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	w.join(t, sending(tensor.Float32))
	w.join(t, answering(func(flower.FitIns) (strategy.Model, error) {
		return strategy.Model{tensor.FromFloat64s([]float64{1, 1e300, 1}), tensor.FromFloat64s([]float64{1})}, nil
	}))
	require.NoError(t, w.Start(t.Context(), "job", config(1, 2)))
	status := w.untilState(t, "job", report.Finished)
	require.Len(t, status.Quarantined, 1)
	require.Contains(t, status.Quarantined[0].Reason,
		"convert tensor 0 from float64 to float32: tensor: number out of range: element 1 is 1e+300")
	require.Equal(t, []float64{1, 1, 1, 2}, w.weights(t, "job"), "of the other client alone")
	require.EqualValues(t, status.Updates.Refused, w.Totals().Refused)
	require.EqualValues(t, 1, w.Totals().Refused)
}

func TestServer_reputation_isNotWorseForAnotherType(t *testing.T) {
	const rounds = 6
	w := newWorld(t, flcollect.Config{Initial: zeros, Identify: named})
	w.joinAs(t, sending(tensor.Float32), "same")
	header := "{'descr': '<f16', 'fortran_order': False, 'shape': (0,), }\n"
	file := append([]byte("\x93NUMPY\x01\x00"+string(rune(len(header)))+"\x00"), header...)
	w.joinAs(t, trainer{examples: 1, fit: func(_ context.Context, _ flower.FitIns, res *flower.FitRes) error {
		res.Parameters = flower.Parameters{Type: flower.NumPy, Tensors: []flower.Blob{{file}, {file}}}
		return nil
	}}, "wide")
	require.NoError(t, w.Start(t.Context(), "job", config(rounds, 2)))
	w.untilState(t, "job", report.Finished)
	require.Zero(t, w.Totals().Suspensions)
	for _, fate := range w.fates(t, rounds, "name:wide") {
		require.Equal(t, report.Refused, fate, "and the reason says why")
	}
}

func TestServer_Result_isNoneWhereNothingWasAggregated(t *testing.T) {
	n := &neighbours{}
	w := newWorld(t, flcollect.Config{Initial: zeros, Repository: n, Orchestrator: n})
	w.join(t, trainer{step: 1, examples: 0})
	conf := config(3, 1)
	conf.Stopping, conf.Targets = true, map[string]float64{"accuracy": -1} // the model to begin with surpasses it
	require.NoError(t, w.Start(t.Context(), "job", conf))
	status := w.untilState(t, "job", report.Interrupted)
	require.Equal(t, 3, status.Round)
	require.Contains(t, status.Error,
		"no round has aggregated an update, so there is no result: the last of 3 rounds says: fit: 1 of 1 clients failed")
	require.Contains(t, status.Error, "num_examples is 0")
	require.Zero(t, status.Aggregated)
	require.Nil(t, status.Early)
	require.Equal(t, report.Counts{Refused: 3}, status.Updates.Counts)
	require.False(t, status.Stored)
	_, err := w.Result(t.Context(), "job")
	require.ErrorIs(t, err, flcollect.ErrNoResult)
	w.end()
	require.NotContains(t, n.all(), "store job")

	again := newWorld(t, flcollect.Config{Documents: w.documents, Blobs: w.blobs, Repository: n})
	after, err := again.Status(t.Context(), "job")
	require.NoError(t, err)
	require.Equal(t, report.Interrupted, after.State)
	require.Equal(t, status.Error, after.Error)
}

func TestServer_Status_notesARoundThatAggregatedNothing(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	w.join(t, trainer{fit: func(_ context.Context, _ flower.FitIns, res *flower.FitRes) error {
		res.NumExamples = 1
		if w.Totals().Rounds == 1 {
			res.NumExamples = 0
		}
		return nil
	}, examples: 1, step: 1})
	require.NoError(t, w.Start(t.Context(), "job", config(3, 1)))
	status := w.untilState(t, "job", report.Finished)
	require.Equal(t, 2, status.Aggregated)
	require.Contains(t, status.Note, "1 of 3 rounds aggregated nothing, the last of them was round 2: fit: 1 of 1 clients failed")
	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.Contains(t, rounds[1].Note, "fit: the model stays as it was: strategy: too few updates")
	require.Equal(t, report.Counts{Refused: 1}, rounds[1].Updates.Counts)
	require.True(t, rounds[2].Aggregated)
}

// A job whose record an older server has written, which did not count the rounds that
// changed the model, ends as it did.
func TestServer_Result_ofAnOlderRecord(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		w := newWorldOn(t, lan, flcollect.Config{Initial: zeros})
		w.join(t, trainer{step: 1, examples: 1, fit: func(ctx context.Context, _ flower.FitIns, _ *flower.FitRes) error {
			if w.Totals().Rounds < 1 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}})
		require.NoError(t, w.Start(t.Context(), "job", config(2, 1)))
		w.until(t, "job", "at round 1", func(s flcollect.Status) bool { return s.Round == 1 })
		w.end()
		doc, err := w.documents.Get(t.Context(), "job/job")
		require.NoError(t, err)
		var record map[string]any
		require.NoError(t, json.Unmarshal(doc.Data, &record))
		require.EqualValues(t, 1, record["aggregated"])
		delete(record, "aggregated")
		data, err := json.Marshal(record)
		require.NoError(t, err)
		_, err = w.documents.Update(t.Context(), doc.Key, doc.Revision, data)
		require.NoError(t, err)

		n := &neighbours{}
		again := newWorldOn(t, lan, flcollect.Config{Documents: w.documents, Blobs: w.blobs, Repository: n})
		again.join(t, trainer{examples: 0}) // refused
		status := again.untilState(t, "job", report.Finished)
		require.True(t, status.Stored)
	})
}

// wideBeginner is a client that gives its model with 64 bits.
type wideBeginner struct{ trainer }

func (wideBeginner) Parameters(context.Context, flower.GetParametersIns) (flower.Parameters, error) {
	return flower.FromTensors(tensor.FromFloat64s([]float64{1, 2})), nil
}

func TestServer_takesTypesFromTheFirstModel(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	w.join(t, wideBeginner{sending(tensor.Float64)}) // the only one that has a model
	w.join(t, sending(tensor.Float32))
	require.NoError(t, w.Start(t.Context(), "job", config(2, 2)))
	status := w.untilState(t, "job", report.Finished)
	require.Equal(t, []report.Conversion{{From: "float32", To: "float64", Updates: 2, Layers: 2}}, status.Updates.Conversions)
	result, err := w.Result(t.Context(), "job")
	require.NoError(t, err)
	require.Equal(t, strategy.Model{tensor.FromFloat64s([]float64{3, 4})}, result.Weights)
}

// crowded is a strategy that notes how many updates are added at once.
type crowded struct {
	strategy.Strategy
	inside, most atomic.Int32
}

func (c *crowded) Begin(round strategy.Round) (strategy.Aggregation, error) {
	made, err := c.Strategy.Begin(round)
	return &crowd{made, c}, err
}

type crowd struct {
	strategy.Aggregation
	all *crowded
}

// Add gives others a moment to come in.
func (c *crowd) Add(ctx context.Context, update strategy.Update) error {
	defer c.all.inside.Add(-1)
	for n := c.all.inside.Add(1); ; {
		if most := c.all.most.Load(); n <= most || c.all.most.CompareAndSwap(most, n) {
			break
		}
	}
	select {
	case <-time.After(20 * time.Millisecond):
	case <-ctx.Done():
	}
	return c.Aggregation.Add(ctx, update)
}

// The uploads that are admitted bound what comes in, not what is made of it: a byte may
// become a number of 64 bits.
func TestServer_Run_limitsConversions(t *testing.T) {
	clients := 4 * runtime.NumCPU()
	c := &crowded{}
	w := newWorld(t, flcollect.Config{Initial: zeros, TrustClients: true, Strategies: map[string]factory{
		"crowded": func(conf strategy.Conf) (_ strategy.Strategy, err error) {
			c.Strategy, err = strategy.New("FedAvg", conf)
			return c, err
		},
	}})
	for range clients {
		w.join(t, sending(tensor.Int8))
	}
	job := config(1, clients)
	job.Strategy = "crowded"
	require.NoError(t, w.Start(t.Context(), "job", job))
	status := w.untilState(t, "job", report.Finished)
	require.Equal(t, report.Counts{Kept: clients, Converted: clients}, status.Updates.Counts)
	require.LessOrEqual(t, int(c.most.Load()), runtime.NumCPU())
}
