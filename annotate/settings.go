package annotate

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
)

// BrokerType names the kind of broker that a topic lives on.
type BrokerType string

// The broker types of the REST contract, spelled as clients send them.
const (
	MQTT  BrokerType = "MQTT"
	Kafka BrokerType = "KAFKA"
)

// ChannelConfig is a channel as clients describe it: what it connects, what
// mapping it applies, and whether it runs. Decoding it from JSON accepts every
// spelling that clients of the contract use and reports a [*FieldError] for
// what is wrong; members it does not know are ignored. Encoding it yields the
// contract's output form, with user names and passwords masked.
type ChannelConfig struct {
	Settings Settings `json:"settings"`
	Metadata Metadata `json:"metadata"`
	Status   Status   `json:"status"`
}

// Settings says where a channel's topics are and how much work it does at once.
type Settings struct {
	// ChannelID identifies the channel. Empty means one is generated.
	ChannelID string `json:"channelId"`
	// Input and Output are required.
	Input  TopicSettings `json:"inputTopicSettings"`
	Output TopicSettings `json:"outputTopicSettings"`
	// MonitorInput and MonitorOutput receive a short note for each message
	// that came in and that went out; nil means there is no such topic.
	MonitorInput  *TopicSettings `json:"monitoringInputTopicSettings,omitempty"`
	MonitorOutput *TopicSettings `json:"monitoringOutputTopicSettings,omitempty"`
	// Error receives a text for each message that could not be annotated; nil
	// means there is no such topic.
	Error *TopicSettings `json:"errorTopicSettings,omitempty"`
	// Parallelism is the number of messages that are mapped at the same time,
	// 1 to 256. Zero means the configured default, 2.
	Parallelism int `json:"parallelism,omitempty"`
	// BufferSize is the number of messages that wait for each mapper, 1 to
	// 65,536. Zero means the configured default, 10.
	BufferSize int `json:"bufferSize,omitempty"`
	// ErrorFormat is the form of error messages; empty means ErrorText.
	ErrorFormat ErrorFormat `json:"errorFormat,omitempty"`
	// ExactlyOnce publishes each output and acknowledges its input in one
	// transaction. Input and output must be topics of one Kafka cluster, and
	// consumers of the output read only what is committed. Without it a
	// message comes at least once.
	ExactlyOnce bool `json:"exactlyOnce,omitempty"`
	// Distributed runs the channel on every service instance that shares the
	// storage, with the broker sharing out the messages: the partitions of a
	// Kafka topic, or an MQTT topic by a shared subscription, for which order
	// then holds within an instance only. Without it one instance runs the
	// channel, and another takes over when that one dies.
	Distributed bool `json:"distributed,omitempty"`
}

// ErrorFormat is the form of the messages on an error topic.
type ErrorFormat string

// The forms of error messages.
const (
	// ErrorText is one line of text, the form of the original service.
	ErrorText ErrorFormat = "TEXT"
	// ErrorJSON is a JSON object: channel, time, reason, the place in the
	// message and in the mapping, and the size and hash of the payload.
	ErrorJSON ErrorFormat = "JSON"
)

// TopicSettings says where a topic is. The JSON names are the REST contract's.
type TopicSettings struct {
	// Topic is the topic's name; required. An MQTT input may have wildcards.
	Topic string `json:"topic"`
	// BrokerType says which of the two settings below is used; required.
	BrokerType BrokerType `json:"brokerType"`
	// Kafka is the Kafka connection; nil means the configured default.
	Kafka *KafkaSettings `json:"kafkaSettings,omitempty"`
	// MQTT is the MQTT connection; nil means the configured default.
	MQTT *MQTTSettings `json:"mqttSettings,omitempty"`
}

// Metadata describes a channel and holds its mapping.
type Metadata struct {
	Name        string   `json:"name,omitempty"`
	Author      string   `json:"author,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Mapping     Mapping  `json:"mapping"`
}

// Mapping is an annotation: an RML or CARML mapping with what it reads and
// writes. Encoding it adds the member rmlHash.
type Mapping struct {
	Name        string   `json:"name,omitempty"`
	Author      string   `json:"author,omitempty"`
	Version     string   `json:"version,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	// InputFormat and OutputFormat are required.
	InputFormat  InputFormat  `json:"inputFormat"`
	OutputFormat OutputFormat `json:"outputFormat"`
	// RML is the mapping as a Turtle document; required.
	RML string `json:"rml,omitempty"`
}

// InputFormat names the format of the messages that come in.
type InputFormat string

