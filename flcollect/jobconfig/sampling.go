package jobconfig

import (
	"fmt"

	"github.com/iotenablers/enablers/flcollect/dp"
)

// The names of ways to draw clients.
const (
	uniformly = "uniform"
	bySpeed   = "speed"
)

// The tiers of sampling by speed.
const (
	// DefaultTiers is how many there are by default.
	DefaultTiers = 5

	leastTiers = 2
	maxTiers   = 100
)

// wireSampling is the JSON form of sampling by speed.
type wireSampling struct {
	By    string `json:"by"`
	Tiers int    `json:"tiers"`
}

// newWireSampling returns the JSON form, nil for uniform sampling.
func newWireSampling(tiers int) *wireSampling {
	if tiers == 0 {
		return nil
	}
	return &wireSampling{By: bySpeed, Tiers: tiers}
}

// sampling reads how clients are drawn, as the number of tiers.
func (v value) sampling() int {
	if !v.given() {
		return 0
	}
	members, ok := v.object(maxMembers)
	if !ok {
		return 0
	}
	members.know("by", "tiers")
	tiers := DefaultTiers
	if v := members.at("tiers"); v.given() {
		tiers = int(v.integer(leastTiers, maxTiers))
	}
	switch by := members.at("by"); by.name() {
	case "": // reported
	case bySpeed:
		return tiers
	case uniformly:
		if v := members.at("tiers"); v.given() {
			v.reject(Invalid, "has no meaning with uniform sampling")
		}
	default:
		by.reject(Invalid, "is not %q or %q", uniformly, bySpeed)
	}
	return 0
}

// unsampled says why clients of the job cannot be drawn by their speed, empty if they can,
// or if they are not to be.
func (c Config) unsampled() string {
	if c.SpeedTiers == 0 {
		return ""
	}
	if c.Async != nil {
		return "has no meaning in an asynchronous job, which waits for no round of clients"
	}
	if c.SecAgg != nil {
		return "has no meaning with secure aggregation, whose stages go at the speed of all clients"
	}
	if c.drawsEach() {
		return "does not go with a sampling_rate of dp-adaptive below 1, for which each client has to be drawn independently"
	}
	return ""
}

// drawsEach reports whether each client of a round is drawn independently of the others.
func (c Config) drawsEach() bool {
	return dp.SamplingRate(c.DPAdaptive) < 1
}

// rateFaults returns what does not go with a sampling rate below 1.
func (c Config) rateFaults() []Fault {
	if !c.drawsEach() {
		return nil
	}
	var faults []Fault
	for _, field := range []string{"fraction_fit", "min_fit_clients"} {
		if c.StrategyConf[field] != nil {
			faults = append(faults, Fault{Path: []any{"strategy_conf", field}, Kind: Invalid,
				Reason: "has no meaning with a sampling_rate of " + dp.Mechanism +
					" below 1, by which each client is drawn independently: leave it out, or the sampling_rate"})
		}
	}
	if c.Homomorphic != nil {
		faults = append(faults, Fault{Path: []any{"privacy-mechanisms", dp.Mechanism, "sampling_rate"}, Kind: Invalid,
			Reason: "below 1 does not go with " + Homomorphic + ": the sum of updates that cannot be read cannot hide how many there are"})
	}
	return faults
}

// checkSampling is that of [Config.Check].
func (c Config) checkSampling() error {
	if c.SpeedTiers != 0 && (c.SpeedTiers < leastTiers || c.SpeedTiers > maxTiers) {
		return fmt.Errorf("%w: %d tiers of speed, must be %d to %d", ErrInvalid, c.SpeedTiers, leastTiers, maxTiers)
	}
	if reason := c.unsampled(); reason != "" {
		return fmt.Errorf("%w: sampling by speed %s", ErrInvalid, reason)
	}
	return nil
}
