// Package session is what MQTT 5 and MQTT 3.1.1 have in common for us: the
// subscription and the publisher of annotate's contract, the connection that
// they keep up, and the network connection below it. The drivers add a
// Version, which says how connections are made and what packets look like.
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

// Config is how connections behave. All of it has to be set but TLS, Dial and
// the expiries. It is not changed once it is in use.
type Config struct {
	// SessionExpiry is how long the broker keeps a subscription's session
	// while no client is connected, and MemberExpiry the same where several
	// instances run one channel.
	SessionExpiry, MemberExpiry time.Duration
	// KeepAlive is the longest silence on a connection, ConnectTimeout bounds
	// one attempt, ReconnectMin and ReconnectMax the pauses between attempts.
	KeepAlive, ConnectTimeout, ReconnectMin, ReconnectMax time.Duration
	// QueueMessages and QueueBytes limit what has arrived and was not yet
	// handed out.
	QueueMessages, QueueBytes int
	// MaxPacketSize is the largest packet that is taken in, in bytes.
	MaxPacketSize uint32
	// TLS and Dial are those of the drivers' options.
	TLS  *tls.Config
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Log receives events about connections that are lost and made again.
	Log *slog.Logger
}

// Version is a version of MQTT. It is safe for concurrent use.
type Version interface {
	// Name is its name in errors, such as "MQTT 5".
	Name() string
	// Connect sends CONNECT on the connection's wire and waits for the answer
	// until ctx ends. It calls c.Accept before anything that follows the
	// answer is looked at. When it fails nothing of it is left running.
	Connect(ctx context.Context, c *Connection, hello Hello) (Protocol, error)
	// HasProperties says whether a PUBLISH packet has properties.
	HasProperties() bool
	// EndsWithGoodbye says whether Leave can end the session too.
	EndsWithGoodbye() bool
}

// Protocol is a connection in the hands of a version: it reads the packets
// that arrive and gives them to the Connection.
type Protocol interface {
	// Subscribe requests a topic filter with QoS 1 and waits for the
	// confirmation. renewed says that a connection before had one.
	Subscribe(ctx context.Context, filter string, renewed bool) error
	// Leave says goodbye, with the end of the session if forget is set, closes
	// the wire, and waits until the protocol's goroutines are gone.
	Leave(forget bool)
}

// Hello is what a CONNECT packet says.
type Hello struct {
	ClientID       string
	Clean          bool
	KeepAlive      uint16        // seconds
	Expiry         time.Duration // of the session; zero for one that ends with its connection
	ReceiveMaximum uint16        // zero for none
	MaxPacketSize  uint32        // bytes
	User, Password string
}

// ExpirySeconds is the expiry in whole seconds, rounded up.
func (h Hello) ExpirySeconds() uint32 { return uint32(seconds(h.Expiry, math.MaxUint32)) }

// Terms are what the broker said when it accepted a connection.
type Terms struct {
	// SessionPresent says that the broker had a session.
	SessionPresent bool
	// ReceiveMaximum is how many messages may be under way to the broker.
	ReceiveMaximum int
	// MaxPacketSize is the largest packet that the broker takes, in bytes.
	MaxPacketSize int
	// MaxQoS is the highest quality of service there is.
	MaxQoS byte
}

// Client makes subscriptions and publishers of one version.
type Client struct {
	Config  *Config
	Version Version
}

// Subscribe makes a subscription for annotate.Broker.
func (k Client) Subscribe(ctx context.Context, topic Topic, opts annotate.ConnectOptions) (*Subscription, error) {
	s := newSubscription(k, filter(topic), window(opts))
	if opts.Instance != "" {
		s.expiry = k.Config.MemberExpiry
	}
	if err := s.open(ctx, topic.Settings, opts.Instance); err != nil {
		return nil, err
	}
	return s, nil
}

// Connect makes a publisher for annotate.Broker.
func (k Client) Connect(ctx context.Context, topic Topic, opts annotate.ConnectOptions) (*Publisher, error) {
	p := newPublisher(k, topic.Name, window(opts))
	if err := p.open(ctx, topic.Settings, opts.Instance); err != nil {
		return nil, err
	}
	return p, nil
}

// window is the size that the options ask for, within what MQTT can number.
func window(opts annotate.ConnectOptions) int {
	if opts.Window <= 0 {
		return annotate.DefaultWindow
	}
	return min(opts.Window, math.MaxUint16)
}

// seconds is d in whole seconds, rounded up, at most limit.
func seconds(d time.Duration, limit uint64) uint64 {
	return min(uint64((d+time.Second-1)/time.Second), limit)
}
