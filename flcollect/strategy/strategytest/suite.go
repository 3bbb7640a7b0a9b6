// Package strategytest is the conformance suite of strategy.Strategy: the rules
// for every strategy, whatever it computes. Use it in a test of your own:
//
//	func TestMine(t *testing.T) {
//		strategytest.Run(t, func() strategy.Strategy { return mine.New() })
//	}
package strategytest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// clients is how many clients send updates in a round of the suite.
const clients = 11

// Run runs the suite. Each strategy that fresh returns is new and configured
// the same; it must work with eleven clients, of which one may be bad.
func Run(t *testing.T, fresh func() strategy.Strategy) {
	s := suite{fresh}
	t.Run("the result does not depend on the order of arrival", s.order)
	t.Run("updates may arrive at the same time", s.concurrent)
	t.Run("inputs are not changed and not kept", s.inputs)
	t.Run("a bad update is quarantined with its reason and changes nothing", s.quarantine)
	t.Run("memory does not grow with the number of clients", s.memory)
	t.Run("the state goes through a restart", s.state)
	t.Run("a round without updates leaves an error", s.empty)
	t.Run("a closed aggregation says so", s.closed)
	t.Run("the policy can be kept to", s.policy)
	t.Run("sums of updates give the bits of all updates, if it takes them", s.merging)
}

type suite struct{ fresh func() strategy.Strategy }

// global is the model of the round. It has layers of every kind.
func global() strategy.Model {
	random := rand.New(rand.NewPCG(1, 2))
	return strategy.Model{
		random32(random, 3, 700), random32(random, 5), random64(random, 40, 3),
		tensor.FromInt64s([]int64{17}, 1), tensor.FromFloat32s(nil, 0),
	}
}

func random32(random *rand.Rand, shape ...int) tensor.Tensor {
	values := make([]float32, product(shape))
	for i := range values {
		values[i] = float32(random.NormFloat64() * math.Exp(8*random.NormFloat64()))
	}
	return tensor.FromFloat32s(values, shape...)
}

func random64(random *rand.Rand, shape ...int) tensor.Tensor {
	values := make([]float64, product(shape))
	for i := range values {
		values[i] = random.NormFloat64() * math.Exp(8*random.NormFloat64())
	}
	return tensor.FromFloat64s(values, shape...)
}

func product(shape []int) int {
	n := 1
	for _, axis := range shape {
		n *= axis
	}
	return n
}

// updates are the answers of the clients in a round.
func updates(round int) []strategy.Update {
	made := make([]strategy.Update, clients)
	for k := range made {
		random := rand.New(rand.NewPCG(uint64(round), uint64(k)))
		made[k] = strategy.Update{
			Client:   fmt.Sprintf("client-%02d", k),
			Examples: 1 + random.Int64N(1<<(3*k)),
			Metrics:  map[string]any{"loss": random.ExpFloat64()},
			Model: strategy.Model{
				random32(random, 3, 700), random32(random, 5), random64(random, 40, 3),
				tensor.FromInt64s([]int64{random.Int64N(1000)}, 1), tensor.FromFloat32s(nil, 0),
			},
		}
	}
	return made
}

func begin(t *testing.T, s strategy.Strategy, number int, model strategy.Model) strategy.Aggregation {
	t.Helper()
	loss := 0.5
	round := strategy.Round{
		Number: number,
		Model:  model,
		Loss:   &loss,
		Dir:    t.TempDir(),
		Memory: 1 << 16,
		Spare:  &strategy.Spare{},
	}
	used := round.NewSum() // whose memory the sums of the round are in
	require.NoError(t, used.Add(model, 3))
	used.Release()
	aggregation, err := s.Begin(round)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, aggregation.Close()) })
	return aggregation
}

// aggregate runs a round and returns the bits of the new model.
func aggregate(t *testing.T, s strategy.Strategy, number int, model strategy.Model,
	from []strategy.Update) strategy.Model {
	t.Helper()
	aggregation := begin(t, s, number, model)
	for _, u := range from {
		require.NoError(t, aggregation.Add(t.Context(), u))
	}
	result, err := aggregation.Finish(t.Context())
	require.NoError(t, err)
	require.NoError(t, aggregation.Close())
	require.Len(t, result, len(model))
	for layer := range model {
		require.NoError(t, result[layer].SameForm(model[layer]), "the new model has the form of the one before")
	}
	return result
}

