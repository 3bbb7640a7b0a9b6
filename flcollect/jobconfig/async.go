package jobconfig

import (
	"fmt"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// Async has a job make versions of its model without waiting for all clients (FedBuff,
// Nguyen and others 2022, arXiv 2106.06639). Up to Concurrency clients train at once, each
// on the version that was the newest when it was sent; Buffer updates make the next
// version. An update that was trained on version b and arrives when v is the newest has
// the staleness s = v - b, and takes part as x_v + (1+s)^-a (u - x_b), where x are the
// versions, u is the update, and a is the exponent Staleness.
type Async struct {
	// Buffer is how many updates, each of another client, make a version, 1 to
	// [MaxBuffer]. Zero means min_fit_clients of the strategy.
	Buffer int `json:"buffer,omitempty"`
	// Concurrency is how many clients train at once, at most [MaxConcurrency]. So many
	// older versions are in memory at most. Zero means ten times Buffer.
	Concurrency int `json:"concurrency,omitempty"`
	// Staleness is the exponent a, 0 to [MaxStaleness]; 0 weighs all updates alike. Nil
	// means [DefaultStaleness].
	Staleness *float64 `json:"staleness,omitempty"`
}

// Bounds and defaults of [Async].
const (
	MaxBuffer          = 10_000
	MaxConcurrency     = 10_000
	MaxStaleness       = 10
	DefaultStaleness   = 0.5
	concurrentByBuffer = 10
)

// With returns the settings with the defaults that a strategy gives.
func (a Async) With(policy strategy.Policy) (buffer, concurrency int, staleness float64) {
	if buffer = a.Buffer; buffer == 0 {
		buffer = min(policy.Fit.MinClients, MaxBuffer)
	}
	if concurrency = a.Concurrency; concurrency == 0 {
		concurrency = min(concurrentByBuffer*buffer, MaxConcurrency)
	}
	staleness = DefaultStaleness
	if a.Staleness != nil {
		staleness = *a.Staleness
	}
	return buffer, concurrency, staleness
}

// AsyncParameters describes the members of [Async].
func AsyncParameters() []strategy.Parameter {
	return []strategy.Parameter{
		{Name: "buffer", Kind: "integer", Default: "min_fit_clients", Least: 1, Most: MaxBuffer,
			Meaning: "How many updates, each of another client, make a version of the model."},
		{Name: "concurrency", Kind: "integer", Default: "10 times buffer", Least: 1, Most: MaxConcurrency,
			Meaning: "How many clients train at once."},
		{Name: "staleness", Kind: "number", Default: DefaultStaleness, Least: 0, Most: MaxStaleness,
			Meaning: "How much less an update counts for each version that was made meanwhile: the exponent a of (1+s)^-a. 0 weighs all alike."},
	}
}

// Demand returns the policy of a job whose strategy has the given one: an asynchronous job
// needs as many clients as a version has updates.
func (c Config) Demand(policy strategy.Policy) strategy.Policy {
	if c.Async != nil {
		policy.Fit.MinClients, _, _ = c.Async.With(policy)
	}
	return policy
}

// async reads server_conf.async.
func (p *parser) async(v value) *Async {
	members, ok := v.object(maxMembers)
	if !ok {
		return nil
	}
	a := &Async{}
	for _, name := range members.names() {
		v := members.at(name)
		if !v.given() {
			continue
		}
		switch name {
		case "buffer":
			a.Buffer = int(v.integer(1, MaxBuffer))
		case "concurrency":
			a.Concurrency = int(v.integer(1, MaxConcurrency))
		case "staleness":
			exponent := v.number(0, MaxStaleness)
			a.Staleness = &exponent
		default:
			v.reject(Unknown, "unknown here; there are buffer, concurrency, staleness")
		}
	}
	return a
}

// checkAsync returns what is wrong with an asynchronous job, and nil if nothing is.
func (c Config) checkAsync() []Fault {
	if c.Async == nil {
		return nil
	}
	var faults []Fault
	refuse := func(reason string, path ...any) {
		faults = append(faults, Fault{Path: path, Kind: Invalid, Reason: reason})
	}
	bounded := func(member string, n, most int) {
		if n < 0 || n > most {
			refuse(fmt.Sprintf("%d is not between 1 and %d", n, most), "server_conf", "async", member)
		}
	}
	bounded("buffer", c.Async.Buffer, MaxBuffer)
	bounded("concurrency", c.Async.Concurrency, MaxConcurrency)
	if a := c.Async.Staleness; a != nil && !(*a >= 0 && *a <= MaxStaleness) {
		refuse(fmt.Sprintf("%v is not between 0 and %d", *a, MaxStaleness), "server_conf", "async", "staleness")
	}
	if c.Homomorphic != nil {
		refuse("has no meaning with homomorphic: an update that cannot be read cannot be weighted by its staleness", "server_conf", "async")
	}
	if c.SecAgg != nil {
		refuse("has no meaning with "+SecAgg+": masks are removed from the sum of a round, in which all clients train one model",
			"server_conf", "async")
	}
	if c.DPAdaptive != nil {
		refuse("has no meaning with "+dp.Mechanism+": its account assumes rounds whose clients are drawn anew", "server_conf", "async")
	}
	if reason := asyncStrategy(c.Strategy); reason != "" {
		refuse(reason, "strategy")
	}
	if given := c.StrategyConf["fraction_fit"]; given != nil && !isOne(given) {
		refuse("has no meaning with server_conf.async, whose concurrency says how many clients train at once", "strategy_conf", "fraction_fit")
	}
	return faults
}

// asyncStrategy says why a built-in strategy cannot aggregate updates of several versions,
// and returns no text for one that can.
func asyncStrategy(name string) string {
	if name == "QFedAvg" {
		return "QFedAvg weighs updates by the loss of the model that all of them begin with, and with server_conf.async there are several"
	}
	return ""
}

// isOne reports whether a parameter is the number 1. What is no number is refused
// elsewhere.
func isOne(given any) bool {
	n, ok := finiteNumber(fmt.Sprint(given))
	return !ok || n == 1
}
