package annotate

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// KafkaSettings is a connection to a Kafka cluster. Encoded as JSON, printed or
// logged it shows that there are credentials but not what they are.
type KafkaSettings struct {
	// Protocol is Kafka's security.protocol: "PLAINTEXT", "SSL",
	// "SASL_PLAINTEXT" or "SASL_SSL". Empty means SASL_PLAINTEXT for settings
	// with a user and PLAINTEXT for others.
	Protocol string `json:"protocol,omitempty"`
	// Host and Port are where one broker of the cluster is; required.
	Host string `json:"host"`
	Port int    `json:"port"`
	// GroupID is the consumer group; empty means a generated one.
	GroupID string `json:"groupId,omitempty"`
	// OffsetReset says where a group starts that the cluster does not know:
	// with messages that come from now on, "latest", or with the oldest that
	// are there, "earliest". Empty means latest.
	OffsetReset string `json:"offsetReset,omitempty"`
	// Mechanism is the SASL mechanism: "PLAIN", "SCRAM-SHA-256" or
	// "SCRAM-SHA-512". Empty means PLAIN.
	Mechanism string `json:"saslMechanism,omitempty"`
	User      string `json:"user,omitempty"`
	Password  string `json:"password,omitempty"`
}

// Values of KafkaSettings.
const (
	KafkaPlaintext     = "PLAINTEXT"
	KafkaSSL           = "SSL"
	KafkaSASLPlaintext = "SASL_PLAINTEXT"
	KafkaSASLSSL       = "SASL_SSL"

	KafkaLatest   = "latest"
	KafkaEarliest = "earliest"

	KafkaPlain       = "PLAIN"
	KafkaScramSHA256 = "SCRAM-SHA-256"
	KafkaScramSHA512 = "SCRAM-SHA-512"
)

// SecurityProtocol returns Protocol, or what it means when it is empty.
func (s KafkaSettings) SecurityProtocol() string {
	if s.User != "" {
		return cmp.Or(s.Protocol, KafkaSASLPlaintext)
	}
	return cmp.Or(s.Protocol, KafkaPlaintext)
}

// MarshalJSON encodes the settings with the credentials masked.
func (s KafkaSettings) MarshalJSON() ([]byte, error) {
	type plain KafkaSettings
	s.User, s.Password = mask(s.User), mask(s.Password)
	return json.Marshal(plain(s))
}

// String returns the address and the consumer group, without credentials.
func (s KafkaSettings) String() string {
	return fmt.Sprintf("%s://%s:%d (group %q)", s.SecurityProtocol(), s.Host, s.Port, s.GroupID)
}

// GoString is String, so that %#v shows no credentials either.
func (s KafkaSettings) GoString() string { return s.String() }

// login is where a connection's credentials are. A record keeps those of MQTT
// under the name of their topic, those of Kafka behind a suffix.
type login struct {
	place, field   string
	user, password *string
}

// logins returns where the credentials of a topic are, whether or not there
// are any.
func (t namedTopic) logins() []login {
	var logins []login
	if t.MQTT != nil {
		logins = append(logins, login{t.name, t.name + ".mqttSettings", &t.MQTT.User, &t.MQTT.Password})
	}
	if t.Kafka != nil {
		logins = append(logins, login{t.name + " kafka", t.name + ".kafkaSettings", &t.Kafka.User, &t.Kafka.Password})
	}
	return logins
}

// MQTTSettings is a connection to an MQTT broker. Encoded as JSON, printed or
// logged it shows that there are credentials but not what they are.
type MQTTSettings struct {
	// Protocol is "tcp", "mqtt", "ssl", "tls", "mqtts", "ws" or "wss".
	Protocol string `json:"protocol"`
	Host     string `json:"host"`
	Port     int    `json:"port"`
	// Version is the version of MQTT: "5" or "3.1.1". Empty means 5, or 3.1.1
	// with a broker that refuses 5.
	Version string `json:"version,omitempty"`
	// ClientID is the MQTT client identifier, and so the name of the
	// persistent session; empty means a generated one.
	ClientID string `json:"clientId,omitempty"`
	// ShareName makes the subscription of an input topic a shared one of that
	// name (MQTT 5 section 4.8.2). Empty means that it is not shared, unless
	// the channel is distributed.
	ShareName string `json:"shareName,omitempty"`
	User      string `json:"user,omitempty"`
	Password  string `json:"password,omitempty"`
}

// Versions of MQTT.
const (
	MQTT5   = "5"
	MQTT311 = "3.1.1"
)

// Masked stands for a user name or password wherever settings are shown.
const Masked = "********"

// MarshalJSON encodes the settings with the credentials masked.
func (s MQTTSettings) MarshalJSON() ([]byte, error) {
	type plain MQTTSettings
	s.User, s.Password = mask(s.User), mask(s.Password)
	return json.Marshal(plain(s))
}

// String returns the address and the client identifier, without credentials.
func (s MQTTSettings) String() string {
	return fmt.Sprintf("%s://%s:%d (client %q)", s.Protocol, s.Host, s.Port, s.ClientID)
}

// GoString is String, so that %#v shows no credentials either.
func (s MQTTSettings) GoString() string { return s.String() }

func mask(credential string) string {
	if credential == "" {
		return ""
	}
	return Masked
}
