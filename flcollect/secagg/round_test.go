package secagg_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/secagg"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// party is a set of clients in this process, of which some misbehave.
type party struct {
	clients map[uint64]*secagg.Client
	updates map[uint64][]float64
	weights map[uint64]int64
	// change replaces the answer of a client, or the error in its place.
	change func(stage secagg.Stage, client uint64, answer secagg.Values, err error) (secagg.Values, error)
}

var errGone = errors.New("the connection is gone")

// newParty returns clients with the identifiers 3, 6, 9 and so on, with an array of two by
// three numbers and one without axes.
func newParty(t *testing.T, size int) *party {
	t.Helper()
	p := &party{clients: map[uint64]*secagg.Client{}, updates: map[uint64][]float64{}, weights: map[uint64]int64{}}
	for i := range size {
		id := uint64(3 * (i + 1))
		values := make([]float64, 7)
		for k := range values {
			values[k] = math.Sin(float64(10*i+k)) * 5
		}
		p.updates[id] = values
		p.add(t, id, int64(50+100*i))
	}
	return p
}

// add adds a client with an update.
func (p *party) add(t *testing.T, id uint64, weight int64) {
	t.Helper()
	values := p.updates[id]
	matrix := tensor.FromFloat64s(values[:6], 2, 3)
	scalar, err := tensor.New(tensor.Float64, []int{}, binary.LittleEndian.AppendUint64(nil, math.Float64bits(values[6])))
	require.NoError(t, err)
	p.weights[id] = weight
	p.clients[id] = secagg.NewClient(id, func(context.Context) ([]tensor.Tensor, int64, error) {
		return []tensor.Tensor{matrix, scalar}, p.weights[id], nil
	})
}

// rename gives a client another identifier.
func (p *party) rename(t *testing.T, from, to uint64) {
	t.Helper()
	weight := p.weights[from]
	p.updates[to] = p.updates[from]
	delete(p.updates, from)
	delete(p.weights, from)
	delete(p.clients, from)
	p.add(t, to, weight)
}

// exchange asks all clients at one time.
func (p *party) exchange(ctx context.Context, stage secagg.Stage, requests map[uint64]secagg.Values,
	reply func(uint64, secagg.Values, error)) error {
	var group sync.WaitGroup
	for id, request := range requests {
		group.Go(func() {
			answer, err := p.clients[id].Answer(ctx, request)
			if p.change != nil {
				answer, err = p.change(stage, id, answer, err)
			}
			reply(id, answer, err)
		})
	}
	group.Wait()
	return nil
}

func (p *party) config() secagg.Config {
	return secagg.Config{
		Clients: slices.Collect(maps.Keys(p.clients)), Shapes: [][]int{{2, 3}, {}}, Exchange: p.exchange,
	}
}

// gone has clients drop out in a stage.
func (p *party) gone(at secagg.Stage, clients ...uint64) {
	p.change = func(stage secagg.Stage, client uint64, answer secagg.Values, err error) (secagg.Values, error) {
		if stage == at && slices.Contains(clients, client) {
			return nil, errGone
		}
		return answer, err
	}
}

// mean returns the weighted mean of clients.
func (p *party) mean(clients []uint64) (mean []float64, weight float64) {
	mean = make([]float64, 7)
	for _, id := range clients {
		weight += float64(p.weights[id])
	}
	for _, id := range clients {
		for i, v := range p.updates[id] {
			mean[i] += v * float64(p.weights[id]) / weight
		}
	}
	return mean, weight
}

// requireMean checks a result against the mean of the clients that it names.
func (p *party) requireMean(t *testing.T, got secagg.Result) {
	t.Helper()
	want, weight := p.mean(got.Clients)
	require.Len(t, got.Mean, 2)
	require.Equal(t, []int{2, 3}, got.Mean[0].Shape())
	require.Empty(t, got.Mean[1].Shape())
	values := slices.Concat(got.Mean[0].Float64s(), got.Mean[1].Float64s())
	require.InDeltaSlice(t, want, values, got.Step+1e-4)
	require.Less(t, got.Step, 1e-3)
	require.InDelta(t, weight, got.Weight, 0.01)
}

func run(t *testing.T, config secagg.Config) (secagg.Result, error) {
	t.Helper()
	round, err := secagg.New(config)
	require.NoError(t, err)
	return round.Run(t.Context())
}

