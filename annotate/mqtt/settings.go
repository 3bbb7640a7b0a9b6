package mqtt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"strconv"

	"github.com/iotenablers/enablers/annotate"
)

// Type is the kind of broker, as the REST interface names it.
const Type annotate.BrokerType = "MQTT"

// Settings are a connection to an MQTT broker, as annotate.Topic has them.
// Encoded as JSON, printed or logged they show that there are credentials but
// not what they are.
type Settings struct {
	// Protocol is "tcp", "mqtt", "ssl", "tls" or "mqtts". "ws" and "wss" can be
	// read, but not be connected to.
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
	Version5   = "5"
	Version311 = "3.1.1"
)

// MarshalJSON encodes the settings with the credentials masked.
func (s Settings) MarshalJSON() ([]byte, error) {
	type plain Settings
	s.User, s.Password = annotate.Mask(s.User), annotate.Mask(s.Password)
	return json.Marshal(plain(s))
}

// String returns the address and the client identifier, without credentials.
func (s Settings) String() string {
	return fmt.Sprintf("%s://%s:%d (client %q)", s.Protocol, s.Host, s.Port, s.ClientID)
}

// GoString is String, so that %#v shows no credentials either.
func (s Settings) GoString() string { return s.String() }

// Subscriber returns the client identifier, by which brokers keep sessions.
func (s Settings) Subscriber() string { return s.ClientID }

// Subscription tells a subscription from others: the client identifier, the topic filter, and
// the name under which it is shared.
func (s Settings) Subscription(topic string) string {
	return s.ClientID + "\n" + s.ShareName + "\n" + topic
}

// Secrets returns user and password.
func (s Settings) Secrets() []annotate.Secret {
	return []annotate.Secret{{Member: "user", Value: s.User}, {Member: "password", Value: s.Password}}
}

// WithSecrets returns the settings with other credentials.
func (s Settings) WithSecrets(secrets []annotate.Secret) annotate.Settings {
	annotate.AssignSecrets(secrets, map[string]*string{"user": &s.User, "password": &s.Password})
	return s
}

// Destination returns protocol, host and port: user and password are sent there, over TLS or not.
func (s Settings) Destination() string { return fmt.Sprintf("%s://%s:%d", s.Protocol, s.Host, s.Port) }

// Session returns the MQTT session: a second connection with the client
// identifier ends the first one (MQTT 5 section 3.1.4).
func (s Settings) Session() (annotate.Session, bool) {
	return annotate.Session{
		Broker: net.JoinHostPort(s.Host, strconv.Itoa(s.Port)),
		Name:   s.ClientID, Member: "mqttSettings.clientId",
	}, s.ClientID != ""
}

// Defaults are the settings of topics that have none. A zero field means the
// value that its comment names.
type Defaults struct {
	// Protocol, Host and Port are where the broker is; zero means tcp,
	// 127.0.0.1 and 1883.
	Protocol, Host string
	Port           int
	// ClientIDs are the prefixes of generated client identifiers.
	ClientIDs ClientIDs
}

// ClientIDs are the prefixes of generated MQTT client identifiers, one for
// each kind of topic. An empty one means "semann/" with source, sink, error,
// monitor/input and monitor/output.
type ClientIDs struct {
	Input, Output, Error, MonitorInput, MonitorOutput string
}

// filled returns the defaults with nothing left zero.
func (d *Defaults) filled() Defaults {
	var f Defaults
	if d != nil {
		f = *d
	}
	ids := f.ClientIDs
	return Defaults{
		Protocol: cmp.Or(f.Protocol, "tcp"), Host: cmp.Or(f.Host, "127.0.0.1"), Port: cmp.Or(f.Port, 1883),
		ClientIDs: ClientIDs{
			Input:         cmp.Or(ids.Input, "semann/source"),
			Output:        cmp.Or(ids.Output, "semann/sink"),
			Error:         cmp.Or(ids.Error, "semann/error"),
			MonitorInput:  cmp.Or(ids.MonitorInput, "semann/monitor/input"),
			MonitorOutput: cmp.Or(ids.MonitorOutput, "semann/monitor/output"),
		},
	}
}

// prefix is that of the client identifiers of a kind of topic.
func (c ClientIDs) prefix(role annotate.TopicRole) string {
	return [...]string{c.Input, c.Output, c.MonitorInput, c.MonitorOutput, c.Error}[role]
}
