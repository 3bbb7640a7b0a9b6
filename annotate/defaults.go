package annotate

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
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
// a random part.
func newChannelID(s *Settings) string {
	return fmt.Sprintf("%s_%s_%s_%s_%s",
		idPart(s.Input.Topic), idPart(s.Output.Topic), s.Input.BrokerType, s.Output.BrokerType, uuid.NewString())
}

// idPart is what a topic contributes to an identifier: no white space, and not
// so much that the identifier becomes too long to be stored.
func idPart(topic string) string {
	const most = 200
	topic = withoutSpace(strings.ToValidUTF8(topic, ""))
	for len(topic) > most {
		_, size := utf8.DecodeLastRuneInString(topic)
		topic = topic[:len(topic)-size]
	}
	return topic
}

// newClientID keeps the last 23 characters, the most that every MQTT 3.1.1
// broker must take; they come from the random part, so that no two are equal.
func newClientID(prefix, channelID string) string {
	id := prefix + "/" + channelID + compactUUID()
	return id[len(id)-23:]
}

func compactUUID() string { return strings.ReplaceAll(uuid.NewString(), "-", "") }

// check returns a *FieldError for the first thing that makes the channel
// impossible to run. It expects a materialised configuration.
func (c ChannelConfig) check() error {
	s := &c.Settings
	if err := checkChannelID(s.ChannelID); err != nil {
		return err
	}
	if s.Parallelism < 1 || s.Parallelism > 256 {
		return &FieldError{"settings.parallelism", fmt.Sprintf("expected an integer from 1 to 256, got %d", s.Parallelism)}
	}
	if s.BufferSize < 1 || s.BufferSize > 65536 {
		return &FieldError{"settings.bufferSize", fmt.Sprintf("expected an integer from 1 to 65536, got %d", s.BufferSize)}
	}
	sessions := map[mqttSession]string{}
	for _, topic := range s.topics() {
		if err := checkTopic("settings."+topic.name, topic.TopicSettings, topic.TopicSettings == &s.Input); err != nil {
			return err
		}
		session, ok := topic.session()
		if !ok {
			continue
		}
		if other, taken := sessions[session]; taken {
			return topic.sessionTaken(other)
		}
		sessions[session] = topic.name
	}
	return nil
}

// mqttSession is what a broker knows a connection by. A second connection of
// the same session ends the first one, and is given what waits for it (MQTT 5
// section 3.1.4).
type mqttSession struct {
	host     string
	port     int
	clientID string
}

// session returns the session of a topic that has one.
func (t namedTopic) session() (mqttSession, bool) {
	if t.BrokerType != MQTT || t.MQTT == nil || t.MQTT.ClientID == "" {
		return mqttSession{}, false
	}
	return mqttSession{t.MQTT.Host, t.MQTT.Port, t.MQTT.ClientID}, true
}

// sessionTaken refuses a client identifier that something else has.
func (t namedTopic) sessionTaken(other string) error {
	return &FieldError{"settings." + t.name + ".mqttSettings.clientId",
		fmt.Sprintf("is %q as in %s on the same broker, which would keep disconnecting one of the two; leave it out or choose another", t.MQTT.ClientID, other)}
}

// checkSessions returns a *FieldError when a topic has the MQTT session of a
// topic of the other channel.
func (s *Settings) checkSessions(other *Settings) error {
	theirs := map[mqttSession]string{}
	for _, topic := range other.topics() {
		if session, ok := topic.session(); ok {
			theirs[session] = topic.name
		}
	}
	for _, topic := range s.topics() {
		session, ok := topic.session()
		if name, taken := theirs[session]; ok && taken {
			return topic.sessionTaken(fmt.Sprintf("%s of channel %q", name, other.ChannelID))
		}
	}
	return nil
}

func checkChannelID(id string) error {
	const field = "settings.channelId"
	switch {
	case len(id) > maxChannelID:
		return &FieldError{field, fmt.Sprintf("expected at most %d bytes, got %d", maxChannelID, len(id))}
	case !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
		return &FieldError{field, "expected UTF-8 text without control characters"}
	case id == "." || id == "..":
		// Clients and proxies remove such a path segment (RFC 3986 section
		// 5.2.4), percent-encoded or not: they could not address the channel.
		return &FieldError{field, fmt.Sprintf("cannot be %q, which cannot stand in a URL", id)}
	}
	return nil
}

func checkTopic(path string, t *TopicSettings, isInput bool) error {
	if t.BrokerType != MQTT && t.BrokerType != Kafka {
		return &FieldError{path + ".brokerType", fmt.Sprintf("expected one of MQTT, KAFKA, got %q", t.BrokerType)}
	}
	var reason string
	switch {
	case strings.TrimSpace(t.Topic) == "":
		reason = "required, must not be empty"
	case t.BrokerType == Kafka:
		reason = kafkaTopicReason(t.Topic)
	case len(t.Topic) > 65535 || !utf8.ValidString(t.Topic) || strings.ContainsRune(t.Topic, 0):
		reason = "expected UTF-8 text of at most 65535 bytes without NUL"
	case isInput:
		reason = mqttFilterReason(t.Topic)
	case strings.ContainsAny(t.Topic, "+#"):
		reason = fmt.Sprintf("only the input topic may have the wildcards + and #, got %q", t.Topic)
	}
	if reason != "" {
		return &FieldError{path + ".topic", reason}
	}
	return nil
}

// mqttFilterReason says what is wrong with an MQTT topic filter, by MQTT 5
// section 4.7.1; it is empty when nothing is.
func mqttFilterReason(filter string) string {
	levels := strings.Split(filter, "/")
	for i, level := range levels {
		if level == "#" && i == len(levels)-1 || level == "+" || !strings.ContainsAny(level, "+#") {
			continue
		}
		return fmt.Sprintf("a wildcard must stand alone between slashes and # at the end, got %q", filter)
	}
	return ""
}

// kafkaTopicReason says what is wrong with a Kafka topic name.
func kafkaTopicReason(name string) string {
	legal := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)
	}
	if len(name) > 249 || name == "." || name == ".." || strings.ContainsFunc(name, func(r rune) bool { return !legal(r) }) {
		return fmt.Sprintf("expected a Kafka topic name, 1 to 249 letters, digits, '.', '_' and '-', got %.60q", name)
	}
	return ""
}
