package flcollect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/storage"
)

// maxConfig bounds a stored configuration in bytes.
const maxConfig = 1 << 20

// storedConfig is a [Config] as it is stored. Equal configurations have equal
// JSON.
type storedConfig struct {
	Strategy        string              `json:"strategy"`
	ModelName       string              `json:"model_name,omitempty"`
	ModelVersion    string              `json:"model_version,omitempty"`
	AdaptConfig     string              `json:"adapt_config,omitempty"`
	Rounds          int                 `json:"rounds"`
	RoundTimeout    time.Duration       `json:"round_timeout_ns,omitempty"`
	StrategyConf    map[string]scalar   `json:"strategy_conf,omitempty"`
	ClientConf      []map[string]scalar `json:"client_conf,omitempty"`
	ConfigurationID string              `json:"configuration_id,omitempty"`
	Stopping        bool                `json:"stopping,omitempty"`
	Targets         map[string]float64  `json:"targets,omitempty"`
}

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
	s := storedConfig{
		Strategy: c.Strategy, ModelName: c.ModelName, ModelVersion: c.ModelVersion, AdaptConfig: c.AdaptConfig,
		Rounds: c.Rounds, RoundTimeout: c.RoundTimeout, StrategyConf: toScalars(c.StrategyConf),
		ConfigurationID: c.ConfigurationID, Stopping: c.Stopping, Targets: c.Targets,
	}
	for _, conf := range c.ClientConf {
		s.ClientConf = append(s.ClientConf, toScalars(conf))
	}
	data, err := json.Marshal(s)
	if err != nil {
		return s, nil, fmt.Errorf("%w: configuration: %w", ErrInvalid, err)
	}
	if len(data) > maxConfig {
		return s, nil, fmt.Errorf("%w: a configuration of %d bytes, at most %d", ErrInvalid, len(data), maxConfig)
	}
	var again storedConfig // the values as they are after a restart
	if err := json.Unmarshal(data, &again); err != nil {
		return s, nil, fmt.Errorf("%w: configuration: %w", ErrInvalid, err)
	}
	data, err = json.Marshal(again)
	return again, data, err
}

// config returns the configuration, which shares nothing.
func (s storedConfig) config() Config {
	c := Config{
		Strategy: s.Strategy, ModelName: s.ModelName, ModelVersion: s.ModelVersion, AdaptConfig: s.AdaptConfig,
		Rounds: s.Rounds, RoundTimeout: s.RoundTimeout, StrategyConf: strategy.Conf(fromScalars(s.StrategyConf)),
		ConfigurationID: s.ConfigurationID, Stopping: s.Stopping,
	}
	for _, conf := range s.ClientConf {
		c.ClientConf = append(c.ClientConf, fromScalars(conf))
	}
	if s.Targets != nil {
		c.Targets = make(map[string]float64, len(s.Targets))
		for name, target := range s.Targets {
			c.Targets[name] = target
		}
	}
	return c
}

// same reports whether the JSON is that of the configuration.
func (s storedConfig) same(data []byte) bool {
	own, err := json.Marshal(s)
	return err == nil && bytes.Equal(own, data)
}

func toScalars(values map[string]any) map[string]scalar {
	var scalars map[string]scalar
	for name, v := range values {
		if v == nil {
			continue // not given
		}
		if scalars == nil {
			scalars = make(map[string]scalar, len(values))
		}
		scalars[name] = scalar{v}
	}
	return scalars
}

func fromScalars(scalars map[string]scalar) map[string]any {
	if scalars == nil {
		return nil
	}
	values := make(map[string]any, len(scalars))
	for name, s := range scalars {
		values[name] = s.value
	}
	return values
}

// scalar is a string, int64, float64 or bool whose type survives JSON: a float64
// has a point or an exponent there, an int64 has none.
type scalar struct{ value any }

// MarshalJSON implements [json.Marshaler].
func (s scalar) MarshalJSON() ([]byte, error) {
	switch v := s.value.(type) {
	case json.Number:
		return []byte(v), nil
	case string, bool:
		return json.Marshal(v)
	}
	switch v := reflect.ValueOf(s.value); {
	case v.CanInt():
		return strconv.AppendInt(nil, v.Int(), 10), nil
	case v.CanUint() && v.Uint() <= math.MaxInt64:
		return strconv.AppendUint(nil, v.Uint(), 10), nil
	case v.CanFloat() && !math.IsNaN(v.Float()) && !math.IsInf(v.Float(), 0):
		text := strconv.FormatFloat(v.Float(), 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return []byte(text), nil
	}
	return nil, fmt.Errorf("%v of type %T is neither text, number nor truth value", s.value, s.value)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *scalar) UnmarshalJSON(data []byte) (err error) {
	if strings.IndexByte(`"tf`, data[0]) >= 0 {
		return json.Unmarshal(data, &s.value)
	}
	if !bytes.ContainsAny(data, ".eE") {
		s.value, err = strconv.ParseInt(string(data), 10, 64)
		return err
	}
	s.value, err = strconv.ParseFloat(string(data), 64)
	return err
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
