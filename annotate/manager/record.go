package manager

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager/internal/channelform"
	"github.com/iotenablers/enablers/internal/keep"
)

// Prefixes of the keys of stored documents. Package fleet has others.
const (
	channelPrefix    = "channels/"
	annotationPrefix = "annotations/"
)

// record is what is stored of a channel: what is wanted of it, whichever
// instance runs it.
type record struct {
	ChannelConfig
	// Fault is why the channel was stopped, where it could not start.
	Fault string
	bookkeeping

	foreignCredentials map[string]string // of kinds of broker that have no driver, as stored
	unknown            keep.Members      // of the document
}

// bookkeeping is the part of a record that clients never see.
type bookkeeping struct {
	// Incarnation distinguishes channels that had one identifier in turn.
	Incarnation string `json:"incarnation,omitempty"`
	// Restarts counts the restarts that were requested; the instance that runs the
	// channel restarts it when the count increases.
	Restarts uint64 `json:"restarts,omitempty"`
	// Edits counts the changes of topics and settings; every instance gives its channel the
	// stored ones when the count increases.
	Edits uint64 `json:"edits,omitempty"`
	// Removing means that the channel is deleted for clients, and that the instance
	// that runs it has yet to stop it and to remove its subscription.
	Removing bool `json:"removing,omitempty"`
}

func (r record) clone() record {
	r.ChannelConfig = r.ChannelConfig.clone()
	r.foreignCredentials = maps.Clone(r.foreignCredentials)
	return r
}

// recordForm is a record as it is stored: the form of the channel, with the
// credentials apart.
type recordForm struct {
	channelform.Form
	Credentials map[string]string `json:"credentials,omitempty"`
	bookkeeping
}

// place returns where a record keeps the credentials of a topic for a kind of
// broker. Those of MQTT are under the name of the topic alone, from a time when
// only they were kept.
func place(role annotate.TopicRole, kind annotate.BrokerType) string {
	if kind == "MQTT" {
		return role.String()
	}
	return role.String() + " " + strings.ToLower(string(kind))
}

// encode returns the stored form of a channel.
func (r record) encode(f channelform.Forms, s sealer) ([]byte, error) {
	c := r.ChannelConfig.clone().Form()
	credentials := map[string]string{}
	maps.Copy(credentials, r.foreignCredentials)
	for _, topic := range c.Topics() {
		for _, d := range f.Drivers {
			settings := c.SettingsOf(topic, d.Type)
			if settings == nil || !channelform.HasSecrets(settings) {
				continue
			}
			at := place(topic.Role, d.Type)
			sealed, err := s.seal(r.ID+" "+at, settings.Secrets())
			if err != nil {
				return nil, fmt.Errorf("encode channel %q: %w", r.ID, err)
			}
			credentials[at] = sealed
			c.SetSettings(topic, d.Type, channelform.WithoutSecrets(settings))
		}
	}
	state := channelform.State{Stopped: r.Stopped, Off: r.Off, Error: r.Fault}
	return r.unknown.Marshal(recordForm{
		Form: channelform.Form{Settings: f.Settings(c), Metadata: c.Metadata(true),
			Status: channelform.StatusOf(&c.ChannelConfig, state)},
		Credentials: credentials,
		bookkeeping: r.bookkeeping,
	})
}

// decode reads the stored form of a channel. When only the credentials cannot be
// read it returns the channel without them, and an error that matches ErrSecret.
func decode(data []byte, f channelform.Forms, s sealer) (record, error) {
	var r record
	var hidden struct {
		Credentials map[string]string `json:"credentials"`
		bookkeeping
	}
	c, fault, err := f.ReadStored(data)
	if err != nil {
		return r, err
	}
	r.Fault = fault
	r.ChannelConfig = newChannelConfig(c)
	if err := json.Unmarshal(data, &hidden); err != nil {
		return r, err
	}
	r.bookkeeping, r.foreignCredentials = hidden.bookkeeping, hidden.Credentials
	r.unknown = findUnknown(data, f.Drivers)
	err = r.openCredentials(&c, f.Drivers, s)
	r.ChannelConfig = newChannelConfig(c)
	return r, err
}

// openCredentials puts the stored secrets into the settings of the channel.
func (r *record) openCredentials(c *channelform.Channel, drivers []annotate.Driver, s sealer) error {
	for _, topic := range c.Topics() {
		for _, d := range drivers {
			at := place(topic.Role, d.Type)
			stored, ok := r.foreignCredentials[at]
			settings := c.SettingsOf(topic, d.Type)
			if !ok || settings == nil {
				continue
			}
			secrets, err := s.open(c.ID+" "+at, stored)
			if err != nil {
				return fmt.Errorf("settings.%s.%s: %w", topic.Role, d.Member, err)
			}
			c.SetSettings(topic, d.Type, settings.WithSecrets(secrets))
			delete(r.foreignCredentials, at)
		}
	}
	return nil
}

// findUnknown returns the members of a stored channel that this version does not have:
// those of the record, and those of the settings of each driver. The settings of kinds of
// broker that have no driver are kept with the topic.
func findUnknown(data []byte, drivers []annotate.Driver) keep.Members {
	unknown := keep.Find(data, recordForm{})
	var stored struct {
		Settings map[string]json.RawMessage `json:"settings"`
	}
	if json.Unmarshal(data, &stored) != nil {
		return unknown
	}
	for name, text := range stored.Settings {
		var topic map[string]json.RawMessage
		if !strings.HasSuffix(name, "TopicSettings") || json.Unmarshal(text, &topic) != nil {
			continue
		}
		for _, d := range drivers {
			if its := keep.Find(topic[d.Member], d.Settings.Default(annotate.InputTopic)); !its.IsZero() {
				unknown = unknown.Put(its, "settings", name, d.Member)
			}
		}
	}
	return unknown
}

// decodeBookkeeping reads what every service can read of a record, whatever
// its secret.
func decodeBookkeeping(data []byte) bookkeeping {
	var b bookkeeping
	_ = json.Unmarshal(data, &b) // what cannot be read is empty
	return b
}

// markRemoving returns a record with the mark that the channel is deleted. It
// does so without reading the rest, which may be sealed under a secret that
// this service does not have.
func markRemoving(data []byte) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil || members == nil {
		members = map[string]json.RawMessage{}
	}
	members["removing"] = json.RawMessage("true")
	return json.Marshal(members)
}
