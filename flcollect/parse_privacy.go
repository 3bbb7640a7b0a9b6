package flcollect

import (
	"errors"
	"math"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// homomorphic is the name of homomorphic encryption among the privacy mechanisms.
const homomorphic = "homomorphic"

// privacy reads the privacy mechanisms (section 2, privacy-mechanisms) for a
// strategy. Who asks for one must not be trained with less: a name that means
// nothing is refused.
func (p *parser) privacy(c *Config, v value) {
	mechanisms, ok := v.object(math.MaxInt)
	if !ok {
		return
	}
	for _, name := range mechanisms.names() {
		switch v := mechanisms.at(name); name {
		case homomorphic:
			c.Homomorphic = p.homomorphic(v)
		case dp.Mechanism:
			c.DPAdaptive = p.dpAdaptive(c.Strategy, mechanisms.raw[homomorphic] != nil, v)
		default:
			v.fail("value_error.unknown", "no such privacy mechanism; there are homomorphic and dp-adaptive")
		}
	}
}

// homomorphic reads encryption parameters, and fills in what is not given unless
// they leave the moduli open.
func (p *parser) homomorphic(v value) *ckks.Settings {
	members, ok := v.object(maxMembers)
	if !ok {
		return nil
	}
	var s ckks.Settings
	before := len(p.details)
	for _, name := range members.names() {
		v := members.at(name)
		if !v.given() {
			continue
		}
		switch name {
		case "poly_modulus_degree":
			s.PolyModulusDegree = int(v.integer(1, math.MaxInt32))
		case "scale_bits":
			s.ScaleBits = int(v.integer(1, math.MaxInt32))
		case "scheme":
			s.Scheme = v.text(1)
		case "coeff_mod_bit_sizes":
			s.CoeffModBitSizes = v.bitSizes()
		default:
			v.fail("value_error.unknown", "unknown here; there are coeff_mod_bit_sizes, poly_modulus_degree, scale_bits, scheme")
		}
	}
	if len(p.details) > before {
		return nil
	}
	checked, err := checkedSettings(s)
	var fault *ckks.FieldError
	switch {
	case errors.As(err, &fault):
		v.child(fault.Field).fail("value_error", "%s", fault.Reason)
		return nil
	case err != nil:
		v.fail("value_error", "%v", err)
		return nil
	}
	return &checked
}

// bitSizes reads a list of whole numbers that is not empty.
func (v value) bitSizes() []int {
	var sizes []int
	before := len(v.parser.details)
	for _, item := range v.list(maxMembers) {
		if item.required() {
			sizes = append(sizes, int(item.integer(1, math.MaxInt32)))
		}
	}
	if len(sizes) == 0 && len(v.parser.details) == before {
		v.fail("value_error.list.min_items", "ensure this value has at least 1 items")
	}
	return sizes
}

// dpAdaptive reads the settings of differential privacy for a strategy.
func (p *parser) dpAdaptive(name string, sealed bool, v value) strategy.Conf {
	members, ok := v.object(maxMembers)
	if !ok {
		return nil
	}
	conf, before := strategy.Conf{}, len(p.details)
	for _, field := range members.names() {
		if v := members.at(field); v.given() {
			conf[field] = v.dpField(field)
		}
	}
	if len(p.details) > before {
		return nil
	}
	if sealed {
		name = averaging
	}
	p.check(conf, v, func(rest strategy.Conf) error { return dp.Check(name, rest) })
	return conf
}

// dpField reads a setting of differential privacy.
func (v value) dpField(field string) any {
	switch field {
	case "num_sampled_clients":
		return v.integer(math.MinInt64, math.MaxInt64)
	case "server_side_noising":
		return v.truth()
	case "init_clip_norm", "noise_multiplier", "clip_count_stddev", "clip_norm_target_quantile", "clip_norm_lr",
		"delta", "epsilon_budget", "sampling_rate":
		return v.number(-math.MaxFloat64, math.MaxFloat64)
	}
	given, ok := v.scalar()
	if !ok {
		v.fail("type_error", "a number, a truth value or text is expected")
	}
	return given
}
