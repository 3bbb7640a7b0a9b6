package round_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/internal/reputation"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/record"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/secagg"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// plain is a client that cannot exchange records.
type plain struct{ done chan struct{} }

var errNotAsked = errors.New("this is not asked for")

func (plain) Fit(context.Context, flower.FitIns) (*flower.FitRes, error) { return nil, errNotAsked }
func (plain) Evaluate(context.Context, flower.EvaluateIns) (*flower.EvaluateRes, error) {
	return nil, errNotAsked
}
func (plain) Parameters(context.Context, flower.GetParametersIns) (*flower.ParametersRes, error) {
	return nil, errNotAsked
}
func (plain) Reconnect(context.Context, int64) error { return nil }
func (p plain) Done() <-chan struct{}                { return p.done }

// node is a SuperNode whose ClientApp has the mod. It adds its number to the model.
type node struct {
	plain
	id       uint64
	examples int64
	client   *secagg.Client
	model    strategy.Model // of the last instruction
	// change replaces what the node answers.
	change func(ctx context.Context, stage secagg.Stage, answer record.Dict, err error) (record.Dict, error)
}

func newNode(id uint64, examples int64) *node {
	n := &node{plain: plain{make(chan struct{})}, id: id, examples: examples}
	n.client = secagg.NewClient(id, func(context.Context) ([]tensor.Tensor, int64, error) {
		trained := make([]tensor.Tensor, len(n.model))
		for i, layer := range n.model {
			values := layer.Float64s()
			for k := range values {
				values[k] += float64(n.id)
			}
			trained[i] = tensor.FromFloat64s(values, layer.Shape()...)
		}
		return trained, n.examples, nil
	})
	return n
}

func (n *node) Node() uint64 { return n.id }

// Exchange overwrites the bytes of an answer once it was released.
func (n *node) Exchange(ctx context.Context, messageType string, content record.Dict) (record.Dict, func(), error) {
	answer, err := n.answer(ctx, messageType, content)
	if err != nil {
		return nil, nil, err
	}
	return answer, func() {
		config, _ := answer.Config(secagg.Record)
		for _, v := range config {
			if data, ok := v.Value.([]byte); ok {
				clear(data)
			}
			if list, ok := v.Value.([][]byte); ok {
				for _, data := range list {
					clear(data)
				}
			}
		}
	}, nil
}

func (n *node) answer(ctx context.Context, messageType string, content record.Dict) (record.Dict, error) {
	if messageType != record.Train {
		return nil, fmt.Errorf("a message of type %q", messageType)
	}
	config, _ := content.Config(secagg.Record)
	request := secagg.Values{}
	for _, v := range config {
		request[v.Name] = v.Value
	}
	stage := secagg.Stage(request["stage"].(string))
	if stage == secagg.StageCollect {
		arrays, there := content.Arrays("fitins.parameters")
		settings, _ := content.Config("fitins.config")
		if rate, _ := settings.Get("rate"); !there || rate != 0.5 {
			return nil, errors.New("the instruction is missing")
		}
		parameters, err := arrays.Parameters()
		if err == nil {
			n.model, err = parameters.Decode()
		}
		if err != nil {
			return nil, err
		}
	}
	values, err := n.client.Answer(ctx, request)
	answer := record.Dict{{Name: secagg.Record, Value: record.FromConfig(copied(values))}}
	if stage == secagg.StageCollect {
		answer = append(answer,
			record.Named[record.Record]{Name: "fitres.num_examples", Value: record.Metrics{{Name: "num_examples", Value: n.examples}}},
			record.Named[record.Record]{Name: "fitres.metrics", Value: record.Config{{Name: "loss", Value: float64(n.id)}}},
			record.Named[record.Record]{Name: "fitres.status", Value: record.Config{{Name: "code", Value: int64(0)}}},
			record.Named[record.Record]{Name: "fitres.parameters", Value: record.Arrays{}},
		)
	}
	if n.change != nil {
		return n.change(ctx, stage, answer, err)
	}
	return answer, err
}

// copied returns values whose bytes are not those of the client.
func copied(values secagg.Values) flower.Config {
	config := flower.Config{}
	for name, value := range values {
		switch v := value.(type) {
		case []byte:
			value = bytes.Clone(v)
		case [][]byte:
			list := make([][]byte, len(v))
			for i := range v {
				list[i] = bytes.Clone(v[i])
			}
			value = list
		}
		config[name] = value
	}
	return config
}

// hall is a job with secure aggregation, its nodes, and one client that is none.
type hall struct {
	nodes map[uint64]*node
	conf  round.Config
	made  strategy.Strategy
	model strategy.Model
}

