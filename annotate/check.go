package annotate

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
	if err := s.checkDelivery(); err != nil {
		return err
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

// checkDelivery returns a *FieldError for guarantees that the brokers of the
// channel cannot give.
func (s *Settings) checkDelivery() error {
	if s.ErrorFormat != "" && s.ErrorFormat != ErrorText && s.ErrorFormat != ErrorJSON {
		return &FieldError{"settings.errorFormat", fmt.Sprintf("expected one of TEXT, JSON, got %q", s.ErrorFormat)}
	}
	if !s.ExactlyOnce {
		return nil
	}
	const field = "settings.exactlyOnce"
	in, out := s.Input, s.Output
	switch {
	case in.BrokerType != Kafka || out.BrokerType != Kafka:
		return &FieldError{field, fmt.Sprintf("needs Kafka for input and output, got %s and %s", in.BrokerType, out.BrokerType)}
	case in.Kafka.Host != out.Kafka.Host || in.Kafka.Port != out.Kafka.Port:
		return &FieldError{field, fmt.Sprintf("needs input and output on one cluster, got %s:%d and %s:%d",
			in.Kafka.Host, in.Kafka.Port, out.Kafka.Host, out.Kafka.Port)}
	case in.Topic == out.Topic:
		return &FieldError{field, fmt.Sprintf("input and output are the same topic %q", in.Topic)}
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
	if t.BrokerType == Kafka {
		return checkKafka(path+".kafkaSettings", t.Kafka)
	}
	return checkMQTT(path+".mqttSettings", t, isInput)
}

func checkKafka(path string, s *KafkaSettings) error {
	sasl := strings.HasPrefix(s.SecurityProtocol(), "SASL_")
	switch {
	case sasl && s.User == "":
		return &FieldError{path + ".user", fmt.Sprintf("required with protocol %s", s.Protocol)}
	case !sasl && s.User != "":
		return &FieldError{path + ".protocol", fmt.Sprintf("%s takes no user; expected SASL_PLAINTEXT or SASL_SSL", s.Protocol)}
	case !sasl && s.Mechanism != "":
		return &FieldError{path + ".saslMechanism", fmt.Sprintf("protocol %s has none; expected SASL_PLAINTEXT or SASL_SSL", s.SecurityProtocol())}
	}
	return nil
}

func checkMQTT(path string, t *TopicSettings, isInput bool) error {
	name := t.MQTT.ShareName
	switch {
	case name == "":
		return nil
	case !isInput:
		return &FieldError{path + ".shareName", "only an input topic can be shared"}
	case strings.ContainsAny(name, "/+#\x00") || !utf8.ValidString(name):
		// MQTT 5 section 4.8.2.
		return &FieldError{path + ".shareName", fmt.Sprintf("must not contain /, + or #, got %q", name)}
	case strings.HasPrefix(t.Topic, "$share/"):
		return &FieldError{path + ".shareName", "the topic has a share name already"}
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
