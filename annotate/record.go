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
		for _, l := range topic.logins() {
			if *l.user == "" && *l.password == "" {
				continue
			}
			sealed, err := s.seal(config.Settings.ChannelID+" "+l.place, credentials{*l.user, *l.password})
			if err != nil {
				return nil, fmt.Errorf("encode channel %q: %w", config.Settings.ChannelID, err)
			}
			r.Credentials[l.place] = sealed
			*l.user, *l.password = "", ""
		}
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
		for _, l := range topic.logins() {
			stored, ok := sealed.Credentials[l.place]
			if !ok {
				continue
			}
			c, err := s.open(config.Settings.ChannelID+" "+l.place, stored)
			if err != nil {
				return config, fmt.Errorf("settings.%s: %w", l.field, err)
			}
			*l.user, *l.password = c.User, c.Password
		}
	}
	return config, nil
}
