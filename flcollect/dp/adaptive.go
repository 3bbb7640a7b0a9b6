package dp

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// The configuration and metrics of Flower's clients.
const (
	clipNormKey    = "dpfedavg_clip_norm"
	clipEnabledKey = "dpfedavg_adaptive_clip_enabled"
	noiseKey       = "dpfedavg_noise_stddev"
	normBitMetric  = "dpfedavg_norm_bit"
)

// ErrBudget matches the error of a round that would exceed the epsilon budget.
var ErrBudget = errors.New("dp: the epsilon budget is spent")

// Options tunes [New].
type Options struct {
	// Random is the source of the key of a round's noise, 32 bytes when the round
	// finishes. Nil means the operating system's generator. Use another source in
	// tests only: with the key the noise can be removed.
	Random io.Reader
}

// Adaptive is a strategy with adaptive clipping and noise around another one. Its methods
// for a round are called as those of a [strategy.Strategy]; [Adaptive.Privacy],
// [Adaptive.Affords] and [Adaptive.Verdicts] may be called at any time. Make one with [New].
type Adaptive struct {
	settings
	inner  strategy.Strategy
	random io.Reader

	mu       sync.Mutex // guards the fields below
	clip     float64    // instead of that of the settings
	rounds   int
	charged  int
	full     int  // of both, those whose clients were not drawn at the sampling rate
	older    bool // whether the restored state does not have that number
	fraction float64
	account  *Accountant
	verdicts *strategy.Verdicts // of the round that was begun last
}

// New returns adaptive clipping around a strategy. The fields of conf, with
// numbers and booleans in every form that [strategy.New] accepts, are:
//
//	num_sampled_clients        clients of a round; required
//	init_clip_norm             of the first round: 0.1
//	noise_multiplier           z of the package comment: 1
//	server_side_noising        the server adds the noise, not the clients: true
//	clip_count_stddev          σ of the package comment: num_sampled_clients/20
//	clip_norm_target_quantile  share of clients within the clip norm: 0.5
//	clip_norm_lr               how fast the norm follows; 0 leaves it: 0.2
//	delta                      that epsilon belongs to: 1e-5
//	epsilon_budget             what epsilon must not exceed: no bound
//	sampling_rate              probability that a client is in a round: 1
//
// With a sampling_rate below 1 the caller draws each client independently with this
// probability, as [strategy.Rule].Rate of the policy says, and keeps secret which were
// drawn. The mean is then the sum over num_sampled_clients, however many were drawn, and
// the clients add no noise: their number would decide how much. The error is a *[strategy.FieldError], among others for settings whose
// effective multiplier is zero, infinite or complex, and for a strategy that
// compares clients.
func New(inner strategy.Strategy, conf strategy.Conf, options *Options) (*Adaptive, error) {
	if strategy.Compares(inner) {
		return nil, compares(Mechanism)
	}
	s, err := readSettings(conf)
	if err != nil {
		return nil, err
	}
	account, err := NewAccountant(s.delta)
	if err != nil {
		return nil, err
	}
	a := &Adaptive{settings: s, inner: inner, random: rand.Reader, clip: s.clip, fraction: math.NaN(),
		account: account, verdicts: &strategy.Verdicts{}}
	if options != nil && options.Random != nil {
		a.random = options.Random
	}
	return a, nil
}

// Policy implements [strategy.Strategy]: that of the strategy inside, with which
// a failure makes a round of fit not count, and with the Rate of the sampling.
func (a *Adaptive) Policy() strategy.Policy {
	p := a.inner.Policy()
	p.Fit.RefuseFailures = true
	if a.samples() {
		p.Fit.Fraction, p.Fit.MinClients, p.Fit.Rate = a.sampling, 0, a.sampling
	}
	return p
}

// Configure implements [strategy.Strategy].
func (a *Adaptive) Configure(phase strategy.Phase, round int, config map[string]any) {
	a.inner.Configure(phase, round, config)
	if phase != strategy.Fit {
		return
	}
	clip := a.Privacy().ClipNorm
	config[clipNormKey] = clip
	config[clipEnabledKey] = true
	delete(config, noiseKey)
	if !a.serverSide {
		config[noiseKey] = a.clientDeviation(clip)
	}
}

// deviation returns the standard deviation of the server's noise on a sum.
func (a *Adaptive) deviation(clip float64) float64 { return a.effective() * clip * (1 + slack) }

// clientDeviation returns the standard deviation of the noise of one client.
func (a *Adaptive) clientDeviation(clip float64) float64 {
	return a.effective() * clip / math.Sqrt(float64(a.sampled))
}

