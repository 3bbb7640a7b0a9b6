package supernode_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/record"
	"github.com/iotenablers/enablers/flcollect/supernode"
	"github.com/iotenablers/enablers/flcollect/supernode/supernodetest"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// layers decodes a model into the elements of its layers.
func layers(t *testing.T, p flower.Parameters) [][]float64 {
	t.Helper()
	model, err := p.Decode()
	require.NoError(t, err)
	var all [][]float64
	for _, layer := range model {
		all = append(all, layer.Float64s())
	}
	return all
}

func TestMember_Fit_carriesAModelThereAndBack(t *testing.T) {
	transports(t, func(t *testing.T, grpc bool) {
		w := start(t, supernode.Config{})
		run := w.run(supernode.RunConfig{Names: []string{"weights", "bias"}})
		c, node := w.node(supernodetest.Config{GRPC: grpc, Release: "1.42.0"})
		require.Equal(t, c.ID(), node.ID())
		require.Equal(t, "1.42.0", node.Release())
		m := w.join(run, node)
		run.SetRound(3)
		var seen record.Message
		w.works(c, func(m record.Message) (record.Dict, error) {
			seen = m
			return addOne(m)
		})
		const elements = 3 << 20 // three chunks
		res, err := m.Fit(bounded(t), flower.FitIns{Parameters: model(elements), Config: flower.Config{"lr": 0.5}})
		require.NoError(t, err)
		require.EqualValues(t, 10, res.NumExamples)
		require.Equal(t, flower.Config{"acc": 0.5}, res.Metrics)
		got := layers(t, res.Parameters)
		require.Len(t, got[0], elements)
		require.Equal(t, []float64{2, 3}, got[1])
		require.Greater(t, w.InUse(), int64(4*elements), "until the answer is released")
		res.Release()
		require.Zero(t, w.InUse())

		require.Equal(t, record.Train, seen.Metadata.Type)
		require.Equal(t, "3", seen.Metadata.GroupID)
		require.EqualValues(t, record.ServerNode, seen.Metadata.Source)
		require.Equal(t, node.ID(), seen.Metadata.Destination)
		require.EqualValues(t, 7, seen.Metadata.RunID)
		arrays, _ := seen.Content.Arrays("arrays")
		require.Equal(t, []string{"weights", "bias"}, arrays.Names())
		config, _ := seen.Content.Config("config")
		scalars, lists := config.Scalars()
		require.Empty(t, lists)
		require.Equal(t, flower.Config{"lr": 0.5, "server-round": int64(3)}, scalars)
	})
}

func TestMember_Evaluate_returnsLossAndMetrics(t *testing.T) {
	transports(t, func(t *testing.T, grpc bool) {
		w := start(t, supernode.Config{})
		c, node := w.node(supernodetest.Config{GRPC: grpc})
		m := w.join(w.run(supernode.RunConfig{}), node)
		w.works(c, addOne)
		res, err := m.Evaluate(bounded(t), flower.EvaluateIns{Parameters: model(5)})
		require.NoError(t, err)
		require.Equal(t, &flower.EvaluateRes{Loss: 3, NumExamples: 4, Metrics: flower.Config{}}, res)
		require.Zero(t, w.InUse())
	})
}

func TestMember_fitins_speaksWithClientFn(t *testing.T) {
	w := start(t, supernode.Config{})
	c, node := w.node(supernodetest.Config{})
	run := w.run(supernode.RunConfig{Records: supernode.FitIns})
	m := w.join(run, node)
	code := int64(0)
	w.works(c, func(got record.Message) (record.Dict, error) {
		status := record.Config{{Name: "code", Value: code}, {Name: "message", Value: "Success"}}
		examples := record.Metrics{{Name: "num_examples", Value: int64(6)}}
		metrics := record.Config{{Name: "word", Value: "yes"}}
		switch got.Metadata.Type {
		case record.Train:
			arrays, ok := got.Content.Arrays("fitins.parameters")
			config, has := got.Content.Config("fitins.config")
			lr, _ := config.Get("lr")
			if !ok || !has || lr != 0.5 {
				return nil, errors.New("no instruction")
			}
			return record.Dict{{Name: "fitres.metrics", Value: metrics}, {Name: "fitres.num_examples", Value: examples},
				{Name: "fitres.parameters", Value: arrays}, {Name: "fitres.status", Value: status}}, nil
		case record.Evaluate:
			return record.Dict{{Name: "evaluateres.loss", Value: record.Metrics{{Name: "loss", Value: 0.25}}},
				{Name: "evaluateres.num_examples", Value: examples}, {Name: "evaluateres.metrics", Value: metrics},
				{Name: "evaluateres.status", Value: status}}, nil
		case record.GetParameters:
			return record.Dict{{Name: "getparametersres.parameters", Value: record.FromParameters(model(2))},
				{Name: "getparametersres.status", Value: status}}, nil
		}
		return nil, errors.New("unknown")
	})
	res, err := m.Fit(bounded(t), flower.FitIns{Parameters: model(3), Config: flower.Config{"lr": 0.5}})
	require.NoError(t, err)
	require.Equal(t, [][]float64{{0, 0, 0}, {1, 2}}, layers(t, res.Parameters))
	require.EqualValues(t, 6, res.NumExamples)
	require.Equal(t, flower.Config{"word": "yes"}, res.Metrics)
	res.Release()
	evaluated, err := m.Evaluate(bounded(t), flower.EvaluateIns{Parameters: model(3)})
	require.NoError(t, err)
	require.Equal(t, &flower.EvaluateRes{Status: flower.Status{Message: "Success"}, Loss: 0.25, NumExamples: 6,
		Metrics: flower.Config{"word": "yes"}}, evaluated)
	p, err := m.Parameters(bounded(t), flower.GetParametersIns{})
	require.NoError(t, err)
	require.Equal(t, [][]float64{{0, 0}, {1, 2}}, layers(t, p.Parameters))
	p.Release()

	code = int64(flower.FitNotImplemented)
	_, err = m.Fit(bounded(t), flower.FitIns{Parameters: model(3), Config: flower.Config{"lr": 0.5}})
	var refused *flower.StatusError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, flower.FitNotImplemented, refused.Code)
	require.Zero(t, w.InUse())
}