func TestRound_Run_isTheWeightedMean(t *testing.T) {
	for _, size := range []int{2, 3, 5, 40} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			p := newParty(t, size)
			if size == 40 {
				for id := range p.weights { // or numbers are clipped
					p.weights[id] = int64(id)
				}
			} else {
				for i, id := range slices.Sorted(maps.Keys(p.weights)) {
					p.weights[id] = int64(100 * (i + 1))
				}
			}
			result, err := run(t, p.config())
			require.NoError(t, err)
			require.Empty(t, result.Failures)
			require.Len(t, result.Clients, size)
			require.False(t, result.Overweight)
			p.requireMean(t, result)
		})
	}
}

func TestRound_Run_takesModuliOfEightBytes(t *testing.T) {
	p := newParty(t, 5)
	config := p.config()
	config.ModulusRange = 1 << 40
	result, err := run(t, config)
	require.NoError(t, err)
	p.requireMean(t, result)
}

func TestRound_Run_goesOnWithoutThoseThatDropOut(t *testing.T) {
	for _, stage := range []secagg.Stage{secagg.StageSetup, secagg.StageShare, secagg.StageCollect, secagg.StageUnmask} {
		t.Run(string(stage), func(t *testing.T) {
			p := newParty(t, 7)
			config := p.config()
			config.Threshold = 4
			p.gone(stage, 3, 12)
			result, err := run(t, config)
			require.NoError(t, err)
			require.Equal(t, []secagg.Failure{
				{Client: 3, Stage: stage, Err: errGone}, {Client: 12, Stage: stage, Err: errGone},
			}, result.Failures)
			if stage == secagg.StageUnmask {
				require.Len(t, result.Clients, 7, "the update of a client that leaves last counts")
			} else {
				require.Equal(t, []uint64{6, 9, 15, 18, 21}, result.Clients)
			}
			p.requireMean(t, result)
		})
	}
}

func TestRound_Run_goesOnWithDropoutsInEveryStage(t *testing.T) {
	p := newParty(t, 9)
	leaves := map[secagg.Stage]uint64{secagg.StageSetup: 3, secagg.StageShare: 6, secagg.StageCollect: 9, secagg.StageUnmask: 12}
	p.change = func(stage secagg.Stage, client uint64, answer secagg.Values, err error) (secagg.Values, error) {
		if leaves[stage] == client {
			return nil, errGone
		}
		return answer, err
	}
	config := p.config()
	config.Threshold = 5
	result, err := run(t, config)
	require.NoError(t, err)
	require.Len(t, result.Failures, 4)
	require.Equal(t, []uint64{12, 15, 18, 21, 24, 27}, result.Clients)
	p.requireMean(t, result)
}

func TestRound_Run_failsWithTooFew(t *testing.T) {
	for _, stage := range []secagg.Stage{secagg.StageSetup, secagg.StageShare, secagg.StageCollect, secagg.StageUnmask} {
		t.Run(string(stage), func(t *testing.T) {
			p := newParty(t, 5)
			config := p.config()
			config.Threshold = 4
			p.gone(stage, 6, 9)
			result, err := run(t, config)
			require.ErrorIs(t, err, secagg.ErrTooFew)
			require.ErrorContains(t, err, string(stage))
			require.Nil(t, result.Mean)
			require.NotEmpty(t, result.Failures)
			require.ErrorIs(t, result.Failures[0].Err, errGone)
		})
	}
}

