package annotate

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// BrokerType names a kind of broker, as the member brokerType of the REST
// interface has it: "MQTT", "KAFKA".
type BrokerType string

// Driver is a kind of broker: a name, a driver that opens the connections, and
// a driver that knows the settings of a connection. The packages of the drivers
// create one: mqtt.Driver, kafka.Driver, and [MemoryDriver] here.
type Driver struct {
	// Type is the name of the kind; required.
	Type BrokerType
	// Title is the name in texts; empty means Type.
	Title string
	// Member is the name of the JSON member that holds the settings, such as
	// "mqttSettings"; required, and different for each kind.
	Member string
	// Broker opens the connections; required.
	Broker Broker
	// Settings handles the settings of connections; required.
	Settings SettingsDriver
	// Window is the number of messages that a channel has in flight when both
	// of its ends are of this kind or of kinds with larger windows. Zero means
	// [DefaultWindow].
	Window int
	// Distributed means that several instances can run one channel at the same
	// time, with the broker sharing out the messages of an input topic.
	Distributed bool
	// ExactlyOnce means that Broker can be a [Transactor].
	ExactlyOnce bool
	// OutputOnly means that the kind is a store rather than a broker: it can only be the
	// output of a channel, and a topic without settings is refused. Complete of Settings
	// returns nil for nil settings. Outputs have a [Message.ID], by which a message that is
	// published again replaces itself.
	OutputOnly bool
	// Format is the serialisation that Broker takes. Empty means the one of the mapping.
	Format OutputFormat
}

// title is the name in texts.
func (d *Driver) title() string {
	if d.Title == "" {
		return string(d.Type)
	}
	return d.Title
}

// Settings are the settings of a connection, in the type of the driver. They
// are values: nothing changes them, and copies are independent. Printed, logged
// or encoded as JSON they show no secret.
type Settings interface {
	// MarshalJSON returns the REST form, with [Masked] in place of each secret that
	// is set. [SettingsDriver.Read] accepts that form.
	json.Marshaler
	// String returns the address of the connection, without secrets.
	fmt.Stringer
	// Subscriber returns the name under which the broker keeps a subscription,
	// such as an MQTT client identifier or a Kafka consumer group. Empty means
	// that the broker keeps none.
	Subscriber() string
	// Secrets returns the members that are stored encrypted and shown masked,
	// always the same ones in the same order, with their values. Where they are sent
	// is what [DestinationSettings] says.
	Secrets() []Secret
	// WithSecrets returns the settings with other values of the secrets. It
	// ignores members that are not secret.
	WithSecrets(secrets []Secret) Settings
}

// Secret is a member of settings that must not be shown, such as a password.
type Secret struct{ Member, Value string }

// AssignSecrets sets the values of the secrets, by the names of their members, for
// [Settings].WithSecrets. It ignores other members.
func AssignSecrets(secrets []Secret, members map[string]*string) {
	for _, secret := range secrets {
		if value := members[secret.Member]; value != nil {
			*value = secret.Value
		}
	}
}

// Masked stands for a secret wherever settings are shown.
const Masked = "********"

// Mask returns Masked for a secret that is set, and nothing for another.
func Mask(secret string) string {
	if secret == "" {
		return ""
	}
	return Masked
}

// DestinationSettings are [Settings] that say where their secrets are sent. Of other settings every
// member that is not secret counts as a part of the destination.
type DestinationSettings interface {
	// Destination returns what identifies the server that receives the secrets and the way in
	// which it receives them: the address, and a protocol or mechanism that protects them.
	// It has no secrets.
	Destination() string
}

// SameDestination reports whether two settings of a kind of broker send their secrets to the same
// server in the same way. Only then [Masked] in one of them can stand for a secret of the other.
func SameDestination(a, b Settings) bool {
	x, ok := a.(DestinationSettings)
	y, also := b.(DestinationSettings)
	if ok && also {
		return x.Destination() == y.Destination()
	}
	one, err := publicMembers(a)
	other, otherErr := publicMembers(b)
	return err == nil && otherErr == nil && reflect.DeepEqual(one, other)
}

// publicMembers returns the members of settings that are not secret.
func publicMembers(s Settings) (map[string]json.RawMessage, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	for _, secret := range s.Secrets() {
		delete(members, secret.Member)
	}
	return members, nil
}

