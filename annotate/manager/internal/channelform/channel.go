package channelform

import (
	"encoding/json"
	"maps"

	"github.com/iotenablers/enablers/annotate"
)

// Channel is a channel as its JSON form describes it.
type Channel struct {
	annotate.ChannelConfig
	About About
	// Stopped says that the channel must not run.
	Stopped bool
	// Spare are the settings of topics for other kinds of broker than their own.
	Spare Spare
}

// About describes a channel.
type About struct {
	Name, Author, Description string
	Tags                      []string
}

// Spare has, by topic, settings for other kinds of broker than that of the topic, which
// clients may send and are shown.
type Spare map[annotate.TopicRole]spareSettings

// spareSettings are by kind of broker, and, where the service has no driver for
// it, by the name of the member.
type spareSettings struct {
	settings map[annotate.BrokerType]annotate.Settings
	foreign  map[string]json.RawMessage
}

// Clone returns a copy that shares nothing with the original.
func (s Spare) Clone() Spare {
	c := Spare{}
	for role, of := range s {
		c[role] = spareSettings{maps.Clone(of.settings), maps.Clone(of.foreign)}
	}
	return c
}

// SettingsOf returns the settings of a topic of the channel for a kind of broker, its own or
// spare ones; nil if it has none.
func (c *Channel) SettingsOf(topic annotate.RoleTopic, kind annotate.BrokerType) annotate.Settings {
	if topic.Broker == kind {
		return topic.Settings
	}
	return c.Spare[topic.Role].settings[kind]
}

// SetSettings replaces the settings of a topic of the channel for a kind of broker.
func (c *Channel) SetSettings(topic annotate.RoleTopic, kind annotate.BrokerType, s annotate.Settings) {
	if topic.Broker == kind {
		topic.Settings = s
		return
	}
	if c.Spare == nil {
		c.Spare = Spare{}
	}
	spare := c.Spare[topic.Role]
	if spare.settings == nil {
		spare.settings = map[annotate.BrokerType]annotate.Settings{}
	}
	spare.settings[kind] = s
	c.Spare[topic.Role] = spare
}
