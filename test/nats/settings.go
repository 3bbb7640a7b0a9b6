package nats

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/members"
)

// Type is the kind of broker, as the REST interface names it.
const Type annotate.BrokerType = "NATS"

// Settings are a connection to a NATS server with JetStream.
type Settings struct {
	// Host and Port are where the server is; required.
	Host string `json:"host"`
	Port int    `json:"port"`
	// Stream is the stream that has the subject; required for an input.
	Stream string `json:"stream,omitempty"`
	// Durable is the name of the subscription; empty means a generated one.
	Durable string `json:"durable,omitempty"`
	// Token authenticates the client.
	Token string `json:"token,omitempty"`
}

// MarshalJSON encodes the settings with the token masked.
func (s Settings) MarshalJSON() ([]byte, error) {
	type plain Settings
	s.Token = annotate.Mask(s.Token)
	return json.Marshal(plain(s))
}

// String returns the address and the name of the subscription.
func (s Settings) String() string {
	return fmt.Sprintf("nats://%s:%d (subscription %q)", s.Host, s.Port, s.Durable)
}

// GoString is String, so that %#v shows no token either.
func (s Settings) GoString() string { return s.String() }

// Subscriber returns the name of the subscription.
func (s Settings) Subscriber() string { return s.Durable }

// Secrets returns the token.
func (s Settings) Secrets() []annotate.Secret {
	return []annotate.Secret{{Member: "token", Value: s.Token}}
}

// WithSecrets returns the settings with another token.
func (s Settings) WithSecrets(secrets []annotate.Secret) annotate.Settings {
	for _, secret := range secrets {
		if secret.Member == "token" {
			s.Token = secret.Value
		}
	}
	return s
}

// Destination returns the address, which the token is sent to.
func (s Settings) Destination() string { return fmt.Sprintf("%s:%d", s.Host, s.Port) }

// Driver is NATS as a kind of broker of an annotate.Environment. Topics without
// settings use the defaults.
func Driver(defaults Settings) annotate.Driver {
	return annotate.Driver{
		Type: Type, Member: "natsSettings", Broker: Broker{}, Settings: settingsDriver{defaults},
	}
}

// settingsDriver is the annotate.SettingsDriver of NATS.
type settingsDriver struct{ defaults Settings }

// Read implements annotate.SettingsDriver.
func (settingsDriver) Read(object []byte) (annotate.Settings, error) {
	o, err := members.Parse(object)
	if err != nil {
		return nil, err
	}
	s := Settings{
		Host: o.RequiredText("host"), Port: o.RequiredInteger("port", 1, 65535),
		Stream: o.Text("stream"), Durable: o.Text("durable"), Token: o.Text("token"),
	}
	return s, o.Err()
}

// Complete implements annotate.SettingsDriver.
func (d settingsDriver) Complete(
	settings annotate.Settings, role annotate.TopicRole, channel string,
) annotate.Settings {
	if settings == nil {
		settings = d.defaults
	}
	s, ok := settings.(Settings)
	if ok && role == annotate.InputTopic && s.Durable == "" {
		s.Durable = channel
		return s
	}
	return settings
}

// Check implements annotate.SettingsDriver.
func (settingsDriver) Check(topic annotate.Topic, role annotate.TopicRole) error {
	s, ok := topic.Settings.(Settings)
	switch {
	case strings.TrimSpace(topic.Name) == "" || strings.ContainsAny(topic.Name, " \t\r\n"):
		return &annotate.FieldError{Field: "topic", Reason: fmt.Sprintf("expected a subject without spaces, got %q", topic.Name)}
	case role != annotate.InputTopic && strings.ContainsAny(topic.Name, "*>"):
		return &annotate.FieldError{Field: "topic", Reason: fmt.Sprintf("only the input may have wildcards, got %q", topic.Name)}
	case !ok:
		return &annotate.FieldError{Field: "natsSettings", Reason: fmt.Sprintf("expected nats.Settings, got %T", topic.Settings)}
	case role == annotate.InputTopic && s.Stream == "":
		return &annotate.FieldError{Field: "natsSettings.stream", Reason: "required for an input topic"}
	}
	return nil
}

// Default implements annotate.SettingsDriver.
func (d settingsDriver) Default(annotate.TopicRole) annotate.Settings { return d.defaults }
