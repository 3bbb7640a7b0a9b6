package kafka

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/iotenablers/enablers/annotate"
)

// Type is the kind of broker, as the REST interface names it.
const Type annotate.BrokerType = "KAFKA"

// Settings are a connection to a Kafka cluster, as annotate.Topic has them.
// Encoded as JSON, printed or logged they show that there are credentials but
// not what they are.
type Settings struct {
	// Protocol is Kafka's security.protocol: "PLAINTEXT", "SSL",
	// "SASL_PLAINTEXT" or "SASL_SSL". Empty means SASL_PLAINTEXT for settings
	// with a user and PLAINTEXT for others.
	Protocol string `json:"protocol,omitempty"`
	// Host and Port are where one broker of the cluster is; required.
	Host string `json:"host"`
	Port int    `json:"port"`
	// GroupID is the consumer group; empty means a generated one.
	GroupID string `json:"groupId,omitempty"`
	// OffsetReset is where a group starts that the cluster does not know: with
	// messages that come from now on, "latest", or with the oldest that are there,
	// "earliest". Empty means latest.
	OffsetReset string `json:"offsetReset,omitempty"`
	// Mechanism is the SASL mechanism: "PLAIN", "SCRAM-SHA-256" or
	// "SCRAM-SHA-512". Empty means PLAIN.
	Mechanism string `json:"saslMechanism,omitempty"`
	User      string `json:"user,omitempty"`
	Password  string `json:"password,omitempty"`
}

// Values of Settings.
const (
	Plaintext     = "PLAINTEXT"
	SSL           = "SSL"
	SASLPlaintext = "SASL_PLAINTEXT"
	SASLSSL       = "SASL_SSL"

	Latest   = "latest"
	Earliest = "earliest"

	Plain       = "PLAIN"
	ScramSHA256 = "SCRAM-SHA-256"
	ScramSHA512 = "SCRAM-SHA-512"
)

// SecurityProtocol returns Protocol, or what it means when it is empty.
func (s Settings) SecurityProtocol() string {
	if s.User != "" {
		return cmp.Or(s.Protocol, SASLPlaintext)
	}
	return cmp.Or(s.Protocol, Plaintext)
}

// MarshalJSON encodes the settings with the credentials masked.
func (s Settings) MarshalJSON() ([]byte, error) {
	type plain Settings
	s.User, s.Password = annotate.Mask(s.User), annotate.Mask(s.Password)
	return json.Marshal(plain(s))
}

// String returns the address and the consumer group, without credentials.
func (s Settings) String() string {
	return fmt.Sprintf("%s://%s:%d (group %q)", s.SecurityProtocol(), s.Host, s.Port, s.GroupID)
}

// GoString is String, so that %#v shows no credentials either.
func (s Settings) GoString() string { return s.String() }

// Subscriber returns the consumer group.
func (s Settings) Subscriber() string { return s.GroupID }

// Secrets returns user and password.
func (s Settings) Secrets() []annotate.Secret {
	return []annotate.Secret{{Member: "user", Value: s.User}, {Member: "password", Value: s.Password}}
}

// WithSecrets returns the settings with other credentials.
func (s Settings) WithSecrets(secrets []annotate.Secret) annotate.Settings {
	annotate.AssignSecrets(secrets, map[string]*string{"user": &s.User, "password": &s.Password})
	return s
}

// Destination returns security protocol, host, port and SASL mechanism: PLAIN sends the password itself,
// the others do not.
func (s Settings) Destination() string {
	return fmt.Sprintf("%s://%s:%d %s", s.SecurityProtocol(), s.Host, s.Port, cmp.Or(s.Mechanism, Plain))
}

// Defaults are the settings of topics that have none. A zero field means the
// value that its comment names.
type Defaults struct {
	// Host and Port are where one broker of the cluster is; zero means
	// 127.0.0.1 and 9093.
	Host string
	Port int
}