// The input formats of the REST contract.
const (
	JSON InputFormat = "JSON"
	CSV  InputFormat = "CSV"
	XML  InputFormat = "XML"
)

// OutputFormat names the RDF serialisation of the messages that go out.
type OutputFormat string

// The output formats: TTL and JSONLD are the REST contract's, the others are
// added by this implementation.
const (
	Turtle   OutputFormat = "TTL"
	JSONLD   OutputFormat = "JSONLD"
	NTriples OutputFormat = "NTRIPLES"
	NQuads   OutputFormat = "NQUADS"
	TriG     OutputFormat = "TRIG"
)

// Hash returns the upper-case hexadecimal SHA-256 of the mapping's text.
func (m Mapping) Hash() string {
	return fmt.Sprintf("%X", sha256.Sum256([]byte(m.RML)))
}

// MarshalJSON encodes the mapping with its hash.
func (m Mapping) MarshalJSON() ([]byte, error) { return m.encode(true) }

// encode encodes the mapping with its hash, and with its text if asked for.
func (m Mapping) encode(withRML bool) ([]byte, error) {
	type plain Mapping
	hashed := struct {
		plain
		Hash string `json:"rmlHash"`
	}{plain(m), m.Hash()}
	if !withRML {
		hashed.RML = ""
	}
	return json.Marshal(hashed)
}

// Status says whether a channel runs and which of its optional topics are on.
type Status struct {
	// IsStopped is true for a channel that does not run.
	IsStopped bool `json:"isStopped"`
	// The switches of the optional topics. In a request nil means on; in an
	// answer nil means that the topic is not configured.
	InputMonitorTopicEnabled  *bool `json:"inputMonitorTopicEnabled,omitempty"`
	OutputMonitorTopicEnabled *bool `json:"outputMonitorTopicEnabled,omitempty"`
	ErrorTopicEnabled         *bool `json:"errorTopicEnabled,omitempty"`
	// Error says why the channel does not run although it should, or what it
	// is waiting for; empty when all is well.
	Error string `json:"error,omitempty"`
	// Retrying says that the channel does not run, should, and is going to be
	// started again without anybody asking. It is set in answers only.
	Retrying bool `json:"retrying,omitempty"`
	// Instance is the service instance that runs the channel, where several
	// share the storage. It is set in answers only.
	Instance string `json:"instance,omitempty"`
}

// StatusUpdate is the change that a PATCH asks for; nil leaves a member as it
// is. A switch of a topic that is not configured has no effect.
type StatusUpdate struct {
	IsStopped                 *bool
	InputMonitorTopicEnabled  *bool
	OutputMonitorTopicEnabled *bool
	ErrorTopicEnabled         *bool
	// HasError says that the request had an "error" member, which is the
	// service's to set and changes nothing.
	HasError bool
}

// IsEmpty reports whether the update has no known member at all.
func (u StatusUpdate) IsEmpty() bool { return u == StatusUpdate{} }

// topics returns the configured topics with their JSON names, input first.
func (s *Settings) topics() []namedTopic {
	all := []namedTopic{
		{"inputTopicSettings", &s.Input},
		{"outputTopicSettings", &s.Output},
		{"monitorInputTopicSettings", s.MonitorInput},
		{"monitorOutputTopicSettings", s.MonitorOutput},
		{"errorTopicSettings", s.Error},
	}
	configured := all[:0]
	for _, topic := range all {
		if topic.TopicSettings != nil {
			configured = append(configured, topic)
		}
	}
	return configured
}

type namedTopic struct {
	name string
	*TopicSettings
}

// clone returns a copy that shares nothing with the original.
func (c ChannelConfig) clone() ChannelConfig {
	s := &c.Settings
	s.MonitorInput, s.MonitorOutput, s.Error = clone(s.MonitorInput), clone(s.MonitorOutput), clone(s.Error)
	for _, topic := range s.topics() {
		topic.Kafka, topic.MQTT = clone(topic.Kafka), clone(topic.MQTT)
	}
	st := &c.Status
	st.InputMonitorTopicEnabled = clone(st.InputMonitorTopicEnabled)
	st.OutputMonitorTopicEnabled = clone(st.OutputMonitorTopicEnabled)
	st.ErrorTopicEnabled = clone(st.ErrorTopicEnabled)
	c.Metadata.Tags = append([]string(nil), c.Metadata.Tags...)
	c.Metadata.Mapping.Tags = append([]string(nil), c.Metadata.Mapping.Tags...)
	return c
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	copied := *p
	return &copied
}

// withoutSpace removes white space, which channel identifiers never have.
func withoutSpace(s string) string { return strings.Join(strings.Fields(s), "") }
