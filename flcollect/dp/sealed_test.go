package dp_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// vault is a strategy whose updates cannot be read: a sum of bytes.
type vault struct {
	strategy.Strategy
	rounds []*opaque
	fault  error // of blurring
}

func newVault(t *testing.T) *vault {
	t.Helper()
	fedAvg, err := strategy.New("FedAvg", nil)
	require.NoError(t, err)
	return &vault{Strategy: fedAvg}
}

func (v *vault) Begin(strategy.Round) (strategy.Aggregation, error) {
	made := &opaque{vault: v}
	v.rounds = append(v.rounds, made)
	return made, nil
}

// opaque is the aggregation of a vault. It records its calls.
type opaque struct {
	vault *vault

	mu        sync.Mutex
	clients   []string
	examples  int64
	deviation float64
	draws     []float64
	closed    bool
}

func (o *opaque) Add(_ context.Context, update strategy.Update) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
		return strategy.ErrClosed
	case update.Client == "broken":
		return fmt.Errorf("add update of %q: %w: no message", update.Client, strategy.ErrQuarantined)
	case update.Client == "fatal":
		return errors.New("no room")
	}
	o.clients = append(o.clients, update.Client)
	o.examples += update.Examples
	return nil
}

func (o *opaque) Blur(_ context.Context, deviation float64, gaussian func() float64) error {
	o.deviation = deviation
	for range 20_000 {
		o.draws = append(o.draws, gaussian())
	}
	return o.vault.fault
}

func (o *opaque) Finish(context.Context) (strategy.Model, error) {
	o.closed = true
	return strategy.Model{sealedLayer("mean")}, nil
}

func (o *opaque) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	return nil
}

func sealedLayer(text string) tensor.Tensor {
	layer, err := tensor.New(tensor.Uint8, []int{len(text)}, []byte(text))
	if err != nil {
		panic(err)
	}
	return layer
}

// sealedAnswer is an update whose parameters are bytes.
func sealedAnswer(client string, within any) strategy.Update {
	return strategy.Update{Client: client, Examples: 5000, Model: strategy.Model{sealedLayer("cipher")},
		Metrics: map[string]any{"dpfedavg_norm_bit": within}}
}

func around(t *testing.T, inner strategy.Strategy, conf strategy.Conf) *dp.Adaptive {
	t.Helper()
	private, err := dp.New(inner, conf, &dp.Options{Random: key(1)})
	require.NoError(t, err)
	return private
}

func TestSealed_blursASealedSumOnce(t *testing.T) {
	inner := newVault(t)
	private := around(t, inner,
		strategy.Conf{"num_sampled_clients": 100, "noise_multiplier": 2, "init_clip_norm": 3, "clip_norm_lr": 1})
	aggregation := begin(t, private, 1, strategy.Model{sealedLayer("model")})
	for client, within := range map[string]any{"a": true, "b": int64(1), "c": false} {
		require.NoError(t, aggregation.Add(t.Context(), sealedAnswer(client, within)))
	}
	made := finish(t, aggregation)
	require.Equal(t, [][]byte{[]byte("mean")}, made[0].Chunks())

	sum := inner.rounds[0]
	require.ElementsMatch(t, []string{"a", "b", "c"}, sum.clients)
	require.Equal(t, int64(3), sum.examples, "every client counts the same")
	p := private.Privacy()
	require.InDelta(t, p.Multiplier*3*(1+0x1p-10), sum.deviation, 1e-12)
	squares := 0.0
	for _, g := range sum.draws {
		squares += g * g
	}
	require.InDelta(t, 1, squares/20_000, 0.05)

	require.Equal(t, 1, p.Rounds)
	epsilon, _ := spent(t, 1, 2, 1, 1e-5)
	require.InDelta(t, epsilon, p.Epsilon, 1e-12)
	require.InDelta(t, 2./3, p.Fraction, 6*5./3, "with noise of 5 on the count")
	require.NotEqual(t, 2./3, p.Fraction)
	require.InDelta(t, 3*math.Exp(-(p.Fraction-0.5)), p.ClipNorm, 1e-9)
}

