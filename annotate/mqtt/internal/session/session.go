// Package session holds what the drivers of MQTT 5 and MQTT 3.1.1 share: the subscription and
// the publisher of annotate's contract, the MQTT connection that they maintain, and the
// network connection below it. Each driver adds a Version, which opens MQTT connections and
// encodes packets.
package session

import (
	"context"
	"crypto/tls"
	"log/slog"
	"math"
	"net"
	"time"

	"github.com/iotenablers/enablers/annotate"
)

// Config is the configuration of connections. All fields are required but TLS, Dial and the
// expiries. It must not change while it is in use.
type Config struct {
	// SessionExpiry is how long the broker keeps a subscription's session
	// while no client is connected, and MemberExpiry the same where several
	// instances run one channel.
	SessionExpiry, MemberExpiry time.Duration
	// KeepAlive is the longest silence on a connection. ConnectTimeout bounds
	// one attempt, ReconnectMin and ReconnectMax the pause between attempts.
	KeepAlive, ConnectTimeout, ReconnectMin, ReconnectMax time.Duration
	// QueueMessages and QueueBytes limit the messages that have arrived and
	// were not handed out.
	QueueMessages, QueueBytes int
	// MaxPacketSize is the size of the largest packet that is accepted, in bytes.
	MaxPacketSize uint32
	// TLS and Dial are those of the drivers' options.
	TLS  *tls.Config
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Log receives events about lost and restored connections.
	Log *slog.Logger
}

// Version is a version of MQTT. It is safe for concurrent use.
type Version interface {
	// Name is its name in errors, such as "MQTT 5".
	Name() string
	// Connect sends CONNECT on the connection's wire and waits for the answer
	// until ctx ends. It calls c.Accept before it reads the packets after the
	// answer. When it fails it leaves no goroutine behind.
	Connect(ctx context.Context, c *Connection, hello Hello) (Protocol, error)
	// HasProperties reports whether a PUBLISH packet has properties.
	HasProperties() bool
	// EndsWithGoodbye reports whether Leave can end the session too.
	EndsWithGoodbye() bool
}

// Protocol is a version's side of a connection: it reads packets and passes them to the
// Connection.
type Protocol interface {
	// Subscribe requests a topic filter with QoS 1 and waits for the
	// confirmation. renewed says that an earlier connection had one.
	Subscribe(ctx context.Context, filter string, renewed bool) error
	// Leave sends a DISCONNECT packet, which ends the session if forget is
	// set, closes the wire, and waits for the protocol's goroutines.
	Leave(forget bool)
}

// Hello is the contents of a CONNECT packet.
type Hello struct {
	ClientID       string
	Clean          bool
	KeepAlive      uint16        // seconds
	Expiry         time.Duration // of the session; zero for one that ends with its connection
	ReceiveMaximum uint16        // zero for none
	MaxPacketSize  uint32        // bytes
	User, Password string
}

// ExpirySeconds returns the expiry in whole seconds, rounded up.
func (h Hello) ExpirySeconds() uint32 { return uint32(seconds(h.Expiry, math.MaxUint32)) }

// Terms are the limits of the broker, from its CONNACK packet.
type Terms struct {
	// SessionPresent means that the broker had a session.
	SessionPresent bool
	// ReceiveMaximum is the number of messages that may be in flight to the broker.
	ReceiveMaximum int
	// MaxPacketSize is the size of the largest packet that the broker accepts, in bytes.
	MaxPacketSize int
	// MaxQoS is the highest quality of service that the broker supports.
	MaxQoS byte
}

// Client creates subscriptions and publishers of one version.
type Client struct {
	Config  *Config
	Version Version
}

// Subscribe creates a subscription for annotate.Broker.
func (k Client) Subscribe(ctx context.Context, topic Topic, opts annotate.ConnectOptions) (*Subscription, error) {
	s := newSubscription(k, filter(topic), window(opts))
	s.permit = opts.Permit
	if opts.Instance != "" {
		s.expiry = k.Config.MemberExpiry
	}
	if err := s.open(ctx, topic.Settings, opts.Instance); err != nil {
		return nil, err
	}
	return s, nil
}

// Connect creates a publisher for annotate.Broker.
func (k Client) Connect(ctx context.Context, topic Topic, opts annotate.ConnectOptions) (*Publisher, error) {
	p := newPublisher(k, topic.Name, window(opts))
	p.permit = opts.Permit
	if err := p.open(ctx, topic.Settings, opts.Instance); err != nil {
		return nil, err
	}
	return p, nil
}

// window returns the window of the options, within the number of packet identifiers.
func window(opts annotate.ConnectOptions) int {
	return min(opts.MaxInFlight(), math.MaxUint16)
}

// seconds returns d in whole seconds, rounded up, at most limit.
func seconds(d time.Duration, limit uint64) uint64 {
	return min(uint64((d+time.Second-1)/time.Second), limit)
}
