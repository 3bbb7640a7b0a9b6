package mqtt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/iotenablers/enablers/annotate"
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
	// SessionExpiry is how long the broker keeps a subscription's session
	// while nobody is connected to it, in whole seconds (MQTT 5 section
	// 3.1.2.11.2). Zero means DefaultSessionExpiry. The longest that can be
	// said is for ever, which is everything above 136 years.
	SessionExpiry time.Duration
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
	// Dial makes the network connection. Nil means net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Logger hears of connections that are lost and found. Nil is silent.
	Logger *slog.Logger
}

// Broker makes connections to MQTT brokers, whichever the topic settings name.
// It holds no connection itself, needs no Close, and is safe for concurrent
// use.
type Broker struct {
	opts Options
	log  *slog.Logger
}

var _ annotate.Broker = (*Broker)(nil)

// New returns a Broker. It connects to nothing. opts may be nil.
func New(opts *Options) *Broker {
	b := &Broker{log: slog.New(slog.DiscardHandler)}
	if opts != nil {
		b.opts = *opts
	}
	o := &b.opts
	o.SessionExpiry = positive(o.SessionExpiry, DefaultSessionExpiry)
	o.KeepAlive = positive(o.KeepAlive, DefaultKeepAlive)
	o.ConnectTimeout = positive(o.ConnectTimeout, DefaultConnectTimeout)
	o.ReconnectMin = positive(o.ReconnectMin, DefaultReconnectMin)
	o.ReconnectMax = max(positive(o.ReconnectMax, DefaultReconnectMax), o.ReconnectMin)
	o.QueueMessages = positive(o.QueueMessages, DefaultQueueMessages)
	o.QueueBytes = positive(o.QueueBytes, DefaultQueueBytes)
	o.MaxPacketSize = positive(o.MaxPacketSize, DefaultMaxPacketSize)
	if o.Logger != nil {
		b.log = o.Logger
	}
	return b
}

// positive is v, or the default when v is not above zero.
func positive[N int | uint32 | time.Duration](v, byDefault N) N {
	if v > 0 {
		return v
	}
	return byDefault
}

// Subscribe implements annotate.Broker. The topic may hold wildcards and may
// be a shared subscription ($share/group/filter). An empty client identifier
// lets the broker choose one, and then the session ends with the connection.
func (b *Broker) Subscribe(ctx context.Context, topic annotate.TopicSettings, opts annotate.ConnectOptions) (annotate.Subscription, error) {
	settings, err := b.settings(topic)
	if err != nil {
		return nil, fmt.Errorf("subscribe to topic %q: %w", topic.Topic, err)
	}
	s := newSubscription(b, topic.Topic, window(opts))
	if err := s.open(ctx, settings); err != nil {
		return nil, fmt.Errorf("subscribe to topic %q: %w", topic.Topic, err)
	}
	return s, nil
}

// Connect implements annotate.Broker.
func (b *Broker) Connect(ctx context.Context, topic annotate.TopicSettings, opts annotate.ConnectOptions) (annotate.Publisher, error) {
	settings, err := b.settings(topic)
	if err == nil {
		err = checkTopicName(topic.Topic)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to topic %q: %w", topic.Topic, err)
	}
	p := newPublisher(b, topic.Topic, window(opts))
	if err := p.open(ctx, settings); err != nil {
		return nil, fmt.Errorf("connect to topic %q: %w", topic.Topic, err)
	}
	return p, nil
}

// settings checks what the topic says about its broker.
func (b *Broker) settings(topic annotate.TopicSettings) (annotate.MQTTSettings, error) {
	switch {
	case topic.BrokerType != annotate.MQTT:
		return annotate.MQTTSettings{}, fmt.Errorf("broker type %q is not %s", topic.BrokerType, annotate.MQTT)
	case topic.MQTT == nil:
		return annotate.MQTTSettings{}, errors.New("the topic has no MQTT settings")
	case topic.Topic == "":
		return annotate.MQTTSettings{}, errors.New("the topic has no name")
	}
	return *topic.MQTT, nil
}

// checkTopicName applies MQTT 5 sections 4.7.1 and 4.7.3 to a topic that is
// published on.
func checkTopicName(topic string) error {
	switch {
	case topic == "":
		return errors.New("the topic has no name")
	case len(topic) > math.MaxUint16:
		return fmt.Errorf("the topic name has %d bytes, the most is %d", len(topic), math.MaxUint16)
	case strings.ContainsAny(topic, "+#"):
		return errors.New("a topic to publish on has no wildcards")
	case strings.ContainsRune(topic, 0) || !utf8.ValidString(topic):
		return errors.New("the topic name is not valid UTF-8")
	}
	return nil
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
