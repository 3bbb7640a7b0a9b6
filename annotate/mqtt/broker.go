package mqtt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/internal/option"
	"github.com/iotenablers/enablers/annotate/mqtt/internal/mqtt3"
	"github.com/iotenablers/enablers/annotate/mqtt/internal/session"
)

// The defaults of Options.
const (
	DefaultSessionExpiry  = 24 * time.Hour
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
	// SessionExpiry is how long the broker keeps a subscription's session while no
	// client is connected to it, in whole seconds (MQTT 5 section 3.1.2.11.2). Zero
	// means DefaultSessionExpiry. The longest that can be said is forever, which is
	// everything above 136 years.
	SessionExpiry time.Duration
	// MemberExpiry takes the place of SessionExpiry where several instances run one
	// channel (annotate.ConnectOptions.Instance). Shorter, it ends the session of
	// an instance that is removed sooner, and with it, at most brokers, the
	// messages that wait in it. Zero means SessionExpiry.
	MemberExpiry time.Duration
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
	// MaxPacketSize is the size in bytes of the largest packet that brokers
	// may send. They leave out larger messages (section 3.1.2.11.4). Zero
	// means DefaultMaxPacketSize.
	MaxPacketSize uint32
	// TLS is used with the protocols tls, ssl and mqtts. Nil means the
	// system's roots; the server's name is filled in when it is missing.
	TLS *tls.Config
	// Hosts are the brokers that topic settings may name. [Driver] refuses settings
	// with any other, and no connection to one is opened. Nil means all.
	Hosts *annotate.BrokerHosts
	// Dial opens network connections. Nil means net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Logger receives events about connections that are lost and restored. Nil is silent.
	Logger *slog.Logger
}

// Broker opens connections to MQTT brokers, whichever the topic settings name,
// with MQTT 5 or, through package mqtt3, MQTT 3.1.1. It holds no connection
// itself, needs no Close, and is safe for concurrent use.
type Broker struct {
	five  session.Client
	old   *mqtt3.Broker
	hosts *annotate.BrokerHosts
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
	config := session.Config{
		SessionExpiry:  option.Positive(o.SessionExpiry, DefaultSessionExpiry),
		MemberExpiry:   option.Positive(o.MemberExpiry, option.Positive(o.SessionExpiry, DefaultSessionExpiry)),
		KeepAlive:      option.Positive(o.KeepAlive, DefaultKeepAlive),
		ConnectTimeout: option.Positive(o.ConnectTimeout, DefaultConnectTimeout),
		ReconnectMin:   option.Positive(o.ReconnectMin, DefaultReconnectMin),
		ReconnectMax:   option.Positive(o.ReconnectMax, DefaultReconnectMax),
		QueueMessages:  option.Positive(o.QueueMessages, DefaultQueueMessages),
		QueueBytes:     option.Positive(o.QueueBytes, DefaultQueueBytes),
		MaxPacketSize:  option.Positive(o.MaxPacketSize, DefaultMaxPacketSize),
		TLS:            o.TLS, Dial: o.Hosts.Over(o.Dial), Log: log,
	}
	config.ReconnectMax = max(config.ReconnectMax, config.ReconnectMin)
	return &Broker{
		five:  session.Client{Config: &config, Version: version5{}},
		old:   mqtt3.New(config),
		hosts: o.Hosts,
	}
}

// Subscribe implements annotate.Broker. The topic may hold wildcards and may
// be a shared subscription, by the setting or as $share/group/filter. Without
// a client identifier the session ends with Close.
func (b *Broker) Subscribe(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions,
) (annotate.Subscription, error) {
	sub, err := b.subscribe(ctx, topic, opts)
	if err != nil {
		return nil, fmt.Errorf("subscribe to topic %q: %w", topic.Name, err)
	}
	return sub, nil
}

func (b *Broker) subscribe(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions,
) (*session.Subscription, error) {
	t, err := sessionTopic(topic)
	if err != nil {
		return nil, err
	}
	if err := session.CheckInput(t); err != nil {
		return nil, err
	}
	return choose(ctx, t.Version, attempts[*session.Subscription]{
		five: func() (*session.Subscription, error) { return b.five.Subscribe(ctx, t, opts) },
		old:  func() (*session.Subscription, error) { return b.old.Subscribe(ctx, t, opts) },
	})
}

// Connect implements annotate.Broker.
func (b *Broker) Connect(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions,
) (annotate.Publisher, error) {
	pub, err := b.connect(ctx, topic, opts)
	if err != nil {
		return nil, fmt.Errorf("connect to topic %q: %w", topic.Name, err)
	}
	return pub, nil
}

func (b *Broker) connect(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions,
) (*session.Publisher, error) {
	t, err := sessionTopic(topic)
	if err != nil {
		return nil, err
	}
	if err := session.CheckOutput(t); err != nil {
		return nil, err
	}
	return choose(ctx, t.Version, attempts[*session.Publisher]{
		five: func() (*session.Publisher, error) { return b.five.Connect(ctx, t, opts) },
		old:  func() (*session.Publisher, error) { return b.old.Connect(ctx, t, opts) },
	})
}

// sessionTopic returns the topic as the sessions read it.
func sessionTopic(topic annotate.Topic) (session.Topic, error) {
	if topic.Broker != Type {
		return session.Topic{}, fmt.Errorf("broker type %q is not %s", topic.Broker, Type)
	}
	s, ok := topic.Settings.(Settings)
	if !ok {
		return session.Topic{}, errors.New("the topic has no MQTT settings")
	}
	return session.Topic{Name: topic.Name, Settings: session.Settings(s)}, nil
}