func newHall(t *testing.T, name string, conf strategy.Conf, sizes ...int64) *hall {
	t.Helper()
	made, err := strategy.New(name, conf)
	require.NoError(t, err)
	h := &hall{nodes: map[uint64]*node{}, made: made, conf: round.Config{
		Pool: round.NewPool(), Reputations: reputation.NewTable(), Masking: &secagg.Settings{},
		ClientConf: map[string]any{"rate": 0.5}, ClientTimeout: time.Minute, Ending: context.Background(), Log: slog.New(slog.DiscardHandler),
	}}
	h.conf.Pool.Add(round.NewMember(plain{make(chan struct{})}, "plain", flower.Peer{}, "session:plain"))
	for i, examples := range sizes {
		n := newNode(uint64(i+1), examples)
		h.nodes[n.id] = n
		h.conf.Pool.Add(round.NewMember(n, fmt.Sprintf("node-%d", n.id), flower.Peer{}, fmt.Sprintf("key:%d", n.id)))
	}
	h.model = strategy.Model{tensor.FromFloat32s([]float32{0.5, -1, 2, 0}, 2, 2), tensor.FromInt64s([]int64{3, 4})}
	return h
}

// gone has a node fail in a stage.
func (h *hall) gone(id uint64, at secagg.Stage) {
	h.nodes[id].change = func(_ context.Context, stage secagg.Stage, answer record.Dict, err error) (record.Dict, error) {
		if stage == at {
			return nil, errors.New("the node is gone")
		}
		return answer, err
	}
}

// fit conducts the fit of the first round.
func (h *hall) fit(t *testing.T) (*round.Result, audit.Clients) {
	t.Helper()
	c := round.NewConductor(h.conf, h.made)
	drawn, err := c.Gather(t.Context(), strategy.Fit, 1)
	require.NoError(t, err)
	attempt := audit.NewAttempt(1, true)
	result, err := c.Fit(t.Context(), round.Start{Number: 1, Model: h.model}, drawn, attempt)
	require.NoError(t, err)
	require.NotEmpty(t, attempt.Sent())
	return result, attempt.Clients(h.made)
}

// shift returns the mean of the numbers that the nodes add to the model.
func (h *hall) shift(ids ...uint64) float64 {
	sum, weight := 0.0, 0.0
	for _, id := range ids {
		sum += float64(id) * float64(h.nodes[id].examples)
		weight += float64(h.nodes[id].examples)
	}
	return sum / weight
}

func TestConductor_Fit_averagesMaskedUpdates(t *testing.T) {
	h := newHall(t, "FedAvg", nil, 100, 200, 300)
	result, reports := h.fit(t)
	shift := h.shift(1, 2, 3)
	require.Equal(t, tensor.Float32, result.Model[0].DType())
	require.Equal(t, []int{2, 2}, result.Model[0].Shape())
	for i, v := range result.Model[0].Float64s() {
		require.InDelta(t, h.model[0].Float64s()[i]+shift, v, 1e-4)
	}
	require.Equal(t, []float64{5, 6}, result.Model[1].Float64s(), "5.33 and 6.33, rounded")
	require.Equal(t, report.Phase{Clients: 3, Results: 3, Sent: result.Phase.Sent, Received: result.Phase.Received,
		Seconds: result.Phase.Seconds}, result.Phase)
	require.Positive(t, result.Phase.Sent)
	require.Greater(t, result.Phase.Received, int64(3*6*8))
	require.InDelta(t, shift, result.Metrics["loss"], 1e-9)
	notes := strings.Join(result.Notes, "; ")
	require.Contains(t, notes, "the mean of 3 masked updates is exact to ")
	require.Contains(t, notes, "1 layers of whole numbers were clipped and rounded")
	require.NotContains(t, notes, "max_weight")
	require.Len(t, reports, 3, "the client that cannot exchange records is left out")
	for i, r := range reports {
		require.Equal(t, report.Kept, r.Outcome)
		require.Len(t, r.Update, 64)
		require.EqualValues(t, 100*(i+1), r.Examples)
		require.Nil(t, r.Norm)
	}
}

