package annotate

import (
	"encoding/json"
	"fmt"
)

// channelPrefix and annotationPrefix begin the keys of stored documents.
const (
	channelPrefix    = "channels/"
	annotationPrefix = "annotations/"
)

// record is a channel as it is stored: its output form, with the credentials
// apart, by the name of their topic.
type record struct {
	Settings    Settings          `json:"settings"`
	Metadata    Metadata          `json:"metadata"`
	Status      Status            `json:"status"`
	Credentials map[string]string `json:"credentials,omitempty"`
}

// encodeRecord returns the stored form of a channel.
func encodeRecord(config ChannelConfig, s sealer) ([]byte, error) {
	config = config.clone()
	r := record{config.Settings, config.Metadata, config.Status, map[string]string{}}
	for _, topic := range r.Settings.topics() {
		if topic.MQTT == nil || topic.MQTT.User == "" && topic.MQTT.Password == "" {
			continue
		}
		sealed, err := s.seal(config.Settings.ChannelID+" "+topic.name, credentials{topic.MQTT.User, topic.MQTT.Password})
		if err != nil {
			return nil, fmt.Errorf("encode channel %q: %w", config.Settings.ChannelID, err)
		}
		r.Credentials[topic.name] = sealed
		topic.MQTT.User, topic.MQTT.Password = "", ""
	}
	return json.Marshal(r)
}

// decodeRecord reads the stored form of a channel. When only the credentials
// cannot be read it returns the channel without them, and an error that
// matches ErrSecret.
func decodeRecord(data []byte, s sealer) (ChannelConfig, error) {
	var config ChannelConfig
	if err := json.Unmarshal(data, &config); err != nil {
		return config, err
	}
	var sealed struct {
		Credentials map[string]string `json:"credentials"`
	}
	if err := json.Unmarshal(data, &sealed); err != nil {
		return config, err
	}
	for _, topic := range config.Settings.topics() {
		stored, ok := sealed.Credentials[topic.name]
		if !ok || topic.MQTT == nil {
			continue
		}
		c, err := s.open(config.Settings.ChannelID+" "+topic.name, stored)
		if err != nil {
			return config, fmt.Errorf("settings.%s.mqttSettings: %w", topic.name, err)
		}
		topic.MQTT.User, topic.MQTT.Password = c.User, c.Password
	}
	return config, nil
}
