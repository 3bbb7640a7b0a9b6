package jobconfig

import (
	"errors"
	"math"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// privacy reads the privacy mechanisms (section 2, privacy-mechanisms) for a strategy.
// An unknown name is a fault: ignored, the job would be trained with less privacy than
// its configuration requests.
func (p *parser) privacy(c *Config, v value) {
	mechanisms, ok := v.object(math.MaxInt)
	if !ok {
		return
	}
	for _, name := range mechanisms.names() {
		switch v := mechanisms.at(name); name {
		case Homomorphic:
			c.Homomorphic = p.homomorphic(v)
		case dp.Mechanism:
			c.DPAdaptive = p.dpAdaptive(c.Strategy, mechanisms.raw[Homomorphic] != nil, v)
		case SecAgg:
			c.SecAgg = p.secAgg(v)
		default:
			v.reject(Unknown, "no such privacy mechanism; there are homomorphic, dp-adaptive and secagg")
		}
	}
}

// homomorphic reads encryption parameters, with defaults for those that are not given,
// unless they leave the moduli open.
func (p *parser) homomorphic(v value) *ckks.Settings {
	members, ok := v.object(maxMembers)
	if !ok {
		return nil
	}
	var s ckks.Settings
	before := len(p.faults)
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
			v.reject(Unknown, "unknown here; there are coeff_mod_bit_sizes, poly_modulus_degree, scale_bits, scheme")
		}
	}
	if len(p.faults) > before {
		return nil
	}
	checked, err := completeSettings(s)
	var fault *ckks.FieldError
	switch {
	case errors.As(err, &fault):
		v.child(fault.Field).reject(Invalid, "%s", fault.Reason)
		return nil
	case err != nil:
		v.reject(Invalid, "%v", err)
		return nil
	}
	return &checked
}

// bitSizes reads a list of whole numbers that is not empty.
func (v value) bitSizes() []int {
	var sizes []int
	before := len(v.parser.faults)
	for _, item := range v.list(maxMembers) {
		if item.required() {
			sizes = append(sizes, int(item.integer(1, math.MaxInt32)))
		}
	}
	if len(sizes) == 0 && len(v.parser.faults) == before {
		v.exceeds(TooFewItems, "1")
	}
	return sizes
}

// dpAdaptive reads the settings of differential privacy for a strategy.
func (p *parser) dpAdaptive(name string, sealed bool, v value) strategy.Conf {
	members, ok := v.object(maxMembers)
	if !ok {
		return nil
	}
	conf, before := strategy.Conf{}, len(p.faults)
	for _, field := range members.names() {
		if v := members.at(field); v.given() {
			conf[field] = v.dpField(field)
		}
	}
	if len(p.faults) > before {
		return nil
	}
	if sealed {
		name = Averaging
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
		v.fail(NotScalar)
	}
	return given
}