func TestSealed_addsNoServerNoiseToClientNoise(t *testing.T) {
	inner := newVault(t)
	private := around(t, inner,
		strategy.Conf{"num_sampled_clients": 2, "noise_multiplier": 0.1, "server_side_noising": false})
	aggregation := begin(t, private, 1, nil)
	require.NoError(t, aggregation.Add(t.Context(), sealedAnswer("a", true)))
	require.NoError(t, aggregation.Add(t.Context(), sealedAnswer("b", true)))
	finish(t, aggregation)
	require.Empty(t, inner.rounds[0].draws)
	require.Equal(t, 1, private.Privacy().Rounds)

	aggregation = begin(t, private, 2, nil)
	require.NoError(t, aggregation.Add(t.Context(), sealedAnswer("a", true)))
	_, err := aggregation.Finish(t.Context())
	require.ErrorIs(t, err, strategy.ErrTooFew)
	require.ErrorContains(t, err, "finish round 2: ")
	require.Equal(t, 1, private.Privacy().Rounds)
}

func TestSealed_omitsNormsThatTheServerCannotSee(t *testing.T) {
	private := around(t, newVault(t), quiet(nil))
	aggregation := begin(t, private, 1, nil)
	silent := sealedAnswer("silent", true)
	silent.Metrics = nil
	idle := sealedAnswer("idle", true)
	idle.Examples = 0
	for _, update := range []strategy.Update{silent, idle, sealedAnswer("broken", true), sealedAnswer("odd", 3)} {
		require.ErrorIs(t, aggregation.Add(t.Context(), update), strategy.ErrQuarantined)
	}
	require.EqualError(t, aggregation.Add(t.Context(), sealedAnswer("fatal", true)), "no room")
	require.NoError(t, aggregation.Add(t.Context(), sealedAnswer("good", true)))
	finish(t, aggregation)
	require.InDelta(t, 1, private.Privacy().Fraction, 1e-6, "those that were refused do not count")

	verdicts := private.Verdicts()
	require.Len(t, verdicts, 5)
	for _, v := range verdicts {
		require.True(t, math.IsNaN(v.Norm))
		require.True(t, math.IsInf(v.Bound, 1))
		if v.Client == "good" {
			require.Equal(t, strategy.Kept, v.Outcome)
			require.Empty(t, v.Reason)
			continue
		}
		require.Equal(t, strategy.Refused, v.Outcome)
		require.Contains(t, v.Reason, fmt.Sprintf("%q", v.Client))
	}
}

func TestSealed_withholdsASumThatCannotBeBlurred(t *testing.T) {
	inner := newVault(t)
	inner.fault = errors.New("no room for noise")
	private := around(t, inner, strategy.Conf{"num_sampled_clients": 100})
	aggregation := begin(t, private, 4, nil)
	require.NoError(t, aggregation.Add(t.Context(), sealedAnswer("a", true)))
	_, err := aggregation.Finish(t.Context())
	require.EqualError(t, err, "finish round 4: no room for noise")
	require.False(t, inner.rounds[0].closed)
	require.Zero(t, private.Privacy().Rounds)
	require.NoError(t, aggregation.Close())
	require.True(t, inner.rounds[0].closed)
}

func TestSealed_Finish_requiresAnUpdateAndClosesIt(t *testing.T) {
	private := around(t, newVault(t), strategy.Conf{"num_sampled_clients": 100})
	aggregation := begin(t, private, 1, nil)
	_, err := aggregation.Finish(t.Context())
	require.ErrorIs(t, err, strategy.ErrTooFew)
	_, err = aggregation.Finish(t.Context())
	require.ErrorIs(t, err, strategy.ErrClosed)

	aggregation = begin(t, private, 1, nil)
	require.NoError(t, aggregation.Close())
	require.ErrorIs(t, aggregation.Add(t.Context(), sealedAnswer("a", true)), strategy.ErrClosed)
	_, err = aggregation.Finish(t.Context())
	require.ErrorIs(t, err, strategy.ErrClosed)
	require.Empty(t, private.Verdicts())
}
