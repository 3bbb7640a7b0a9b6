package jobconfig

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/secagg"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// wireConfig is the JSON form of a Config.
type wireConfig struct {
	Strategy        string                `json:"strategy"`
	ModelName       string                `json:"model_name"`
	ModelVersion    string                `json:"model_version"`
	AdaptConfig     string                `json:"adapt_config,omitempty"`
	Server          wireServer            `json:"server_conf"`
	StrategyConf    map[string]scalar     `json:"strategy_conf"`
	ClientConf      []map[string]scalar   `json:"client_conf"`
	Privacy         wirePrivacy           `json:"privacy-mechanisms"`
	ConfigurationID string                `json:"configuration_id"`
	Stopping        bool                  `json:"stopping_flag"`
	Targets         map[string]wireTarget `json:"stopping_target,omitempty"`
	App             string                `json:"app,omitempty"`
}

type wirePrivacy struct {
	Homomorphic *ckks.Settings    `json:"homomorphic,omitempty"`
	DPAdaptive  map[string]scalar `json:"dp-adaptive,omitzero"`
	SecAgg      *secagg.Settings  `json:"secagg,omitempty"`
}

type wireServer struct {
	Rounds  int         `json:"num_rounds"`
	Timeout wireSeconds `json:"round_timeout,omitzero"`
	Records string      `json:"records,omitempty"`
	Async   *Async      `json:"async,omitempty"`

	Compression []string `json:"compression,omitempty"`
	LocalLayers []string `json:"local_layers,omitempty"`

	Sampling *wireSampling `json:"sampling,omitempty"`
}

// MarshalJSON writes the configuration in the form that [Parse] reads and in which it
// is stored. Equal configurations have equal JSON.
func (c Config) MarshalJSON() ([]byte, error) {
	wire := wireConfig{
		Strategy:        c.Strategy,
		ModelName:       c.ModelName,
		ModelVersion:    c.ModelVersion,
		AdaptConfig:     c.AdaptConfig,
		Server:          newWireServer(c),
		StrategyConf:    toScalars(c.StrategyConf),
		ClientConf:      make([]map[string]scalar, len(c.ClientConf)),
		Privacy:         wirePrivacy{Homomorphic: c.Homomorphic, SecAgg: c.SecAgg},
		ConfigurationID: c.ConfigurationID,
		Stopping:        c.Stopping,
		Targets:         newWireTargets(c),
		App:             c.App,
	}
	if c.DPAdaptive != nil {
		wire.Privacy.DPAdaptive = toScalars(c.DPAdaptive)
	}
	for i, item := range c.ClientConf {
		wire.ClientConf[i] = toScalars(item)
	}
	return json.Marshal(wire)
}

func newWireServer(c Config) wireServer {
	return wireServer{Rounds: c.Rounds, Timeout: wireSeconds(c.RoundTimeout), Records: c.Records, Async: c.Async,
		Compression: c.Compression, LocalLayers: c.LocalLayers, Sampling: newWireSampling(c.SpeedTiers)}
}

// UnmarshalJSON reads what MarshalJSON wrote. It checks nothing, and leaves fields zero
// that are not there. Use [Parse] for what clients send.
func (c *Config) UnmarshalJSON(data []byte) error {
	var wire wireConfig
	if err := json.Unmarshal(data, &wire); err != nil {
		return fmt.Errorf("read stored configuration: %w", err)
	}
	*c = Config{
		Strategy:        wire.Strategy,
		ModelName:       wire.ModelName,
		ModelVersion:    wire.ModelVersion,
		AdaptConfig:     wire.AdaptConfig,
		Rounds:          wire.Server.Rounds,
		RoundTimeout:    time.Duration(wire.Server.Timeout),
		Async:           wire.Server.Async,
		StrategyConf:    strategy.Conf(fromScalars(wire.StrategyConf)),
		Homomorphic:     wire.Privacy.Homomorphic,
		DPAdaptive:      strategy.Conf(fromScalars(wire.Privacy.DPAdaptive)),
		SecAgg:          wire.Privacy.SecAgg,
		ConfigurationID: wire.ConfigurationID,
		Stopping:        wire.Stopping,
		App:             wire.App,
		Records:         wire.Server.Records,
		Compression:     wire.Server.Compression,
		LocalLayers:     wire.Server.LocalLayers,
	}
	if wire.Server.Sampling != nil {
		c.SpeedTiers = wire.Server.Sampling.Tiers
	}
	c.readTargets(wire.Targets)
	for _, item := range wire.ClientConf {
		c.ClientConf = append(c.ClientConf, fromScalars(item))
	}
	return nil
}

// wireSeconds is a duration as a number of seconds, to the last nanosecond.
type wireSeconds time.Duration

// MarshalJSON implements [json.Marshaler].
func (s wireSeconds) MarshalJSON() ([]byte, error) {
	if s < 0 {
		return nil, fmt.Errorf("write %v: not a time to wait", time.Duration(s))
	}
	second := wireSeconds(time.Second)
	text := fmt.Sprintf("%d.%09d", s/second, s%second)
	return []byte(strings.TrimRight(strings.TrimRight(text, "0"), ".")), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *wireSeconds) UnmarshalJSON(data []byte) error {
	d, err := time.ParseDuration(string(data) + "s")
	if err != nil || d < 0 {
		return fmt.Errorf("%.40q is no number of seconds", data)
	}
	*s = wireSeconds(d)
	return nil
}
