package kafka

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/members"
)

// ChannelWindow is the number of messages in flight of a channel from Kafka to
// Kafka, whose brokers confirm in batches.
const ChannelWindow = 4096

// Driver is Kafka as a kind of broker of an annotate.Environment. The broker
// opens the connections: one created by [New], or another that reads
// [Settings]. defaults may be nil.
func Driver(broker annotate.Broker, defaults *Defaults) annotate.Driver {
	var d Defaults
	if defaults != nil {
		d = *defaults
	}
	d.Host, d.Port = cmp.Or(d.Host, "127.0.0.1"), cmp.Or(d.Port, 9093)
	settings := settingsDriver{defaults: d}
	if b, ok := broker.(*Broker); ok && b != nil {
		settings.hosts = b.opts.Hosts
	}
	return annotate.Driver{
		Type: Type, Title: "Kafka", Member: "kafkaSettings",
		Broker: broker, Settings: settings, Window: ChannelWindow,
		Distributed: true, ExactlyOnce: true,
	}
}

// settingsDriver is the annotate.SettingsDriver of Kafka.
type settingsDriver struct {
	defaults Defaults
	hosts    *annotate.BrokerHosts
}

// Read implements annotate.SettingsDriver.
func (settingsDriver) Read(object []byte) (annotate.Settings, error) {
	o, err := members.Parse(object)
	if err != nil {
		return nil, err
	}
	s := Settings{
		Protocol:    o.Choice("protocol", Plaintext, SSL, SASLPlaintext, SASLSSL),
		Host:        o.RequiredText("host"),
		Port:        o.RequiredInteger("port", 1, 65535),
		GroupID:     o.Text("groupId"),
		OffsetReset: o.Choice("offsetReset", Latest, Earliest),
		Mechanism:   o.Choice("saslMechanism", Plain, ScramSHA256, ScramSHA512),
		User:        o.Text("user"),
		Password:    o.Text("password"),
	}
	return s, o.Err()
}

// Complete implements annotate.SettingsDriver.
func (d settingsDriver) Complete(
	settings annotate.Settings, role annotate.TopicRole, channel string,
) annotate.Settings {
	if settings == nil {
		settings = d.Default(role)
	}
	s, ok := settings.(Settings)
	if !ok {
		return settings
	}
	if s.GroupID == "" {
		s.GroupID = "group_" + channel + strings.ReplaceAll(uuid.NewString(), "-", "")
	}
	return s
}

// Default implements annotate.SettingsDriver.
func (d settingsDriver) Default(annotate.TopicRole) annotate.Settings {
	return Settings{Host: d.defaults.Host, Port: d.defaults.Port}
}

// Check implements annotate.SettingsDriver.
func (d settingsDriver) Check(topic annotate.Topic, _ annotate.TopicRole) error {
	if checkTopicName(topic.Name) != nil {
		return &annotate.FieldError{Field: "topic", Reason: fmt.Sprintf(
			"expected a Kafka topic name, 1 to 249 letters, digits, '.', '_' and '-', got %.60q", topic.Name)}
	}
	s, ok := topic.Settings.(Settings)
	if !ok {
		return &annotate.FieldError{Field: "kafkaSettings", Reason: fmt.Sprintf("expected kafka.Settings, got %T", topic.Settings)}
	}
	if err := s.checkUser(); err != nil {
		return err
	}
	return annotate.Below("kafkaSettings", d.hosts.Check(s.Host, s.Port))
}

// checkUser returns an *annotate.FieldError when user, protocol and mechanism
// contradict each other.
func (s Settings) checkUser() error {
	sasl := strings.HasPrefix(s.SecurityProtocol(), "SASL_")
	switch {
	case sasl && s.User == "":
		return &annotate.FieldError{Field: "kafkaSettings.user",
			Reason: fmt.Sprintf("required with protocol %s", s.Protocol)}
	case !sasl && s.User != "":
		return &annotate.FieldError{Field: "kafkaSettings.protocol",
			Reason: fmt.Sprintf("%s takes no user; expected SASL_PLAINTEXT or SASL_SSL", s.Protocol)}
	case !sasl && s.Mechanism != "":
		return &annotate.FieldError{Field: "kafkaSettings.saslMechanism",
			Reason: fmt.Sprintf("protocol %s has none; expected SASL_PLAINTEXT or SASL_SSL", s.SecurityProtocol())}
	}
	return nil
}

// CheckTransaction implements annotate.TransactionDriver: a transaction is one
// of a cluster.
func (settingsDriver) CheckTransaction(input, output annotate.Topic) error {
	in, inOK := input.Settings.(Settings)
	out, outOK := output.Settings.(Settings)
	if inOK && outOK && (in.Host != out.Host || in.Port != out.Port) {
		return fmt.Errorf("needs input and output on one cluster, got %s:%d and %s:%d", in.Host, in.Port, out.Host, out.Port)
	}
	return nil
}

// Trial implements annotate.TrialDriver: a consumer group of its own.
func (d settingsDriver) Trial(topic annotate.Topic, role annotate.TopicRole) annotate.Topic {
	if s, ok := topic.Settings.(Settings); ok {
		s.GroupID = ""
		topic.Settings = d.Complete(s, role, "trial")
	}
	return topic
}

// Fields implements annotate.FormDriver.
func (settingsDriver) Fields(role annotate.TopicRole) []annotate.Field {
	fields := []annotate.Field{
		{Member: "protocol", Title: "Security protocol", Choices: []string{Plaintext, SSL, SASLPlaintext, SASLSSL},
			Hint: "PLAINTEXT"},
		{Member: "host", Title: "Host"},
		{Member: "port", Title: "Port", IsNumber: true},
		{Member: "saslMechanism", Title: "SASL mechanism", Choices: []string{Plain, ScramSHA256, ScramSHA512}, Hint: "PLAIN"},
	}
	if role == annotate.InputTopic {
		fields = append(fields,
			annotate.Field{Member: "groupId", Title: "Consumer group", IsOwn: true, Hint: "generated"},
			annotate.Field{Member: "offsetReset", Title: "A new group begins with", Choices: []string{Latest, Earliest}, Hint: "latest"})
	}
	return fields
}
