package annotate

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// ChannelConfig describes what a channel connects and what mapping it applies.
type ChannelConfig struct {
	// ID identifies the channel. Empty means that one is generated.
	ID string
	// Input and Output are required.
	Input, Output Topic
	// MonitorInput and MonitorOutput receive a short note for each message that was
	// received and for each that was published; nil means that there is no such
	// topic.
	MonitorInput, MonitorOutput *Topic
	// Error receives a text for each message that could not be annotated; nil
	// means that there is no such topic.
	Error *Topic
	// Off are the optional topics that are switched off at first.
	Off OptionalTopics
	// Mapping is applied to each message; required.
	Mapping Mapping
	// Parallelism is the number of messages that are mapped at the same time,
	// 1 to 256. Zero means the default of the environment, 2.
	Parallelism int
	// BufferSize is the number of messages that wait for each mapper, 1 to
	// 65,536. Zero means the default of the environment, 10.
	BufferSize int
	// ErrorFormat is the form of error messages; empty means [ErrorText].
	ErrorFormat ErrorFormat
	// Dialect is the reading of the mapping and of the messages, "rml" or "carml". Empty means
	// "carml" for a mapping that uses only the legacy vocabulary, and "rml" for others.
	Dialect string
	// ExactlyOnce publishes each output and acknowledges its input in one
	// transaction. Input and output must be topics of one broker whose driver
	// supports that: of one Kafka cluster. Consumers of the output must read
	// only what is committed. Without it a message comes at least once.
	ExactlyOnce bool
	// Distributed runs the channel on every service instance that shares the
	// storage, with the broker sharing out the messages: the partitions of a
	// Kafka topic, or an MQTT topic by a shared subscription, for which order
	// then holds within an instance only. Without it one instance runs the
	// channel, and another takes over when that one dies.
	Distributed bool
}

// OptionalTopics selects optional topics of a channel.
type OptionalTopics struct{ MonitorInput, MonitorOutput, Error bool }

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

// Topic is where a topic is.
type Topic struct {
	// Name is the topic's name; required. An input may have the wildcards of
	// its kind of broker.
	Name string
	// Broker is the kind of broker; required.
	Broker BrokerType
	// Settings are those of the connection, in the type of the driver. Nil
	// means the default of the driver.
	Settings Settings
}

// TopicRole is what a topic is for in a channel.
type TopicRole uint8

// The topics of a channel.
const (
	InputTopic TopicRole = iota
	OutputTopic
	MonitorInputTopic
	MonitorOutputTopic
	ErrorTopic
)

// String returns the name of the topic in errors and in stored documents.
func (r TopicRole) String() string {
	return [...]string{
		"inputTopicSettings", "outputTopicSettings",
		"monitorInputTopicSettings", "monitorOutputTopicSettings", "errorTopicSettings",
	}[r]
}

// RoleTopic is a topic of a channel with its role.
type RoleTopic struct {
	Role TopicRole
	*Topic
}

// Topics returns the topics that the channel has, input first. They are those
// of the configuration, not copies.
func (c *ChannelConfig) Topics() []RoleTopic {
	all := []RoleTopic{
		{InputTopic, &c.Input},
		{OutputTopic, &c.Output},
		{MonitorInputTopic, c.MonitorInput},
		{MonitorOutputTopic, c.MonitorOutput},
		{ErrorTopic, c.Error},
	}
	return slices.DeleteFunc(all, func(t RoleTopic) bool { return t.Topic == nil })
}

// Clone returns a copy that shares nothing with the original.
func (c ChannelConfig) Clone() ChannelConfig {
	c.MonitorInput, c.MonitorOutput, c.Error = clone(c.MonitorInput), clone(c.MonitorOutput), clone(c.Error)
	c.Mapping.Tags = slices.Clone(c.Mapping.Tags)
	return c
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	copied := *p
	return &copied
}

// Mapping is an annotation: an RML or CARML mapping with what it reads and
// writes.
type Mapping struct {
	Name        string
	Author      string
	Version     string
	Description string
	Tags        []string
	// InputFormat and OutputFormat are required.
	InputFormat  InputFormat
	OutputFormat OutputFormat
	// Language is the notation of the mapping; empty means [LanguageRML].
	Language MappingLanguage
	// RML is the mapping as a document in its Language; required.
	RML string
	// Shapes are shapes of SHACL Core as a Turtle document. A message whose output
	// violates one of them fails; see [ShapeError]. Empty means that nothing is checked.
	Shapes string
}

// MappingLanguage names the notation of a mapping.
type MappingLanguage string

// The notations: RML in Turtle, and YARRRML, which is RML in YAML.
const (
	LanguageRML     MappingLanguage = "RML"
	LanguageYARRRML MappingLanguage = "YARRRML"
)

// InputFormat names the format of the messages that come in.
type InputFormat string

// The input formats of the REST contract.
const (
	JSON InputFormat = "JSON"
	CSV  InputFormat = "CSV"
	XML  InputFormat = "XML"
)

// OutputFormat is the name of a syntax of package rdf in upper case: the syntax of
// the messages that a channel publishes.
type OutputFormat string

// Some output formats; [OutputFormats] returns all. TTL and JSONLD are the REST
// contract's, the others are added by this implementation.
const (
	Turtle   OutputFormat = "TTL"
	JSONLD   OutputFormat = "JSONLD"
	NTriples OutputFormat = "NTRIPLES"
	NQuads   OutputFormat = "NQUADS"
	TriG     OutputFormat = "TRIG"
)

// MappingLanguages returns all notations of mappings.
func MappingLanguages() []MappingLanguage { return []MappingLanguage{LanguageRML, LanguageYARRRML} }

// InputFormats returns all input formats.
func InputFormats() []InputFormat { return []InputFormat{JSON, CSV, XML} }

// OutputFormats returns all output formats: the two of the REST contract, then the
// other syntaxes of package rdf that can express every statement.
func OutputFormats() []OutputFormat {
	formats := []OutputFormat{Turtle, JSONLD}
	for _, f := range rdf.Formats() {
		if f != rdf.Turtle && f != rdf.JSONLD && !f.Syntax().Partial {
			formats = append(formats, OutputFormat(strings.ToUpper(f.String())))
		}
	}
	return formats
}

// Hash returns the upper-case hexadecimal SHA-256 of the mapping's text.
func (m Mapping) Hash() string {
	return fmt.Sprintf("%X", sha256.Sum256([]byte(m.RML)))
}
