package annotate

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Defaults fill in what a channel's settings leave open. A zero field means
// the value that its comment names; so the zero Defaults are the
// specification's.
type Defaults struct {
	// Parallelism is the number of mappers of a channel; zero means 2.
	Parallelism int
	// BufferSize is the number of messages waiting for each mapper; zero
	// means 10.
	BufferSize int
	// MQTTProtocol, MQTTHost and MQTTPort are where a topic without
	// mqttSettings is; zero means tcp, 127.0.0.1 and 1883.
	MQTTProtocol, MQTTHost string
	MQTTPort               int
	// KafkaHost and KafkaPort are where a topic without kafkaSettings is; zero
	// means 127.0.0.1 and 9093.
	KafkaHost string
	KafkaPort int
	// ClientIDs are the prefixes of generated MQTT client identifiers.
	ClientIDs ClientIDs
}

// ClientIDs are the prefixes of generated MQTT client identifiers, one for
// each kind of topic. An empty one means "semann/" with source, sink, error,
// monitor/input and monitor/output.
type ClientIDs struct {
	Input, Output, Error, MonitorInput, MonitorOutput string
}

// filled returns the defaults with nothing left zero.
func (d Defaults) filled() Defaults {
	ids := d.ClientIDs
	return Defaults{
		Parallelism:  cmp.Or(d.Parallelism, 2),
		BufferSize:   cmp.Or(d.BufferSize, 10),
		MQTTProtocol: cmp.Or(d.MQTTProtocol, "tcp"),
		MQTTHost:     cmp.Or(d.MQTTHost, "127.0.0.1"),
		MQTTPort:     cmp.Or(d.MQTTPort, 1883),
		KafkaHost:    cmp.Or(d.KafkaHost, "127.0.0.1"),
		KafkaPort:    cmp.Or(d.KafkaPort, 9093),
		ClientIDs: ClientIDs{
			Input:         cmp.Or(ids.Input, "semann/source"),
			Output:        cmp.Or(ids.Output, "semann/sink"),
			Error:         cmp.Or(ids.Error, "semann/error"),
			MonitorInput:  cmp.Or(ids.MonitorInput, "semann/monitor/input"),
			MonitorOutput: cmp.Or(ids.MonitorOutput, "semann/monitor/output"),
		},
	}
}

// maxChannelID is the greatest length of a channel identifier in bytes. It
// leaves room for a prefix in a storage key.
const maxChannelID = 480

// materialise returns a copy of the configuration with every optional value
// filled in: identifier, connections, client identifiers, sizes, switches.
// What is there already stays, so that doing it again changes nothing.
func (c ChannelConfig) materialise(d Defaults) ChannelConfig {
	c, d = c.clone(), d.filled()
	s := &c.Settings
	if s.ChannelID == "" {
		s.ChannelID = newChannelID(s)
	}
	s.Parallelism = cmp.Or(s.Parallelism, d.Parallelism)
	s.BufferSize = cmp.Or(s.BufferSize, d.BufferSize)
	prefixes := map[string]string{
		"inputTopicSettings":         d.ClientIDs.Input,
		"outputTopicSettings":        d.ClientIDs.Output,
		"monitorInputTopicSettings":  d.ClientIDs.MonitorInput,
		"monitorOutputTopicSettings": d.ClientIDs.MonitorOutput,
		"errorTopicSettings":         d.ClientIDs.Error,
	}
	for _, topic := range s.topics() {
		if topic.Kafka == nil {
			topic.Kafka = &KafkaSettings{Host: d.KafkaHost, Port: d.KafkaPort}
		}
		if topic.Kafka.GroupID == "" {
			topic.Kafka.GroupID = "group_" + s.ChannelID + compactUUID()
		}
		if topic.MQTT == nil {
			topic.MQTT = &MQTTSettings{Protocol: d.MQTTProtocol, Host: d.MQTTHost, Port: d.MQTTPort}
		}
		if topic.MQTT.ClientID == "" {
			topic.MQTT.ClientID = newClientID(prefixes[topic.name], s.ChannelID)
		}
	}
	st := &c.Status
	st.InputMonitorTopicEnabled = switchOf(s.MonitorInput, st.InputMonitorTopicEnabled)
	st.OutputMonitorTopicEnabled = switchOf(s.MonitorOutput, st.OutputMonitorTopicEnabled)
	st.ErrorTopicEnabled = switchOf(s.Error, st.ErrorTopicEnabled)
	return c
}

// switchOf returns the switch of an optional topic: nil when the topic is not
// configured, and on unless it was set otherwise.
func switchOf(topic *TopicSettings, enabled *bool) *bool {
	if topic == nil {
		return nil
	}
	on := enabled == nil || *enabled
	return &on
}

// newChannelID makes an identifier out of the topics, the kinds of broker and
// a random part, by which identifiers differ whatever the topics. It consists of
// the characters that a URL holds as they are (RFC 3986 section 2.3), so that
// GET /channels/<identifier> needs no escapes. The original service took the
// topics over with their slashes; channels that were stored so keep their
// identifiers.
func newChannelID(s *Settings) string {
	return fmt.Sprintf("%s_%s_%s_%s_%s",
		idPart(s.Input.Topic), idPart(s.Output.Topic), s.Input.BrokerType, s.Output.BrokerType, uuid.NewString())
}

// idPart is what a topic contributes to an identifier: a hyphen for what a URL
// would escape, no white space, and not so much that the identifier becomes too
// long to be stored.
func idPart(topic string) string {
	const most = 200
	var part strings.Builder
	hyphen := false // whether the last character is one that stands for others
	for _, r := range withoutSpace(topic) {
		unreserved := r < utf8.RuneSelf && (r == '-' || r == '.' || r == '_' || r == '~' ||
			r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z')
		switch {
		case unreserved:
			part.WriteRune(r)
		case !hyphen:
			part.WriteByte('-')
		}
		hyphen = !unreserved
		if part.Len() == most {
			break
		}
	}
	return part.String()
}

// newClientID keeps the last 23 characters, the most that every MQTT 3.1.1
// broker must take; they come from the random part, so that no two are equal.
func newClientID(prefix, channelID string) string {
	id := prefix + "/" + channelID + compactUUID()
	return id[len(id)-23:]
}

func compactUUID() string { return strings.ReplaceAll(uuid.NewString(), "-", "") }
