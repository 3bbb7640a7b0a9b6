package dp

import (
	"fmt"
	"math"

	"github.com/iotenablers/enablers/flcollect/internal/conf"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// Mechanism is the name of adaptive clipping among the privacy mechanisms of the
// REST interface, and the Strategy of a *[strategy.FieldError] of this package.
const Mechanism = "dp-adaptive"

// The bounds of clip norms. They leave room for the squares of 128-bit terms.
const (
	leastClip = 0x1p-100
	mostClip  = 0x1p100
)

// The bounds of standard deviations and multipliers. Noise below the least
// deviation hides nothing.
const (
	leastNoise = 1e-12
	mostNoise  = 1e12
)

// settings are the fields of a dp-adaptive object, with defaults.
type settings struct {
	sampled    int     // num_sampled_clients
	clip       float64 // init_clip_norm
	multiplier float64 // noise_multiplier, z of the package comment
	serverSide bool    // server_side_noising
	countNoise float64 // clip_count_stddev, σ of the package comment
	quantile   float64 // clip_norm_target_quantile
	rate       float64 // clip_norm_lr
	delta      float64
	budget     float64 // epsilon_budget, infinite if there is none
	sampling   float64 // sampling_rate
}

// Check returns nil if the named built-in strategy, or one of the caller's own,
// can be used with these settings, and otherwise the error of [New]. Rules that
// compare clients cannot be used, since they would get the mean only.
func Check(name string, conf strategy.Conf) error {
	switch name {
	case "FedMedian", "FedTrimmedAvg", "Krum", "MultiKrum", "Bulyan", "QFedAvg":
		return compares(name)
	}
	_, err := readSettings(conf)
	return err
}

// compares returns an error for a strategy that compares clients.
func compares(name string) error {
	return &strategy.FieldError{Strategy: name, Field: "strategy",
		Reason: "it compares clients, of whom " + Mechanism + " lets it see the mean only"}
}

// SamplingRate returns the sampling_rate of a dp-adaptive object: 1 where it has none, or one
// that [Check] refuses.
func SamplingRate(given strategy.Conf) float64 {
	return conf.NewReader(given).Number("sampling_rate", 1, 0, 1)
}

// readSettings reads and checks a dp-adaptive object.
func readSettings(given strategy.Conf) (settings, error) {
	r := conf.NewReader(given)
	s := declare(r)
	positive := func(field string, v float64) {
		if v == 0 {
			r.Fail(field, "it is 0, and has to be greater")
		}
	}
	positive("delta", s.delta)
	positive("epsilon_budget", s.budget)
	positive("sampling_rate", s.sampling)
	if s.delta == 1 {
		r.Fail("delta", "it is 1, and has to be less")
	}
	if fault := r.End(); fault != nil {
		return settings{}, &strategy.FieldError{Strategy: Mechanism, Field: fault.Field, Reason: fault.Reason}
	}
	return s, s.check()
}

// declare reads the fields.
func declare(r *conf.Reader) settings {
	r.Require("num_sampled_clients")
	s := settings{
		sampled:    r.Count("num_sampled_clients", 1, 1),
		clip:       r.Number("init_clip_norm", 0.1, leastClip, mostClip),
		multiplier: r.Number("noise_multiplier", 1, 0, mostNoise),
		serverSide: r.Truth("server_side_noising", true),
		quantile:   r.Number("clip_norm_target_quantile", 0.5, 0, 1),
		rate:       r.Number("clip_norm_lr", 0.2, 0, 1000),
		delta:      r.Number("delta", DefaultDelta, 0, 1),
		budget:     r.Number("epsilon_budget", math.Inf(1), 0, conf.Anything),
		sampling:   r.Number("sampling_rate", 1, 0, 1),
	}
	s.countNoise = r.Number("clip_count_stddev", float64(s.sampled)/20, 0, mostNoise)
	return s
}

// check returns an error for settings without an effective multiplier, and for
// a budget that is too small for one round.
func (s settings) check() error {
	refuse := func(field, format string, args ...any) error {
		return &strategy.FieldError{Strategy: Mechanism, Field: field, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case s.samples() && !s.serverSide:
		return refuse("sampling_rate", "%v needs server_side_noising: how much noise clients add depends on how many are drawn", s.sampling)
	case s.multiplier < leastNoise:
		return refuse("noise_multiplier",
			"%v makes the effective multiplier zero, which gives no privacy: leave out %s instead",
			s.multiplier, Mechanism)
	case s.multiplier >= 2*s.countNoise:
		kind := "complex"
		if s.multiplier == 2*s.countNoise {
			kind = "infinite"
		}
		return refuse("noise_multiplier",
			"%v makes the effective multiplier %s: it has to be below twice clip_count_stddev, which is %v"+
				" (num_sampled_clients/20 where it is not given)", s.multiplier, kind, s.countNoise)
	}
	account, err := NewAccountant(s.delta)
	if err != nil {
		return err
	}
	if err := account.Spend(s.sampling, s.multiplier, 1); err != nil {
		return err
	}
	if one, _ := account.Epsilon(); one > s.budget {
		return refuse("epsilon_budget", "%v does not afford one round, whose epsilon is %.4g", s.budget, one)
	}
	return nil
}

// samples reports whether the clients of a round are drawn independently of each other.
func (s settings) samples() bool { return s.sampling < 1 }

// effective returns the multiplier of the noise on the model, z'.
func (s settings) effective() float64 {
	share := s.multiplier / (2 * s.countNoise)
	return s.multiplier / math.Sqrt((1-share)*(1+share))
}