func TestRound_Run_refusesWrongAnswers(t *testing.T) {
	masked := func(arrays ...[]byte) func(secagg.Values) {
		return func(v secagg.Values) { v["masked_params"] = arrays }
	}
	integers := func(t *testing.T, shape []int, values ...float64) []byte {
		made, err := tensor.FromFloat64s(values, shape...).As(tensor.Int64)
		require.NoError(t, err)
		return slices.Concat(tensor.Encode(made)...)
	}
	for name, c := range map[string]struct {
		stage  secagg.Stage
		change func(secagg.Values)
		reason string
	}{
		"no key":            {secagg.StageSetup, func(v secagg.Values) { delete(v, "pk1") }, `"pk1": is missing`},
		"a text as key":     {secagg.StageSetup, func(v secagg.Values) { v["pk2"] = "key" }, `"pk2": is a string; bytes are needed`},
		"no PEM":            {secagg.StageSetup, func(v secagg.Values) { v["pk1"] = []byte("key") }, `"pk1"`},
		"one key twice":     {secagg.StageSetup, func(v secagg.Values) { v["pk1"] = v["pk2"] }, "are not its own"},
		"no shares":         {secagg.StageShare, func(v secagg.Values) { delete(v, "ctxts") }, `"ctxts": is missing`},
		"a share too few":   {secagg.StageShare, func(v secagg.Values) { v["ctxts"] = v["ctxts"].([][]byte)[1:] }, "must have as many"},
		"a foreign client":  {secagg.StageShare, func(v secagg.Values) { v["dsts"].([]uint64)[0] = 99 }, `"dsts"`},
		"a negative client": {secagg.StageShare, func(v secagg.Values) { v["dsts"] = []int64{-1} }, "-1 is no client's identifier"},
		"no vector":         {secagg.StageCollect, func(v secagg.Values) { delete(v, "masked_params") }, `"masked_params": is missing`},
		"an array too few":  {secagg.StageCollect, masked(integers(t, []int{1}, 1), integers(t, []int{2, 3}, 1, 2, 3, 4, 5, 6)), "array"},
		"another shape": {secagg.StageCollect, masked(integers(t, []int{1}, 1), integers(t, []int{3, 2}, 1, 2, 3, 4, 5, 6),
			integers(t, nil, 1)), "array"},
		"no array":     {secagg.StageCollect, masked([]byte("x"), []byte("y"), []byte("z")), "array"},
		"a bad share":  {secagg.StageUnmask, func(v secagg.Values) { v["shares"].([][]byte)[0] = []byte("x") }, `"shares": client`},
		"no one named": {secagg.StageUnmask, func(v secagg.Values) { v["nids"], v["shares"] = []int64{}, [][]byte{} }, `"nids"`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newParty(t, 6)
			p.change = func(stage secagg.Stage, client uint64, answer secagg.Values, err error) (secagg.Values, error) {
				if stage == c.stage && client == 9 {
					answer = maps.Clone(answer)
					for name, value := range answer {
						switch list := value.(type) {
						case [][]byte:
							answer[name] = slices.Clone(list)
						case []uint64:
							answer[name] = slices.Clone(list)
						}
					}
					c.change(answer)
				}
				return answer, err
			}
			config := p.config()
			config.Threshold = 4
			result, err := run(t, config)
			require.NoError(t, err)
			require.Len(t, result.Failures, 1)
			require.EqualValues(t, 9, result.Failures[0].Client)
			require.Equal(t, c.stage, result.Failures[0].Stage)
			require.ErrorContains(t, result.Failures[0].Err, c.reason)
			p.requireMean(t, result)
		})
	}
}

func TestRound_Run_findsAWrongShare(t *testing.T) {
	p := newParty(t, 7)
	p.change = func(stage secagg.Stage, client uint64, answer secagg.Values, err error) (secagg.Values, error) {
		if stage == secagg.StageUnmask && client == 9 {
			shares := answer["shares"].([][]byte)
			wrong := slices.Clone(shares[0])
			wrong[len(wrong)-1] ^= 1
			shares[0] = wrong
		}
		return answer, err
	}
	config := p.config()
	config.Threshold = 4
	result, err := run(t, config)
	require.NoError(t, err)
	require.Len(t, result.Failures, 1)
	require.EqualValues(t, 9, result.Failures[0].Client)
	require.ErrorContains(t, result.Failures[0].Err, "contradicts the others")
	p.requireMean(t, result)
}

func TestRound_Run_makesNoModelOfASumThatIsMasked(t *testing.T) {
	p := newParty(t, 3)
	p.change = func(stage secagg.Stage, client uint64, answer secagg.Values, err error) (secagg.Values, error) {
		if stage == secagg.StageCollect && client == 3 {
			arrays := slices.Clone(answer["masked_params"].([][]byte))
			for i := range arrays { // numbers that no mask belongs to
				arrays[i] = slices.Clone(arrays[i])
				for k := range 4 {
					arrays[i][len(arrays[i])-8+k] ^= 0x5a
				}
			}
			answer = secagg.Values{"masked_params": arrays}
		}
		return answer, err
	}
	config := p.config()
	config.ModulusRange = 1 << 40
	result, err := run(t, config)
	require.ErrorIs(t, err, secagg.ErrProtocol)
	require.Nil(t, result.Mean)
}

func TestRound_Run_ignoresRepliesThatAreNotAskedFor(t *testing.T) {
	p := newParty(t, 4)
	config := p.config()
	var late []func()
	config.Exchange = func(ctx context.Context, stage secagg.Stage, requests map[uint64]secagg.Values,
		reply func(uint64, secagg.Values, error)) error {
		for _, again := range late {
			again()
		}
		err := p.exchange(ctx, stage, requests, func(client uint64, answer secagg.Values, err error) {
			reply(client, answer, err)
			reply(client, nil, errGone)
		})
		reply(99, secagg.Values{}, nil)
		late = append(late, func() { reply(3, nil, errGone) })
		return err
	}
	result, err := run(t, config)
	require.NoError(t, err)
	require.Empty(t, result.Failures)
	p.requireMean(t, result)
}

