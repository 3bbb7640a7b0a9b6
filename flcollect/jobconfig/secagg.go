package jobconfig

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/secagg"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// needsMore reports whether a strategy needs more than the mean of the updates.
func needsMore(name string) bool {
	d, _ := strategy.Describe(name)
	return !d.MeanOnly
}

// checkSecAgg returns nil if secure aggregation is possible with the rest of the
// configuration, and otherwise a *[secagg.FieldError] or a *[strategy.FieldError].
func (c Config) checkSecAgg() error {
	if err := c.SecAgg.Check(); err != nil {
		return err
	}
	switch {
	case c.Homomorphic != nil:
		return &secagg.FieldError{Reason: "cannot be combined with " + Homomorphic +
			": each of them hides the updates, and no client has both"}
	case c.DPAdaptive != nil:
		return &secagg.FieldError{Reason: "cannot be combined with " + dp.Mechanism +
			": the server cannot clip updates that it cannot read, and clients would send unmasked whether they were within the clip norm"}
	case needsMore(c.Strategy):
		return &strategy.FieldError{Strategy: c.Strategy, Field: "strategy", Reason: "has only the mean of the updates with " + SecAgg +
			", and only " + strings.Join(slices.DeleteFunc(strategy.Names(), needsMore), ", ") + " need no more"}
	}
	bounds, rest := strategy.TakeBounds(c.StrategyConf)
	for field, given := range bounds {
		if given != nil {
			return &strategy.FieldError{Strategy: c.Strategy, Field: field, Reason: "has no meaning with " + SecAgg}
		}
	}
	made, err := strategy.New(c.Strategy, rest)
	if err != nil {
		return err
	}
	least := made.Policy().Fit.MinClients
	if least < 2 {
		return &strategy.FieldError{Strategy: c.Strategy, Field: "min_fit_clients",
			Reason: "must be 2 or more with " + SecAgg + ": the mean of one update is that update"}
	}
	return c.SecAgg.CheckClients(least)
}

// secAgg reads the settings of secure aggregation.
func (p *parser) secAgg(v value) *secagg.Settings {
	members, ok := v.object(maxMembers)
	if !ok {
		return nil
	}
	var s secagg.Settings
	before := len(p.faults)
	for _, name := range members.names() {
		v := members.at(name)
		if !v.given() {
			continue
		}
		switch name {
		case "num_shares":
			s.NumShares = v.above(0)
		case "reconstruction_threshold":
			s.ReconstructionThreshold = v.above(0)
		case "max_weight":
			s.MaxWeight = v.above(0)
		case "clipping_range":
			s.ClippingRange = v.above(0)
		case "quantization_range":
			s.QuantizationRange = v.integer(1, math.MaxInt64)
		case "modulus_range":
			s.ModulusRange = v.integer(2, math.MaxInt64)
		case "timeout":
			s.Timeout = v.above(0)
		default:
			v.reject(Unknown, "unknown here; there are clipping_range, max_weight, modulus_range, num_shares, "+
				"quantization_range, reconstruction_threshold, timeout")
		}
	}
	if len(p.faults) > before {
		return nil
	}
	return &s
}

// above reads a number that is greater than a bound.
func (v value) above(bound float64) float64 {
	before := len(v.parser.faults)
	n := v.number(-math.MaxFloat64, math.MaxFloat64)
	if len(v.parser.faults) == before && n <= bound {
		v.reject(Invalid, "%v is not greater than %v", n, bound)
	}
	return n
}

// checkSecAgg reports, at its place, why a configuration cannot have secure aggregation.
// Faults that were reported before are not reported again.
func (p *parser) checkSecAgg(c Config, mechanisms, conf value) {
	if c.SecAgg == nil {
		return
	}
	var setting *secagg.FieldError
	var parameter *strategy.FieldError
	root := value{parser: p}
	switch err := c.checkSecAgg(); {
	case errors.As(err, &setting) && setting.Field == "":
		mechanisms.child(SecAgg).reject(Invalid, "%s", setting.Reason)
	case errors.As(err, &setting):
		mechanisms.child(SecAgg).child(setting.Field).reject(Invalid, "%s", setting.Reason)
	case errors.As(err, &parameter) && parameter.Field == "strategy":
		root.child("strategy").reject(Invalid, "%s", parameter.Reason)
	case errors.As(err, &parameter):
		if place := conf.child(parameter.Field); !place.faulty() {
			place.reject(Invalid, "%s", parameter.Reason)
		}
	}
}

// faulty reports whether a fault of the value was reported.
func (v value) faulty() bool {
	return slices.ContainsFunc(v.parser.faults, func(f Fault) bool { return slices.Equal(f.Path, v.path) })
}
