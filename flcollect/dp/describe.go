package dp

import (
	"math"

	"github.com/iotenablers/enablers/flcollect/internal/conf"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// Parameters describes the fields of a dp-adaptive object. Defaults and bounds are those
// that [New] applies.
func Parameters() []strategy.Parameter {
	r := conf.NewReader(nil)
	declare(r)
	parameters := r.Parameters(meanings)
	for i, p := range parameters {
		if p.Name == "clip_count_stddev" {
			parameters[i].Default = nil // it depends on num_sampled_clients
		}
		if p.Least == leastClip || p.Most == mostNoise {
			parameters[i].Least, parameters[i].Most = 0, math.Inf(1) // the bounds only keep numbers in range
		}
	}
	return parameters
}

// meanings are the sentences about the fields.
var meanings = map[string]string{
	"num_sampled_clients":       "How many clients train in a round; with a sampling_rate, how many do on average.",
	"init_clip_norm":            "The length to which the updates of the first round are shortened.",
	"noise_multiplier":          "How much noise hides a client, in units of the clip norm: more is more private, and less exact.",
	"server_side_noising":       "Whether the server adds the noise, and not the clients.",
	"clip_norm_target_quantile": "The share of updates that the clip norm should leave unshortened.",
	"clip_norm_lr":              "How fast the clip norm follows that share; 0 keeps it as it is.",
	"delta":                     "The probability with which the guarantee may fail; less than one in the number of clients.",
	"epsilon_budget":            "The epsilon that the training must not exceed: it ends before. None unless given.",
	"sampling_rate":             "The probability with which a client takes part in a round: below 1, each is drawn independently.",
	"clip_count_stddev":         "The noise on the number of unshortened updates; a twentieth of the clients unless given.",
}

// Estimate is what a training costs in privacy.
type Estimate struct {
	// Epsilon is that of all rounds, Round that of the first one alone.
	Epsilon, Round float64
	// Delta is the delta that they belong to.
	Delta float64
	// Affordable is how many of the rounds the epsilon budget pays for: all without one.
	Affordable int
}

// Forecast returns what so many rounds with the settings of a dp-adaptive object cost, as
// [Adaptive] accounts for them. Rounds is at least 1. The error is that of [Check].
func Forecast(conf strategy.Conf, rounds int) (Estimate, error) {
	s, err := readSettings(conf)
	if err != nil {
		return Estimate{}, err
	}
	account, err := NewAccountant(s.delta)
	if err != nil {
		return Estimate{}, err
	}
	if err := account.Spend(s.sampling, s.multiplier, 1); err != nil {
		return Estimate{}, err
	}
	cost := func(rounds int) float64 {
		whole := account.Clone()
		_ = whole.Spend(s.sampling, s.multiplier, rounds-1) // what it has spent already is valid
		epsilon, _ := whole.Epsilon()
		return epsilon
	}
	e := Estimate{Epsilon: cost(rounds), Round: cost(1), Delta: s.delta, Affordable: rounds}
	if e.Epsilon <= s.budget {
		return e, nil
	}
	least, most := 1, rounds // the first is affordable, which check has seen to, and the last is not
	for most-least > 1 {
		middle := least + (most-least)/2
		if cost(middle) <= s.budget {
			least = middle
		} else {
			most = middle
		}
	}
	e.Affordable = least
	return e, nil
}