func TestConductor_Fit_goesOnWithoutMaskedClientsThatDropOut(t *testing.T) {
	for _, stage := range []secagg.Stage{secagg.StageSetup, secagg.StageShare, secagg.StageCollect} {
		t.Run(string(stage), func(t *testing.T) {
			h := newHall(t, "FedAvg", nil, 100, 200, 300, 400, 500)
			h.gone(2, stage)
			result, reports := h.fit(t)
			require.InDelta(t, 0.5+h.shift(1, 3, 4, 5), result.Model[0].Float64s()[0], 1e-4)
			require.Equal(t, [2]int{4, 1}, [2]int{result.Phase.Results, result.Phase.Failures})
			require.Contains(t, result.Notes[0], `1 of 5 clients dropped out, the first: "node-2": stage `+string(stage)+": the node is gone")
			require.Equal(t, report.Failed, reports[1].Outcome)
			require.Contains(t, reports[1].Reason, string(stage))
			table := reputation.NewTable()
			audit.Judge(table, 1, reports)
			_, bad := table.Reputation("key:2")
			require.True(t, bad)
		})
	}
	t.Run("unmask", func(t *testing.T) {
		h := newHall(t, "FedAvg", nil, 100, 200, 300, 400, 500)
		h.gone(2, secagg.StageUnmask)
		result, reports := h.fit(t)
		require.InDelta(t, 0.5+h.shift(1, 2, 3, 4, 5), result.Model[0].Float64s()[0], 1e-4)
		require.Equal(t, [2]int{5, 0}, [2]int{result.Phase.Results, result.Phase.Failures})
		require.Contains(t, result.Notes[0], "1 clients failed after their updates had been added")
		require.Equal(t, report.Kept, reports[1].Outcome)
		require.Equal(t, "stage unmask: the node is gone", reports[1].Reason)
	})
}

// A round of the protocol that fails leaves the model as it was, and of its clients only
// those that dropped out are to blame.
func TestConductor_Fit_leavesTheModelWhereTooFewMaskedClientsRemain(t *testing.T) {
	h := newHall(t, "FedAvg", nil, 100, 200, 300)
	h.gone(1, secagg.StageCollect)
	h.gone(2, secagg.StageCollect)
	result, reports := h.fit(t)
	require.Nil(t, result.Model)
	require.Equal(t, [2]int{0, 3}, [2]int{result.Phase.Results, result.Phase.Failures})
	notes := strings.Join(result.Notes, "; ")
	require.Contains(t, notes, "the secure aggregation failed: secagg: too few clients")
	require.Contains(t, notes, "2 of 3 clients dropped out")
	require.Contains(t, notes, "the model stays as it was")
	require.Contains(t, reports[2].Reason, "the secure aggregation failed")
	table := reputation.NewTable()
	audit.Judge(table, 1, reports)
	for id, blamed := range map[string]bool{"key:1": true, "key:2": true, "key:3": false} {
		_, bad := table.Reputation(id)
		require.Equal(t, blamed, bad, id)
	}
}

func TestConductor_Fit_appliesThePolicyToMaskedClients(t *testing.T) {
	h := newHall(t, "FedAvg", strategy.Conf{"accept_failures": false}, 100, 200, 300, 400)
	h.gone(1, secagg.StageCollect)
	result, _ := h.fit(t)
	require.Nil(t, result.Model)
	require.Contains(t, result.Notes[len(result.Notes)-1], "accept_failures is false")
}

func TestConductor_Fit_passesTheMeanToTheStrategy(t *testing.T) {
	h := newHall(t, "FedAdam", strategy.Conf{"eta": 0.5}, 100, 300)
	result, _ := h.fit(t)
	plain, err := strategy.New("FedAdam", strategy.Conf{"eta": 0.5})
	require.NoError(t, err)
	sums, err := plain.Begin(strategy.Round{Number: 1, Model: h.model})
	require.NoError(t, err)
	for _, n := range h.nodes {
		values := h.model[0].Float64s()
		for i := range values {
			values[i] += float64(n.id)
		}
		matrix, err := tensor.FromFloat64s(values, 2, 2).As(tensor.Float32)
		require.NoError(t, err)
		counters := tensor.FromInt64s([]int64{3 + int64(n.id), 4 + int64(n.id)})
		require.NoError(t, sums.Add(t.Context(), strategy.Update{
			Client: fmt.Sprint(n.id), Examples: n.examples, Model: strategy.Model{matrix, counters}}))
	}
	want, err := sums.Finish(t.Context())
	require.NoError(t, err)
	require.InDeltaSlice(t, want[0].Float64s(), result.Model[0].Float64s(), 1e-4)
}

func TestConductor_Fit_saysWhatClientsClip(t *testing.T) {
	h := newHall(t, "FedAvg", nil, 8000, 8000)
	result, _ := h.fit(t)
	notes := strings.Join(result.Notes, "; ")
	require.Contains(t, notes, "the clients have 8000 examples on average, more than max_weight, 1000")
	require.Contains(t, notes, "the model that clients were sent has numbers up to 4, "+
		"and clients with the average number of examples clip beyond 1: raise clipping_range or max_weight")
}