// bits returns the bytes of a model in text, layer by layer.
func bits(model strategy.Model) []string {
	var text []string
	for _, t := range model {
		layer := ""
		for _, chunk := range t.Chunks() {
			layer += string(chunk)
		}
		text = append(text, layer)
	}
	return text
}

func (s suite) order(t *testing.T) {
	all := updates(1)
	want := bits(aggregate(t, s.fresh(), 1, global(), all))
	random := rand.New(rand.NewPCG(3, 4))
	for range 12 {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		require.True(t, equal(want, bits(aggregate(t, s.fresh(), 1, global(), all))), "another order gave another model")
	}
}

func (s suite) concurrent(t *testing.T) {
	want := bits(aggregate(t, s.fresh(), 1, global(), updates(1)))
	aggregation := begin(t, s.fresh(), 1, global())
	var group sync.WaitGroup
	errs := make([]error, clients)
	for k, u := range updates(1) {
		group.Go(func() { errs[k] = aggregation.Add(t.Context(), u) })
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	result, err := aggregation.Finish(t.Context())
	require.NoError(t, err)
	require.True(t, equal(want, bits(result)), "updates at the same time gave another model")
}

func (s suite) inputs(t *testing.T) {
	model, all := global(), updates(1)
	want := bits(aggregate(t, s.fresh(), 1, global(), updates(1)))
	aggregation := begin(t, s.fresh(), 1, model)
	for k, u := range all {
		before := bits(u.Model)
		require.NoError(t, aggregation.Add(t.Context(), u))
		require.True(t, equal(before, bits(u.Model)), "Add changed the update")
		for _, layer := range all[k].Model { // the caller may reuse the memory after Add
			for _, chunk := range layer.Chunks() {
				for i := range chunk {
					chunk[i] = 0x55
				}
			}
		}
	}
	before := bits(model)
	result, err := aggregation.Finish(t.Context())
	require.NoError(t, err)
	require.True(t, equal(before, bits(model)), "Finish changed the model before")
	require.True(t, equal(want, bits(result)), "the aggregation used an update after Add had returned")
}

func (s suite) state(t *testing.T) {
	one, model := s.fresh(), global()
	for round := 1; round <= 3; round++ {
		model = aggregate(t, one, round, model, updates(round))
	}
	two := s.fresh()
	require.NoError(t, two.Restore(one.State()))
	want := bits(aggregate(t, one, 4, model, updates(4)))
	require.True(t, equal(want, bits(aggregate(t, two, 4, model, updates(4)))),
		"the round after a restart gave another model")
	require.Error(t, s.fresh().Restore([]tensor.Tensor{tensor.FromInt64s([]int64{1, 2, 3})}), "a state that does not fit")
}

func (s suite) empty(t *testing.T) {
	aggregation := begin(t, s.fresh(), 1, global())
	_, err := aggregation.Finish(t.Context())
	require.ErrorIs(t, err, strategy.ErrTooFew)
}

func (s suite) closed(t *testing.T) {
	aggregation := begin(t, s.fresh(), 1, global())
	all := updates(1)
	require.NoError(t, aggregation.Add(t.Context(), all[0]))
	require.NoError(t, aggregation.Close())
	require.NoError(t, aggregation.Close(), "a second Close")
	require.ErrorIs(t, aggregation.Add(t.Context(), all[1]), strategy.ErrClosed)
	_, err := aggregation.Finish(t.Context())
	require.ErrorIs(t, err, strategy.ErrClosed)
}

func (s suite) policy(t *testing.T) {
	p := s.fresh().Policy()
	require.Positive(t, p.MinAvailable)
	for _, phase := range []strategy.Phase{strategy.Fit, strategy.Evaluate} {
		for available := range 20 {
			require.GreaterOrEqual(t, p.Sample(phase, available), 0)
		}
		require.NoError(t, p.Accept(phase, 10, 0))
		require.ErrorIs(t, p.Accept(phase, 0, 10), strategy.ErrTooFew)
		config := map[string]any{"epochs": int64(3)}
		s.fresh().Configure(phase, 1, config)
		require.Equal(t, int64(3), config["epochs"], "Configure leaves the job's own settings")
	}
}

func equal(a, b []string) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}
