package jobconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

// Stored is a [Config] as it is read back from storage: the types of its values are
// the same before and after a restart. What its maps and slices hold is never changed.
type Stored struct{ Config }

// Stored checks a configuration as [Config.Check] does, and returns it in its stored form,
// with its JSON. The error of one that has no JSON, or whose JSON is too large, matches
// [ErrInvalid].
func (c Config) Stored() (Stored, []byte, error) {
	c, err := c.Check()
	if err != nil {
		return Stored{}, nil, err
	}
	data, err := json.Marshal(c)
	if err != nil {
		return Stored{}, nil, fmt.Errorf("%w: configuration: %w", ErrInvalid, err)
	}
	if len(data) > MaxSize {
		return Stored{}, nil, fmt.Errorf("%w: a configuration of %d bytes, at most %d", ErrInvalid, len(data), MaxSize)
	}
	var again Stored // with the types of values that JSON keeps
	if err := json.Unmarshal(data, &again); err != nil {
		return Stored{}, nil, fmt.Errorf("%w: configuration: %w", ErrInvalid, err)
	}
	data, err = json.Marshal(again)
	return again, data, err
}

// StoredForm returns a value whose fields are the members of the JSON, for package keep.
func (Stored) StoredForm() any { return wireConfig{} }

// Copy returns the configuration in memory of its own.
func (s Stored) Copy() Config {
	c := s.Config
	c.StrategyConf = strategy.Conf(maps.Clone(map[string]any(c.StrategyConf)))
	c.DPAdaptive = strategy.Conf(maps.Clone(map[string]any(c.DPAdaptive)))
	if c.Homomorphic != nil {
		settings := *c.Homomorphic
		settings.CoeffModBitSizes = slices.Clone(settings.CoeffModBitSizes)
		c.Homomorphic = &settings
	}
	if c.SecAgg != nil {
		settings := *c.SecAgg
		c.SecAgg = &settings
	}
	if c.Async != nil {
		async := *c.Async
		if async.Staleness != nil {
			exponent := *async.Staleness
			async.Staleness = &exponent
		}
		c.Async = &async
	}
	c.ClientConf = slices.Clone(c.ClientConf)
	for i, conf := range c.ClientConf {
		c.ClientConf[i] = maps.Clone(conf)
	}
	c.Compression, c.LocalLayers = slices.Clone(c.Compression), slices.Clone(c.LocalLayers)
	c.Targets, c.Goals = maps.Clone(c.Targets), maps.Clone(c.Goals)
	return c
}

// Same reports whether the JSON is that of the configuration.
func (s Stored) Same(data []byte) bool {
	own, err := json.Marshal(s)
	return err == nil && bytes.Equal(own, data)
}
