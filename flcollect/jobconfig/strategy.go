package jobconfig

import (
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// strategyConf reads the parameters that are given. It checks them if the strategy is a
// built-in one; for encrypted updates it checks those that apply.
func (p *parser) strategyConf(name string, sealed bool, v value) strategy.Conf {
	members, ok := v.object(maxMembers)
	if !ok || len(members.raw) == 0 {
		return nil
	}
	conf := strategy.Conf{}
	for _, field := range members.names() {
		v := members.at(field)
		if !v.given() {
			continue
		}
		before := len(p.faults)
		given := v.parameter(field)
		if len(p.faults) == before {
			conf[field] = given
		}
	}
	_, rest := strategy.TakeBounds(conf)
	switch {
	case sealed:
		p.check(rest, v, func(rest strategy.Conf) error {
			_, err := Sampling(rest)
			return err
		})
	case strategy.Known(name):
		p.check(rest, v, func(rest strategy.Conf) error {
			_, err := strategy.New(name, rest)
			return err
		})
	}
	if len(conf) == 0 {
		return nil
	}
	return conf
}

// check reports what is wrong with the parameters of a strategy or of a mechanism, one
// after the other. A fault of the strategy itself is reported at its own place.
func (p *parser) check(conf strategy.Conf, v value, wrong func(rest strategy.Conf) error) {
	rest := strategy.Conf{}
	for field, given := range conf {
		rest[field] = given
	}
	for {
		var fault *strategy.FieldError
		if !errors.As(wrong(rest), &fault) {
			return
		}
		if fault.Field == "strategy" {
			root := value{parser: p}
			root.child("strategy").reject(Invalid, "%s", fault.Reason)
			return
		}
		_, left := rest[fault.Field]
		if _, given := conf[fault.Field]; left || !given {
			v.child(fault.Field).reject(Invalid, "%s", fault.Reason)
		}
		if !left {
			return // it is missing, or its default does not fit the others
		}
		delete(rest, fault.Field)
	}
}

// bounds checks the parameters of norm bounding. They have no meaning with differential
// privacy, which clips by itself, nor for encrypted or masked updates, whose norm cannot
// be measured.
func (p *parser) bounds(conf strategy.Conf, mechanisms, v value) {
	bounds, _ := strategy.TakeBounds(conf)
	for _, mechanism := range []string{dp.Mechanism, Homomorphic, SecAgg} {
		if len(bounds) > 0 && mechanisms.has(mechanism) {
			for _, field := range slices.Sorted(maps.Keys(bounds)) {
				v.child(field).reject(Invalid, "has no meaning with %s", mechanism)
			}
			return
		}
	}
	p.check(bounds, v, func(rest strategy.Conf) error {
		_, err := strategy.NewBounded(nil, rest)
		return err
	})
}

// parameter reads a parameter of a strategy. Those of the specification
// (section 2, strategy_conf) have a type.
func (v value) parameter(field string) any {
	switch field {
	case "min_fit_clients", "min_evaluate_clients", "min_available_clients":
		return v.integer(math.MinInt64, math.MaxInt64)
	case "accept_failures", "norm_clip", "norm_taper", "bias_correction":
		return v.truth()
	case "fraction_fit", "fraction_evaluate", "server_learning_rate", "server_momentum",
		"min_completion_rate_fit", "min_completion_rate_evaluate",
		"eta", "eta_l", "beta_1", "beta_2", "tau", "q_param", "qffl_learning_rate":
		return v.number(-math.MaxFloat64, math.MaxFloat64)
	}
	given, ok := v.scalar()
	if !ok {
		v.fail(NotScalar)
	}
	return given
}