// A ClientApp without the mod fails, or answers without the record.
func TestConductor_Fit_asksForTheModOfMaskedClients(t *testing.T) {
	h := newHall(t, "FedAvg", nil, 100, 200, 300, 400)
	h.nodes[1].change = func(context.Context, secagg.Stage, record.Dict, error) (record.Dict, error) {
		return nil, &record.Error{Reason: "KeyError: fitins.parameters"}
	}
	h.nodes[2].change = func(context.Context, secagg.Stage, record.Dict, error) (record.Dict, error) {
		return record.Dict{}, nil
	}
	_, reports := h.fit(t)
	for _, r := range reports[:2] {
		require.Contains(t, r.Reason, "is secaggplus_mod among the mods of its ClientApp?")
	}
	require.Contains(t, reports[0].Reason, "KeyError")
}

// What a client reports beside its masked vector is checked; the vector is part of the mean.
func TestConductor_Fit_ignoresMetricsOfMaskedClientsThatAreWrong(t *testing.T) {
	h := newHall(t, "FedAvg", nil, 100, 200, 300)
	h.nodes[1].change = func(_ context.Context, stage secagg.Stage, answer record.Dict, err error) (record.Dict, error) {
		if stage == secagg.StageCollect {
			answer = slices.DeleteFunc(answer, func(r record.Named[record.Record]) bool { return r.Name == "fitres.num_examples" })
		}
		return answer, err
	}
	h.nodes[2].change = func(_ context.Context, stage secagg.Stage, answer record.Dict, err error) (record.Dict, error) {
		for i := range answer {
			if answer[i].Name == "fitres.status" {
				answer[i].Value = record.Config{{Name: "code", Value: int64(3)}, {Name: "message", Value: "no data"}}
			}
		}
		return answer, err
	}
	result, reports := h.fit(t)
	require.InDelta(t, 0.5+h.shift(1, 3), result.Model[0].Float64s()[0], 1e-4)
	require.Equal(t, map[string]float64{"loss": 3}, result.Metrics)
	require.Equal(t, report.Kept, reports[0].Outcome)
	require.Contains(t, reports[0].Reason, "num_examples is 0")
	require.Equal(t, report.Failed, reports[1].Outcome)
	require.Contains(t, reports[1].Reason, "the client answered with the status 3: no data")
}

// The time of a phase bounds each stage, unless the settings have a time of their own.
func TestConductor_Fit_boundsTheTimeOfEachStage(t *testing.T) {
	for name, set := range map[string]func(*round.Config){
		"round_timeout": func(c *round.Config) { c.Timeout = 90 * time.Second },
		"timeout":       func(c *round.Config) { c.Timeout, c.Masking.Timeout = time.Hour, 90 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHall(t, "FedAvg", nil, 100, 200, 300, 400)
				set(&h.conf)
				h.nodes[4].change = func(ctx context.Context, _ secagg.Stage, _ record.Dict, _ error) (record.Dict, error) {
					<-ctx.Done()
					return nil, context.Cause(ctx)
				}
				began := time.Now()
				result, reports := h.fit(t)
				require.Equal(t, 90*time.Second, time.Since(began))
				require.InDelta(t, 0.5+h.shift(1, 2, 3), result.Model[0].Float64s()[0], 1e-4)
				require.Equal(t, report.Failed, reports[3].Outcome)
			})
		})
	}
}

func TestConductor_Fit_endsWithTheServer(t *testing.T) {
	h := newHall(t, "FedAvg", nil, 100, 200)
	ending, end := context.WithCancelCause(t.Context())
	h.conf.Ending = ending
	reason := errors.New("the server ends")
	h.nodes[1].change = func(ctx context.Context, stage secagg.Stage, answer record.Dict, err error) (record.Dict, error) {
		if stage == secagg.StageCollect {
			end(reason)
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		return answer, err
	}
	c := round.NewConductor(h.conf, h.made)
	drawn, err := c.Gather(t.Context(), strategy.Fit, 1)
	require.NoError(t, err)
	_, err = c.Fit(t.Context(), round.Start{Number: 1, Model: h.model}, drawn, audit.NewAttempt(1, true))
	require.ErrorIs(t, err, reason)
}

// Clients that cannot take part are not waited for, and not drawn, also where some are suspended.
func TestConductor_Gather_countsOnlyClientsThatMask(t *testing.T) {
	h := newHall(t, "FedAvg", strategy.Conf{"min_available_clients": 2}, 100)
	h.conf.ClientTimeout = 10 * time.Millisecond
	_, err := round.NewConductor(h.conf, h.made).Gather(t.Context(), strategy.Fit, 1)
	require.ErrorIs(t, err, round.ErrInsufficient)
	require.ErrorContains(t, err, "1 of 2 came")
	drawn, err := round.NewConductor(h.conf, h.made).Gather(t.Context(), strategy.Evaluate, 1)
	require.NoError(t, err)
	require.Len(t, drawn.Clients, 2, "the others can evaluate")
}
