package flcollect

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

// wireConfig is a Config as JSON.
type wireConfig struct {
	Strategy        string                 `json:"strategy"`
	ModelName       string                 `json:"model_name"`
	ModelVersion    string                 `json:"model_version"`
	AdaptConfig     string                 `json:"adapt_config,omitempty"`
	Server          wireServer             `json:"server_conf"`
	StrategyConf    map[string]wireValue   `json:"strategy_conf"`
	ClientConf      []map[string]wireValue `json:"client_conf"`
	Privacy         struct{}               `json:"privacy-mechanisms"`
	ConfigurationID string                 `json:"configuration_id"`
	Stopping        bool                   `json:"stopping_flag"`
	Targets         map[string]float64     `json:"stopping_target,omitempty"`
}

type wireServer struct {
	Rounds  int     `json:"num_rounds"`
	Timeout float64 `json:"round_timeout,omitempty"` // seconds
}

// MarshalJSON writes the configuration in the form that [ParseConfig] reads.
func (c Config) MarshalJSON() ([]byte, error) {
	wire := wireConfig{
		Strategy:        c.Strategy,
		ModelName:       c.ModelName,
		ModelVersion:    c.ModelVersion,
		AdaptConfig:     c.AdaptConfig,
		Server:          wireServer{Rounds: c.Rounds, Timeout: c.RoundTimeout.Seconds()},
		StrategyConf:    toWire(c.StrategyConf),
		ClientConf:      make([]map[string]wireValue, len(c.ClientConf)),
		ConfigurationID: c.ConfigurationID,
		Stopping:        c.Stopping,
		Targets:         c.Targets,
	}
	for i, item := range c.ClientConf {
		wire.ClientConf[i] = toWire(item)
	}
	return json.Marshal(wire)
}

// UnmarshalJSON reads what MarshalJSON wrote, as it was: nothing is checked, and
// what is not there is zero. What others wrote is for [ParseConfig].
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
		RoundTimeout:    time.Duration(math.Round(wire.Server.Timeout * 1e9)),
		StrategyConf:    strategy.Conf(fromWire(wire.StrategyConf)),
		ConfigurationID: wire.ConfigurationID,
		Stopping:        wire.Stopping,
		Targets:         wire.Targets,
	}
	for _, item := range wire.ClientConf {
		c.ClientConf = append(c.ClientConf, fromWire(item))
	}
	return nil
}

func toWire(values map[string]any) map[string]wireValue {
	wire := make(map[string]wireValue, len(values))
	for name, v := range values {
		wire[name] = wireValue{v}
	}
	return wire
}

func fromWire(wire map[string]wireValue) map[string]any {
	if len(wire) == 0 {
		return nil
	}
	values := make(map[string]any, len(wire))
	for name, v := range wire {
		values[name] = v.of
	}
	return values
}

// wireValue is text, a number or a truth value. A float64 is written so that it
// is read as one again: clients care about the type.
type wireValue struct{ of any }

// MarshalJSON implements [json.Marshaler].
func (v wireValue) MarshalJSON() ([]byte, error) {
	number, bits := 0.0, 64
	switch of := v.of.(type) {
	case float64:
		number = of
	case float32:
		number, bits = float64(of), 32
	default:
		return json.Marshal(v.of)
	}
	if math.IsNaN(number) || math.IsInf(number, 0) {
		return nil, fmt.Errorf("write number %v: not finite", number)
	}
	text := strconv.FormatFloat(number, 'g', -1, bits)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return []byte(text), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (v *wireValue) UnmarshalJSON(data []byte) error {
	var number json.Number
	if len(data) > 0 && data[0] != '"' && json.Unmarshal(data, &number) == nil && number != "" {
		if n, err := strconv.ParseInt(number.String(), 10, 64); err == nil {
			v.of = n
			return nil
		}
	}
	return json.Unmarshal(data, &v.of)
}