func TestMember_Exchange_carriesAnyRecords(t *testing.T) {
	w := start(t, supernode.Config{})
	c, node := w.node(supernodetest.Config{})
	m := w.join(w.run(supernode.RunConfig{}), node)
	w.works(c, func(got record.Message) (record.Dict, error) { return got.Content, nil })
	sent := record.Dict{{Name: "ask", Value: record.Config{{Name: "keys", Value: [][]byte{{1}, {2, 3}}}}}}
	got, err := m.Exchange(bounded(t), "query.keys", sent)
	require.NoError(t, err)
	require.Equal(t, sent, got.Content)
	require.Equal(t, "query.keys", got.Metadata.Type)
	got.Release()
	got.Release()
	require.Zero(t, w.InUse())
}

// weighted returns an answer with a number of examples.
func weighted(arrays record.Arrays, examples any) record.Dict {
	return record.Dict{
		{Name: "arrays", Value: arrays}, {Name: "metrics", Value: record.Metrics{{Name: "num-examples", Value: examples}}},
	}
}

func TestMember_Fit_saysWhatAnAppMustReturn(t *testing.T) {
	w := start(t, supernode.Config{})
	c, node := w.node(supernodetest.Config{})
	m := w.join(w.run(supernode.RunConfig{Names: []string{"weights", "bias"}}), node)
	arrays, err := record.FromTensors([]string{"weights", "bias"},
		tensor.FromFloat32s([]float32{1}, 1), tensor.FromFloat32s([]float32{1}, 1))
	require.NoError(t, err)
	examples := record.Metrics{{Name: "num-examples", Value: 3.0}}
	var answer record.Dict
	var failure error
	w.works(c, func(record.Message) (record.Dict, error) { return answer, failure })
	for problem, content := range map[string]record.Dict{
		"0 ArrayRecords, expected one": {{Name: "metrics", Value: examples}},
		"2 ArrayRecords, expected one": {
			{Name: "arrays", Value: arrays}, {Name: "more", Value: arrays[:1]}, {Name: "metrics", Value: examples},
		},
		`no layer "bias", only "weights"`:  {{Name: "arrays", Value: arrays[:1]}, {Name: "metrics", Value: examples}},
		"0 MetricRecords, expected one":    {{Name: "arrays", Value: arrays}},
		`MetricRecord has no "num-examp`:   {{Name: "arrays", Value: arrays}, {Name: "metrics", Value: record.Metrics{}}},
		`"num-examples" is 0.5 (float64)`:  weighted(arrays, 0.5),
		`"num-examples" is [1] ([]int64),`: weighted(arrays, []int64{1}),
	} {
		answer = content
		_, err := m.Fit(bounded(t), flower.FitIns{Parameters: model(1)})
		require.ErrorContains(t, err, problem)
		require.ErrorContains(t, err, node.String())
	}
	answer = record.Dict{{Name: "arrays", Value: record.Arrays{arrays[1], arrays[0]}}, {Name: "metrics", Value: examples}}
	res, err := m.Fit(bounded(t), flower.FitIns{Parameters: model(1)})
	require.NoError(t, err, "a whole number as a float, and layers in another order")
	require.EqualValues(t, 3, res.NumExamples)
	res.Release()

	failure = errors.New("KeyError: 'fitins.parameters'")
	_, err = m.Fit(bounded(t), flower.FitIns{Parameters: model(1)})
	var failed *record.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, record.CodeAppRaised, failed.Code)
	require.ErrorContains(t, err, `records must be "fitins"`)
	failure, answer = nil, record.Dict{{Name: "metrics", Value: examples}}
	_, err = m.Evaluate(bounded(t), flower.EvaluateIns{Parameters: model(1)})
	require.ErrorContains(t, err, `must report it as "eval_loss"`)
	_, err = m.Parameters(bounded(t), flower.GetParametersIns{})
	require.ErrorContains(t, err, "the Message API has no get_parameters")
	require.Zero(t, w.InUse())
}

