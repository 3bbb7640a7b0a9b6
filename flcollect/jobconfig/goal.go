package jobconfig

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// Goal is a target of an early end that a metric has to reach for some rounds in a row.
// One of its bounds is given.
type Goal struct {
	// Below is what the metric has to be less than, Above what it has to be greater than.
	Below *float64 `json:"below,omitempty"`
	Above *float64 `json:"above,omitempty"`
	// Patience is for how many rounds in a row, 1 to [MaxRounds]. Zero means 1.
	Patience int `json:"patience,omitempty"`
}

// Loss is the name of the aggregated loss among targets.
const Loss = "loss"

// Reached reports whether a value is beyond the bound, which it returns.
func (g Goal) Reached(value float64) (reached bool, bound float64) {
	if g.Below != nil {
		return value < *g.Below, *g.Below
	}
	return value > *g.Above, *g.Above
}

// unreached is why a number is no target for the loss.
const unreached = `is reached by rising, and a loss falls: give {"below": NUMBER}, with "patience": ROUNDS if it has to last`

// checkTargets is that of [Config.Check].
func (c Config) checkTargets() error {
	if _, ok := c.Targets[Loss]; ok && c.Stopping {
		return fmt.Errorf("%w: the target %s %s", ErrInvalid, Loss, unreached)
	}
	for name, g := range c.Goals {
		_, twice := c.Targets[name]
		switch {
		case twice:
			return fmt.Errorf("%w: the target %q is there twice", ErrInvalid, name)
		case (g.Below == nil) == (g.Above == nil):
			return fmt.Errorf("%w: the target %q needs one of below and above", ErrInvalid, name)
		case g.Patience < 0 || g.Patience > MaxRounds:
			return fmt.Errorf("%w: the target %q has a patience of %d rounds, must be 1 to %d", ErrInvalid, name, g.Patience, MaxRounds)
		}
	}
	return nil
}

// targets reads the targets that metrics are compared with.
func (p *parser) targets(c *Config, v value) {
	if !v.given() {
		return
	}
	members, ok := v.object(maxMembers)
	if !ok {
		return
	}
	for _, name := range members.names() {
		v := members.at(name)
		switch {
		case !v.required():
		case v.raw[0] == '{':
			if c.Goals == nil {
				c.Goals = map[string]Goal{}
			}
			c.Goals[name] = v.goal()
		case name == Loss && c.Stopping:
			v.reject(Invalid, unreached)
		default:
			if c.Targets == nil {
				c.Targets = map[string]float64{}
			}
			c.Targets[name] = v.number(-math.MaxFloat64, math.MaxFloat64)
		}
	}
}

// goal reads a target that is an object.
func (v value) goal() Goal {
	members, _ := v.object(maxMembers)
	var g Goal
	bound := func(name string) *float64 {
		v := members.at(name)
		if !v.given() {
			return nil
		}
		n := v.number(-math.MaxFloat64, math.MaxFloat64)
		return &n
	}
	g.Below, g.Above = bound("below"), bound("above")
	if v := members.at("patience"); v.given() {
		g.Patience = int(v.integer(1, MaxRounds))
	}
	if (g.Below == nil) == (g.Above == nil) {
		v.reject(Invalid, "needs one of below and above")
	}
	members.know("above", "below", "patience")
	return g
}

// know reports the members that have a value, and are none of the known ones.
func (m members) know(names ...string) {
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}
	for _, name := range m.names() {
		if v := m.at(name); v.given() && !known[name] {
			v.reject(Unknown, "unknown here; there are %s", strings.Join(names, ", "))
		}
	}
}

// wireTarget is the JSON form of a target: a number or an object.
type wireTarget struct {
	number float64
	goal   *Goal
}

// MarshalJSON implements [json.Marshaler].
func (t wireTarget) MarshalJSON() ([]byte, error) {
	if t.goal != nil {
		return json.Marshal(t.goal)
	}
	return json.Marshal(t.number)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *wireTarget) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		return json.Unmarshal(data, &t.goal)
	}
	return json.Unmarshal(data, &t.number)
}

// newWireTargets returns the JSON form of the targets.
func newWireTargets(c Config) map[string]wireTarget {
	wire := map[string]wireTarget{}
	for name, number := range c.Targets {
		wire[name] = wireTarget{number: number}
	}
	for name, g := range c.Goals {
		wire[name] = wireTarget{goal: &g}
	}
	return wire
}

// readTargets sets the targets of a stored configuration.
func (c *Config) readTargets(wire map[string]wireTarget) {
	for name, target := range wire {
		switch {
		case target.goal != nil && c.Goals == nil:
			c.Goals = map[string]Goal{name: *target.goal}
		case target.goal != nil:
			c.Goals[name] = *target.goal
		case c.Targets == nil:
			c.Targets = map[string]float64{name: target.number}
		default:
			c.Targets[name] = target.number
		}
	}
}