// SettingsDriver handles the settings of one kind of broker. It does no I/O.
// Implementations are safe for concurrent use. The suite brokertest.Settings
// holds them to their contract.
type SettingsDriver interface {
	// Read reads settings from a JSON object, in the form in which clients of
	// the REST interface send them and in which settings are stored. Members
	// that it does not know are ignored, and one that is null counts as absent.
	// Errors are a [*FieldError] with the name of the member.
	Read(object []byte) (Settings, error)
	// Complete returns the settings with every value filled in that is absent:
	// defaults, and names that are generated for a topic of the channel.
	// Settings are nil where a topic has none. Complete settings stay as they
	// are. The result is accepted by Check if the settings are.
	Complete(settings Settings, role TopicRole, channel string) Settings
	// Check returns a [*FieldError] for a topic that cannot be connected to:
	// its name, as member "topic", or complete settings, as Member.name.
	Check(topic Topic, role TopicRole) error
	// Default returns what a topic without settings is connected with, for
	// GET /settings. Names that are generated are shown by their prefix.
	Default(role TopicRole) Settings
}

// DistributedDriver is a [SettingsDriver] that prepares the input topic of a
// distributed channel, which several instances subscribe to.
type DistributedDriver interface {
	// Distribute returns the topic with settings by which the subscriptions of
	// all instances of the channel share the messages.
	Distribute(input Topic, channel string) Topic
}

// TransactionDriver is a [SettingsDriver] that checks the topics of a channel
// that works exactly once.
type TransactionDriver interface {
	// CheckTransaction returns why output and input cannot be part of one
	// transaction. Both topics are of this kind, and have complete settings.
	CheckTransaction(input, output Topic) error
}

// Session is what a broker identifies a connection by, where it accepts only
// one connection of an identity: an MQTT session. A second connection ends the
// first one.
type Session struct {
	// Broker is the address of the broker.
	Broker string
	// Name is the identity, and Member the JSON member that holds it, such as
	// "mqttSettings.clientId".
	Name, Member string
}

// SessionSettings are [Settings] of a connection that is a session.
type SessionSettings interface {
	// Session returns the session; ok is false if the settings have none.
	Session() (s Session, ok bool)
}

// SubscriptionSettings are [Settings] of an input whose subscription has more to tell it from
// others than the topic and its Subscriber.
type SubscriptionSettings interface {
	// Subscription returns what tells a subscription on the topic from others at one broker.
	Subscription(topic string) string
}

// TrialDriver is a [SettingsDriver] for whose connections the broker keeps something.
type TrialDriver interface {
	// Trial returns the topic as [Environment.TryConnection] connects to it: with the address and
	// the credentials of its settings, and without the names by which the broker would
	// take the connection for one of a channel, or share the messages of one with it.
	Trial(topic Topic, role TopicRole) Topic
}

// FormDriver is a [SettingsDriver] that says how a form shows its settings.
type FormDriver interface {
	// Fields returns the members that people set, in the order of the form. The secret ones
	// are those of [Settings.Secrets].
	Fields(role TopicRole) []Field
}

// Field is a member of settings in a form.
type Field struct {
	// Member is its name, and Title that in the form.
	Member, Title string
	// Choices are the values that it can have. Empty means that any text is possible.
	Choices []string
	// IsNumber means that the value is an integer.
	IsNumber bool
	// IsOwn means that each connection has its own value, such as a client identifier,
	// also where connections lead to the same broker.
	IsOwn bool
	// Hint describes what an empty value means, in a few words.
	Hint string
}

// FieldError selects which member of a channel is wrong, and what was expected.
type FieldError struct {
	// Field is the path of the member in the REST form of the channel, such as
	// "settings.inputTopicSettings.topic"; empty for the document itself.
	Field string
	// Reason describes what is wrong and what was expected.
	Reason string
}

// Error returns the path and the reason.
func (e *FieldError) Error() string {
	if e.Field == "" {
		return e.Reason
	}
	return e.Field + ": " + e.Reason
}

// Below returns the error of a part of a document as one of the whole: path is
// where the part is. It returns other errors as a FieldError about the part.
func Below(path string, err error) error {
	var field *FieldError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &field):
		return &FieldError{path, err.Error()}
	case field.Field == "":
		return &FieldError{path, field.Reason}
	}
	return &FieldError{path + "." + field.Field, field.Reason}
}