func TestRun_modelOfARound_isPreparedOnceForAllNodes(t *testing.T) {
	w := start(t, supernode.Config{})
	run := w.run(supernode.RunConfig{})
	const nodes = 4
	ids := make(chan string, nodes)
	var members []*supernode.Member
	for range nodes {
		c, node := w.node(supernodetest.Config{})
		members = append(members, w.join(run, node))
		w.works(c, func(got record.Message) (record.Dict, error) {
			arrays, _ := got.Content.Arrays("arrays")
			p, err := record.Prepare(arrays)
			if err != nil {
				return nil, err
			}
			ids <- p.ID()
			return addOne(got)
		})
	}
	p := model(1000)
	var group sync.WaitGroup
	for _, m := range members {
		group.Go(func() {
			res, err := m.Fit(bounded(t), flower.FitIns{Parameters: p})
			if err == nil {
				res.Release()
			}
		})
	}
	group.Wait()
	first := <-ids
	for range nodes - 1 {
		require.Equal(t, first, <-ids)
	}
	require.Zero(t, w.InUse())
}

func TestMember_twoRuns_shareANodeAndStayApart(t *testing.T) {
	w := start(t, supernode.Config{})
	c, node := w.node(supernodetest.Config{})
	first, second := w.run(supernode.RunConfig{ID: 1}), w.run(supernode.RunConfig{ID: 2})
	a, b := w.join(first, node), w.join(second, node)
	_, err := first.Join(node)
	require.ErrorContains(t, err, "is in it already")
	w.works(c, func(got record.Message) (record.Dict, error) {
		return record.Dict{{Name: "run", Value: record.Metrics{{Name: "id", Value: got.Metadata.RunID}}}}, nil
	})
	for id, m := range map[uint64]*supernode.Member{1: a, 2: b} {
		got, err := m.Exchange(bounded(t), record.Query, record.Dict{})
		require.NoError(t, err)
		metrics, _ := got.Content.Metrics("run")
		value, _ := metrics.Get("id")
		require.Equal(t, id, value)
		got.Release()
	}
	first.Close()
	first.Close()
	<-a.Done()
	require.ErrorIs(t, a.Err(), supernode.ErrClosed)
	_, err = a.Exchange(bounded(t), record.Query, record.Dict{})
	require.ErrorIs(t, err, flower.ErrGone)
	got, err := b.Exchange(bounded(t), record.Query, record.Dict{})
	require.NoError(t, err, "the other run goes on")
	got.Release()
	require.NoError(t, b.Reconnect(bounded(t), 0))
	<-b.Done()
	require.NoError(t, node.Err(), "the node stays")
	again := w.join(second, node)
	got, err = again.Exchange(bounded(t), record.Query, record.Dict{})
	require.NoError(t, err)
	got.Release()
}

func TestMember_context_withdrawsTheMessageAndKeepsTheNode(t *testing.T) {
	w := start(t, supernode.Config{})
	c, node := w.node(supernodetest.Config{})
	m := w.join(w.run(supernode.RunConfig{}), node)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := m.Fit(ctx, flower.FitIns{Parameters: model(2)})
		failed <- err
	}()
	task, err := c.Ask(bounded(t))
	require.NoError(t, err)
	got, err := c.Fetch(bounded(t), task)
	require.NoError(t, err)
	cancel(cause)
	require.ErrorIs(t, <-failed, cause)
	content, err := addOne(got)
	require.NoError(t, err)
	pushed, err := c.Answer(bounded(t), got.Reply(1, content))
	require.NoError(t, err, "the SuperNode sends a late answer and goes on")
	require.Zero(t, pushed, "of which nothing is transferred")
	require.Zero(t, w.InUse())

	w.works(c, addOne)
	res, err := m.Fit(bounded(t), flower.FitIns{Parameters: model(2)})
	require.NoError(t, err)
	res.Release()
	expired, end := context.WithTimeout(t.Context(), 1)
	defer end()
	_, err = m.Fit(expired, flower.FitIns{Parameters: model(2)})
	require.ErrorIs(t, err, flower.ErrTimeout)
}
