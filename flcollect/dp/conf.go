package dp

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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

// The bounds of standard deviations and multipliers. Noise of less than the least
// one hides nothing.
const (
	leastNoise = 1e-12
	mostNoise  = 1e12
)

// maxSampled bounds num_sampled_clients.
const maxSampled = 1 << 30

// settings are what a dp-adaptive object says, with defaults.
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

// Check returns nil if clients of the named built-in strategy, or of one of the
// caller's own, can be trained with these settings, and otherwise what [New] would
// return. Rules that compare clients cannot, since adaptive clipping shows them
// nothing but the mean.
func Check(name string, conf strategy.Conf) error {
	switch name {
	case "FedMedian", "FedTrimmedAvg", "Krum", "MultiKrum", "Bulyan", "QFedAvg":
		return &strategy.FieldError{Strategy: name, Field: "strategy",
			Reason: "it compares clients, of whom " + Mechanism + " lets it see the mean only"}
	}
	_, err := readSettings(conf)
	return err
}

// readSettings reads and checks a dp-adaptive object.
func readSettings(conf strategy.Conf) (settings, error) {
	r := reader{conf: conf}
	s := settings{
		sampled:    r.count("num_sampled_clients", 1, maxSampled),
		clip:       r.number("init_clip_norm", 0.1, leastClip, mostClip),
		multiplier: r.number("noise_multiplier", 1, 0, mostNoise),
		serverSide: r.truth("server_side_noising", true),
		quantile:   r.number("clip_norm_target_quantile", 0.5, 0, 1),
		rate:       r.number("clip_norm_lr", 0.2, 0, 1000),
		delta:      r.number("delta", DefaultDelta, 0, 1),
		budget:     r.number("epsilon_budget", math.Inf(1), 0, math.MaxFloat64),
		sampling:   r.number("sampling_rate", 1, 0, 1),
	}
	s.countNoise = r.number("clip_count_stddev", float64(s.sampled)/20, 0, mostNoise)
	for _, field := range []string{"delta", "epsilon_budget", "sampling_rate"} {
		if v, ok := asNumber(conf[field]); ok && v == 0 {
			r.fail(field, "it is 0, and has to be greater")
		}
	}
	if s.delta == 1 {
		r.fail("delta", "it is 1, and has to be less")
	}
	r.unknown()
	if r.err != nil {
		return settings{}, r.err
	}
	return s, s.check()
}

// check refuses settings without an effective multiplier, and a budget that
// affords no round.
func (s settings) check() error {
	refuse := func(field, format string, args ...any) error {
		return &strategy.FieldError{Strategy: Mechanism, Field: field, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case s.multiplier < leastNoise:
		return refuse("noise_multiplier", "%v makes the effective multiplier zero, which gives no privacy: leave out %s instead",
			s.multiplier, Mechanism)
	case s.multiplier >= 2*s.countNoise:
		kind := "complex"
		if s.multiplier == 2*s.countNoise {
			kind = "infinite"
		}
		return refuse("noise_multiplier", "%v makes the effective multiplier %s: it has to be below twice clip_count_stddev, which is %v"+
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

// effective returns the multiplier of the noise on the model, z'.
func (s settings) effective() float64 {
	share := s.multiplier / (2 * s.countNoise)
	return s.multiplier / math.Sqrt((1-share)*(1+share))
}

// reader takes fields out of a Conf. The first error stays.
type reader struct {
	conf  strategy.Conf
	taken []string
	err   error
}

func (r *reader) fail(field, format string, args ...any) {
	if r.err == nil {
		r.err = &strategy.FieldError{Strategy: Mechanism, Field: field, Reason: fmt.Sprintf(format, args...)}
	}
}

func (r *reader) value(field string) any {
	r.taken = append(r.taken, field)
	return r.conf[field]
}

// number reads a number between two bounds.
func (r *reader) number(field string, otherwise, least, most float64) float64 {
	given := r.value(field)
	if given == nil {
		return otherwise
	}
	v, ok := asNumber(given)
	switch {
	case !ok:
		r.fail(field, "%v is no number", given)
	case !(v >= least && v <= most):
		r.fail(field, "%v is not between %v and %v", v, least, most)
	default:
		return v
	}
	return otherwise
}

// count reads a whole number that is required.
func (r *reader) count(field string, least, most int) int {
	if r.conf[field] == nil {
		r.fail(field, "is required")
	}
	v := r.number(field, float64(least), float64(least), float64(most))
	if v != math.Trunc(v) {
		r.fail(field, "%v is no whole number", v)
	}
	return int(v)
}

// truth reads a truth value.
func (r *reader) truth(field string, otherwise bool) bool {
	given := r.value(field)
	if given == nil {
		return otherwise
	}
	switch strings.ToLower(fmt.Sprint(given)) {
	case "true", "1", "on", "yes":
		return true
	case "false", "0", "off", "no":
		return false
	}
	r.fail(field, "%v is no truth value", given)
	return otherwise
}

// unknown reports a field that nobody asked for: a name that was mistyped
// must not weaken the privacy.
func (r *reader) unknown() {
	var unknown []string
	for field, given := range r.conf {
		if given != nil && !slices.Contains(r.taken, field) {
			unknown = append(unknown, field)
		}
	}
	slices.Sort(unknown)
	for _, field := range unknown {
		r.fail(field, "unknown here; there are %s", strings.Join(r.taken, ", "))
	}
}

// asNumber returns a value of a Conf as a finite number.
func asNumber(given any) (float64, bool) {
	switch given.(type) {
	case nil, bool:
		return 0, false
	case float64, float32, int, int32, int64, uint64, json.Number, string:
		text := strings.TrimSpace(fmt.Sprint(given))
		if strings.Trim(text, "+-.0123456789eE") != "" {
			return 0, false // no hexadecimal digits, no infinity
		}
		v, err := strconv.ParseFloat(text, 64)
		return v, err == nil
	}
	return 0, false
}