// Begin implements [strategy.Strategy]. The error matches [ErrBudget] where the
// budget is too small for the round.
func (a *Adaptive) Begin(round strategy.Round) (strategy.Aggregation, error) {
	if !a.Affords(1) {
		return nil, fmt.Errorf("begin round %d: %w: one more would exceed %v", round.Number, ErrBudget, a.budget)
	}
	blind := round
	blind.Loss = nil  // no noise hides it
	blind.Spare = nil // the sum of the updates has the memory
	inner, err := a.inner.Begin(blind)
	if err != nil {
		return nil, err
	}
	verdicts := &strategy.Verdicts{}
	a.mu.Lock()
	a.verdicts = verdicts
	clip := a.clip
	a.mu.Unlock()
	if blurrer, ok := inner.(Blurrer); ok && a.samples() {
		return nil, errors.Join(fmt.Errorf("begin round %d: a sampling_rate below 1 needs updates that the server can read",
			round.Number), blurrer.Close())
	} else if ok {
		return &sealed{rules: a, inner: blurrer, round: round, clipNorm: clip, verdicts: verdicts}, nil
	}
	bound := clip * (1 + slack)
	if !a.serverSide {
		bound += a.clientDeviation(clip) * (math.Sqrt(float64(elements(round.Model))) + 7)
	}
	return &private{
		rules: a, inner: inner, round: round, clipNorm: clip, bound: bound, verdicts: verdicts,
		clients: map[string]bool{}, sum: round.NewSum(),
	}, nil
}

// Verdicts returns what became of the updates of the last round, in the order of
// their clients' names. They are for the operator of the server: epsilon does
// not cover them.
func (a *Adaptive) Verdicts() []strategy.Verdict {
	a.mu.Lock()
	verdicts := a.verdicts
	a.mu.Unlock()
	return verdicts.All()
}

// State implements [strategy.Strategy]: the clip norm, the number of rounds, the
// last fraction, the charged releases and, with a sampling rate below 1, how many of
// both were without sampling, followed by the state of the inner strategy.
func (a *Adaptive) State() []tensor.Tensor {
	p := a.Privacy()
	own := []float64{p.ClipNorm, float64(p.Rounds), p.Fraction, float64(p.Charged)}
	if a.samples() {
		a.mu.Lock()
		own = append(own, float64(a.full))
		a.mu.Unlock()
	}
	return append([]tensor.Tensor{tensor.FromFloat64s(own)}, a.inner.State()...)
}

// Restore implements [strategy.Strategy]. Rounds of a state that does not say how their
// clients were drawn count as rounds without sampling.
func (a *Adaptive) Restore(state []tensor.Tensor) error {
	own := []float64{a.settings.clip, 0, math.NaN(), 0, 0}
	var inner []tensor.Tensor
	older := false
	if len(state) > 0 {
		if older = a.samples() && state[0].Len() == 4; older || !a.samples() {
			own = own[:4]
		}
		if state[0].DType() != tensor.Float64 || state[0].Len() != len(own) {
			return fmt.Errorf("restore %s: tensor 0 holds %d numbers of type %v, not clip norm, rounds, fraction and "+
				"charged releases",
				Mechanism, state[0].Len(), state[0].DType())
		}
		state[0].ReadFloat64s(own, 0)
		inner = state[1:]
	}
	clip, rounds, fraction, charged, full := own[0], own[1], own[2], own[3], 0.
	if len(own) > 4 {
		full = own[4]
	} else if older {
		full = rounds + charged
	}
	whole := func(x float64) bool { return x >= 0 && x <= maxReleases && x == math.Trunc(x) }
	switch {
	case !(clip >= leastClip && clip <= mostClip):
		return fmt.Errorf("restore %s: the clip norm is %v", Mechanism, clip)
	case !whole(rounds):
		return fmt.Errorf("restore %s: the number of rounds is %v", Mechanism, rounds)
	case math.IsInf(fraction, 0):
		return fmt.Errorf("restore %s: the fraction is %v", Mechanism, fraction)
	case !whole(charged):
		return fmt.Errorf("restore %s: the number of charged releases is %v", Mechanism, charged)
	}
	if !(full >= 0 && full <= rounds+charged && full == math.Trunc(full)) {
		return fmt.Errorf("restore %s: the number of releases without sampling is %v", Mechanism, full)
	}
	account, err := NewAccountant(a.delta)
	if err != nil {
		return err
	}
	if err := account.Spend(1, a.multiplier, int(full)); err != nil {
		return err
	}
	if err := account.Spend(a.sampling, a.multiplier, int(rounds+charged-full)); err != nil {
		return err
	}
	if err := a.inner.Restore(inner); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clip, a.rounds, a.fraction, a.charged, a.account = clip, int(rounds), fraction, int(charged), account
	a.full, a.older = int(full), older
	return nil
}
