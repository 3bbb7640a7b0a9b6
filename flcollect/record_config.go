package flcollect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/storage"
)

// storedConfig is a [Config] as it is after it was stored, in the same form as
// everywhere. What its maps and slices hold is never changed.
type storedConfig struct{ Config }

// newStoredConfig checks a configuration, and returns it with its JSON.
func newStoredConfig(c Config) (storedConfig, []byte, error) {
	switch {
	case c.Strategy == "":
		return storedConfig{}, nil, fmt.Errorf("%w: there is no strategy", ErrInvalid)
	case c.Rounds < 1 || c.Rounds > MaxRounds:
		return storedConfig{}, nil, fmt.Errorf("%w: %d rounds, must be 1 to %d", ErrInvalid, c.Rounds, MaxRounds)
	case c.RoundTimeout < 0:
		return storedConfig{}, nil, fmt.Errorf("%w: a round timeout of %v", ErrInvalid, c.RoundTimeout)
	}
	c, err := c.withMechanisms()
	if err != nil {
		return storedConfig{}, nil, err
	}
	data, err := json.Marshal(c)
	if err != nil {
		return storedConfig{}, nil, fmt.Errorf("%w: configuration: %w", ErrInvalid, err)
	}
	if len(data) > MaxConfig {
		return storedConfig{}, nil, fmt.Errorf("%w: a configuration of %d bytes, at most %d", ErrInvalid, len(data), MaxConfig)
	}
	var again storedConfig // the values as they are after a restart
	if err := json.Unmarshal(data, &again); err != nil {
		return storedConfig{}, nil, fmt.Errorf("%w: configuration: %w", ErrInvalid, err)
	}
	data, err = json.Marshal(again)
	return again, data, err
}

// config returns the configuration, which shares nothing.
func (s storedConfig) config() Config {
	c := s.Config
	c.StrategyConf = strategy.Conf(maps.Clone(map[string]any(c.StrategyConf)))
	c.DPAdaptive = strategy.Conf(maps.Clone(map[string]any(c.DPAdaptive)))
	if c.Homomorphic != nil {
		settings := *c.Homomorphic
		settings.CoeffModBitSizes = slices.Clone(settings.CoeffModBitSizes)
		c.Homomorphic = &settings
	}
	c.ClientConf = slices.Clone(c.ClientConf)
	for i, conf := range c.ClientConf {
		c.ClientConf[i] = maps.Clone(conf)
	}
	c.Targets = maps.Clone(c.Targets)
	return c
}

// same reports whether the JSON is that of the configuration.
func (s storedConfig) same(data []byte) bool {
	own, err := json.Marshal(s)
	return err == nil && bytes.Equal(own, data)
}

// checkID returns nil for an id that a job can have.
func checkID(id string) error {
	if len(id) > MaxID {
		return fmt.Errorf("%w: the id has %d bytes, the most is %d", ErrInvalid, len(id), MaxID)
	}
	if err := storage.ValidKey(id); err != nil {
		return fmt.Errorf("%w: id %q: %w", ErrInvalid, id, err)
	}
	return nil
}