func TestRound_Run_goesOnWithoutThoseThatAreSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParty(t, 5)
		config := p.config()
		config.Threshold, config.StageTimeout = 4, time.Minute
		config.Exchange = func(ctx context.Context, stage secagg.Stage, requests map[uint64]secagg.Values,
			reply func(uint64, secagg.Values, error)) error {
			asked := maps.Clone(requests)
			if stage == secagg.StageShare {
				delete(asked, 6)
				if err := p.exchange(ctx, stage, asked, reply); err != nil {
					return err
				}
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return p.exchange(context.WithoutCancel(ctx), stage, asked, reply)
		}
		round, err := secagg.New(config)
		require.NoError(t, err)
		result, err := round.Run(t.Context())
		require.NoError(t, err)
		require.Len(t, result.Failures, 1)
		require.EqualError(t, result.Failures[0].Err, "no answer in time")
		require.Equal(t, []uint64{3, 9, 12, 15}, result.Clients)
		p.requireMean(t, result)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = round.Run(ctx)
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestRound_Run_runsAgain(t *testing.T) {
	p := newParty(t, 4)
	round, err := secagg.New(p.config())
	require.NoError(t, err)
	for range 2 {
		result, err := round.Run(t.Context())
		require.NoError(t, err)
		require.Empty(t, result.Failures)
		p.requireMean(t, result)
	}
}

func TestClient_Answer_givesNoSecondSecretOfAClient(t *testing.T) {
	p := newParty(t, 4)
	p.change = func(stage secagg.Stage, client uint64, answer secagg.Values, err error) (secagg.Values, error) {
		return answer, err
	}
	config := p.config()
	asked := false
	config.Exchange = func(ctx context.Context, stage secagg.Stage, requests map[uint64]secagg.Values,
		reply func(uint64, secagg.Values, error)) error {
		if stage == secagg.StageUnmask {
			greedy := maps.Clone(requests[3])
			greedy["dead_nids"] = []uint64{6}
			_, err := p.clients[3].Answer(ctx, greedy)
			require.ErrorContains(t, err, "both secrets of a client are asked for")
			_, err = p.clients[3].Answer(ctx, requests[3])
			require.ErrorContains(t, err, `expected "setup"`, "there is one request for shares in a round")
			asked = true
		}
		return p.exchange(ctx, stage, requests, reply)
	}
	_, err := run(t, config)
	require.NoError(t, err)
	require.True(t, asked)
}

func TestNew_refusesConfigurations(t *testing.T) {
	exchange := newParty(t, 2).exchange
	for reason, change := range map[string]func(*secagg.Config){
		"Exchange: is missing":                   func(c *secagg.Config) { c.Exchange = nil },
		"Clients: 1; from 2":                     func(c *secagg.Config) { c.Clients = []uint64{1} },
		"Clients: 2 is there twice":              func(c *secagg.Config) { c.Clients = []uint64{2, 1, 2} },
		"Shapes: 0 arrays":                       func(c *secagg.Config) { c.Shapes = nil },
		"Shapes: array 0 has an axis of -1":      func(c *secagg.Config) { c.Shapes = [][]int{{-1}} },
		"Shapes: array 0 has more than":          func(c *secagg.Config) { c.Shapes = [][]int{{1 << 30, 4}} },
		"Shapes: the arrays have no numbers":     func(c *secagg.Config) { c.Shapes = [][]int{{0, 4}} },
		"Shares: -1":                             func(c *secagg.Config) { c.Shares = -1 },
		"Threshold: 1":                           func(c *secagg.Config) { c.Threshold = 1 },
		"Threshold: 4":                           func(c *secagg.Config) { c.Threshold = 4 },
		"MinClients: 1":                          func(c *secagg.Config) { c.MinClients = 1 },
		"MaxWeight: -1":                          func(c *secagg.Config) { c.MaxWeight = -1 },
		"ClippingRange: NaN":                     func(c *secagg.Config) { c.ClippingRange = math.NaN() },
		"QuantizationRange: -1":                  func(c *secagg.Config) { c.QuantizationRange = -1 },
		"ModulusRange: 1000 is not a power of 2": func(c *secagg.Config) { c.ModulusRange = 1000 },
		"ModulusRange: 8388608 cannot hold":      func(c *secagg.Config) { c.ModulusRange = 1 << 23 },
	} {
		t.Run(reason, func(t *testing.T) {
			config := secagg.Config{Clients: []uint64{1, 2, 3}, Shapes: [][]int{{2}}, Exchange: exchange}
			change(&config)
			_, err := secagg.New(config)
			require.ErrorIs(t, err, secagg.ErrConfig)
			require.ErrorContains(t, err, reason)
		})
	}
}
