package mqtt3

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt/internal/session"
)

// The defaults of Options.
const (
	DefaultKeepAlive      = 30 * time.Second
	DefaultConnectTimeout = 10 * time.Second
	DefaultReconnectMin   = 200 * time.Millisecond
	DefaultReconnectMax   = 5 * time.Second
	DefaultQueueMessages  = 65_535
	DefaultQueueBytes     = 64 << 20
	DefaultMaxPacketSize  = 64 << 20
)

// Options tunes a Broker. The zero value is ready for use.
type Options struct {
	// KeepAlive is the longest silence on a connection, in whole seconds up
	// to 65,535. A broker that has said nothing for one and a half times as
	// long is given up. Zero means DefaultKeepAlive.
	KeepAlive time.Duration
	// ConnectTimeout bounds one attempt to connect, from the look-up of the
	// host to the confirmed subscription. Zero means DefaultConnectTimeout.
	ConnectTimeout time.Duration
	// ReconnectMin and ReconnectMax are the shortest and the longest pause
	// before a lost connection is attempted again. Zero means
	// DefaultReconnectMin and DefaultReconnectMax.
	ReconnectMin, ReconnectMax time.Duration
	// QueueMessages and QueueBytes limit what has arrived on a subscription
	// and was not yet handed out. Zero means DefaultQueueMessages and
	// DefaultQueueBytes. One message always fits.
	QueueMessages, QueueBytes int
	// MaxPacketSize is the size in bytes of the largest packet that is taken
	// in. A broker of MQTT 3.1.1 cannot be told: one that sends a larger packet
	// is left, and sends it again. Zero means DefaultMaxPacketSize.
	MaxPacketSize uint32
	// TLS is used with the protocols tls, ssl and mqtts. Nil means the
	// system's roots; the server's name is filled in when it is missing.
	TLS *tls.Config
	// Dial makes the network connection. Nil means net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Logger hears of connections that are lost and found. Nil is silent.
	Logger *slog.Logger
}

// Broker makes connections to MQTT 3.1.1 brokers, whichever the topic settings
// name. It holds no connection itself, needs no Close, and is safe for
// concurrent use.
type Broker struct {
	client session.Client
}

var _ annotate.Broker = (*Broker)(nil)

// New returns a Broker. It connects to nothing. opts may be nil.
func New(opts *Options) *Broker {
	var o Options
	if opts != nil {
		o = *opts
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	config := &session.Config{
		KeepAlive:      positive(o.KeepAlive, DefaultKeepAlive),
		ConnectTimeout: positive(o.ConnectTimeout, DefaultConnectTimeout),
		ReconnectMin:   positive(o.ReconnectMin, DefaultReconnectMin),
		ReconnectMax:   positive(o.ReconnectMax, DefaultReconnectMax),
		QueueMessages:  positive(o.QueueMessages, DefaultQueueMessages),
		QueueBytes:     positive(o.QueueBytes, DefaultQueueBytes),
		MaxPacketSize:  positive(o.MaxPacketSize, DefaultMaxPacketSize),
		TLS:            o.TLS, Dial: o.Dial, Log: log,
	}
	config.ReconnectMax = max(config.ReconnectMax, config.ReconnectMin)
	return &Broker{client: session.Client{Config: config, Version: version311{}}}
}

// positive is v, or the default when v is not above zero.
func positive[N int | uint32 | time.Duration](v, byDefault N) N {
	if v > 0 {
		return v
	}
	return byDefault
}

// Subscribe implements annotate.Broker. The topic may hold wildcards and, with
// a broker that knows them, may be a shared subscription, by the setting or as
// $share/group/filter. Without a client identifier the session ends with Close.
func (b *Broker) Subscribe(ctx context.Context, topic annotate.TopicSettings, opts annotate.ConnectOptions) (annotate.Subscription, error) {
	err := session.CheckInput(topic)
	if err == nil {
		err = checkVersion(topic.MQTT)
	}
	if err != nil {
		return nil, fmt.Errorf("subscribe to topic %q: %w", topic.Topic, err)
	}
	s, err := b.client.Subscribe(ctx, topic, opts)
	if err != nil {
		return nil, fmt.Errorf("subscribe to topic %q: %w", topic.Topic, err)
	}
	return s, nil
}

// Connect implements annotate.Broker.
func (b *Broker) Connect(ctx context.Context, topic annotate.TopicSettings, opts annotate.ConnectOptions) (annotate.Publisher, error) {
	err := session.CheckOutput(topic)
	if err == nil {
		err = checkVersion(topic.MQTT)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to topic %q: %w", topic.Topic, err)
	}
	p, err := b.client.Connect(ctx, topic, opts)
	if err != nil {
		return nil, fmt.Errorf("connect to topic %q: %w", topic.Topic, err)
	}
	return p, nil
}

// checkVersion refuses settings that demand another version, and what only
// other versions have.
func checkVersion(s *annotate.MQTTSettings) error {
	switch {
	case s.Version == annotate.MQTT5:
		return fmt.Errorf("mqttSettings.version %q: this driver speaks MQTT %s only", s.Version, annotate.MQTT311)
	case s.Password != "" && s.User == "":
		// MQTT 3.1.1 section 3.1.2.9.
		return fmt.Errorf("mqttSettings.password is set without a user, which MQTT %s does not allow", annotate.MQTT311)
	}
	return nil
}
