package kafka

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/internal/option"
	"github.com/iotenablers/enablers/internal/retry"
)

// The defaults of Options.
const (
	DefaultConnectTimeout      = 10 * time.Second
	DefaultSessionTimeout      = 15 * time.Second
	DefaultHeartbeatInterval   = 3 * time.Second
	DefaultRebalanceTimeout    = 30 * time.Second
	DefaultTransactionMessages = 8192
	DefaultTransactionInterval = 100 * time.Millisecond
	DefaultCommitInterval      = 500 * time.Millisecond
	DefaultQueueMessages       = 10_000
	DefaultQueueBytes          = 64 << 20
	DefaultReconnectMin        = 100 * time.Millisecond
	DefaultReconnectMax        = 5 * time.Second
)

// Options tunes a Broker. The zero value is ready for use. Durations, sizes
// and counts that are zero or negative mean their defaults.
type Options struct {
	// TLS is used with the protocols SSL and SASL_SSL. Nil means the system's
	// roots; the server's name is filled in when it is missing.
	TLS *tls.Config
	// Hosts are the brokers that topic settings and clusters may name. [Driver] refuses
	// settings with any other, and no connection to one is opened. Nil means all.
	Hosts *annotate.BrokerHosts
	// Dial opens network connections. Nil means net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ConnectTimeout bounds one attempt to reach a broker, authentication included,
	// and the check of the topic when a connection is opened.
	ConnectTimeout time.Duration
	// SessionTimeout is how long the cluster waits for a heartbeat of a
	// consumer before it assigns its partitions to others. Clusters bound it,
	// by default from 6 seconds to 30 minutes.
	SessionTimeout time.Duration
	// HeartbeatInterval is the time between heartbeats, and between the
	// checks of an idle publisher's connection; at most a third of
	// SessionTimeout. A lost connection is detected after that time.
	HeartbeatInterval time.Duration
	// RebalanceTimeout is how long the cluster waits for a consumer to release
	// its partitions. For three quarters of it the subscription waits for the
	// acknowledgements of messages in process.
	RebalanceTimeout time.Duration
	// CommitInterval is the time after which an acknowledgement is committed.
	// It bounds the messages that are delivered again after a crash.
	CommitInterval time.Duration
	// TransactionMessages is the number of outputs after which a transaction
	// is committed, and TransactionInterval the time. Half of the connection's
	// window is the upper bound, which leaves room for the next transaction.
	TransactionMessages int
	TransactionInterval time.Duration
	// QueueMessages and QueueBytes limit the messages of a subscription that
	// have arrived and were not handed out. One message always fits.
	QueueMessages, QueueBytes int
	// ReconnectMin and ReconnectMax are the shortest and the longest pause
	// before something that failed is attempted again.
	ReconnectMin, ReconnectMax time.Duration
	// Logger receives events about lost and restored connections, and about assigned and
	// released partitions. Nil is silent. Credentials are never logged.
	Logger *slog.Logger
}

// pauses returns the pauses between attempts of one caller.
func (o *Options) pauses() retry.Backoff {
	return retry.Backoff{Least: o.ReconnectMin, Most: o.ReconnectMax}
}

// Broker opens connections to the Kafka clusters that topic settings name. It holds no
// connection itself, needs no Close, and is safe for concurrent use.
type Broker struct {
	opts Options
	log  *slog.Logger
}

var (
	_ annotate.Broker     = (*Broker)(nil)
	_ annotate.Transactor = (*Broker)(nil)
)

// New returns a Broker. It connects to nothing. opts may be nil.
func New(opts *Options) *Broker {
	b := &Broker{log: slog.New(slog.DiscardHandler)}
	if opts != nil {
		b.opts = *opts
	}
	o := &b.opts
	o.ConnectTimeout = option.Positive(o.ConnectTimeout, DefaultConnectTimeout)
	o.SessionTimeout = option.Positive(o.SessionTimeout, DefaultSessionTimeout)
	o.HeartbeatInterval = min(option.Positive(o.HeartbeatInterval, DefaultHeartbeatInterval), o.SessionTimeout/3)
	o.RebalanceTimeout = option.Positive(o.RebalanceTimeout, DefaultRebalanceTimeout)
	o.CommitInterval = option.Positive(o.CommitInterval, DefaultCommitInterval)
	o.TransactionMessages = option.Positive(o.TransactionMessages, DefaultTransactionMessages)
	o.TransactionInterval = option.Positive(o.TransactionInterval, DefaultTransactionInterval)
	o.QueueMessages = option.Positive(o.QueueMessages, DefaultQueueMessages)
	o.QueueBytes = option.Positive(o.QueueBytes, DefaultQueueBytes)
	o.ReconnectMin = option.Positive(o.ReconnectMin, DefaultReconnectMin)
	o.ReconnectMax = max(option.Positive(o.ReconnectMax, DefaultReconnectMax), o.ReconnectMin)
	if o.Logger != nil {
		b.log = o.Logger
	}
	return b
}

// Subscribe implements annotate.Broker. It joins the consumer group of the
// settings and returns when its partitions are assigned, which may be none
// while other members have them all. An empty group name means a group of its
// own, which is removed when the subscription is closed. The topic must exist.
func (b *Broker) Subscribe(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions) (annotate.Subscription, error,
) {
	s, err := b.subscribe(ctx, topic, opts, nil)
	if err != nil {
		return nil, fmt.Errorf("subscribe to topic %q: %w", topic.Name, err)
	}
	return s, nil
}

func (b *Broker) subscribe(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions, t *transaction) (*subscription, error,
) {
	e, err := b.endpoint(topic)
	if err != nil {
		return nil, err
	}
	e.permit = opts.Permit
	if _, err := e.check(ctx); err != nil {
		return nil, err
	}
	s := newSubscription(e, opts, t)
	if t != nil {
		t.start(s)
	}
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("join group %q: %w", s.group, err)
	}
	return s, nil
}

// Connect implements annotate.Broker. The topic must exist.
func (b *Broker) Connect(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions) (annotate.Publisher, error,
) {
	p, err := b.connect(ctx, topic, opts)
	if err != nil {
		return nil, fmt.Errorf("connect to topic %q: %w", topic.Name, err)
	}
	return p, nil
}

func (b *Broker) connect(ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions) (*publisher, error) {
	e, err := b.endpoint(topic)
	if err != nil {
		return nil, err
	}
	found, err := e.check(ctx)
	if err != nil {
		return nil, err
	}
	p := newPublisher(e, found, opts.MaxInFlight())
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// Transact implements annotate.Transactor. The cluster must refuse offsets of a member of a
// consumer group that was replaced (KIP-447), as Apache Kafka does since 2.5. Instances that
// run at the same time need a fixed group name, and each its own ConnectOptions.Instance.
func (b *Broker) Transact(
	ctx context.Context, input, output annotate.Topic, opts annotate.ConnectOptions) (annotate.Subscription, annotate.Publisher, error,
) {
	s, p, err := b.transact(ctx, input, output, opts)
	if err != nil {
		return nil, nil, fmt.Errorf("connect topics %q and %q with transactions: %w", input.Name, output.Name, err)
	}
	return s, p, nil
}

func (b *Broker) transact(
	ctx context.Context, input, output annotate.Topic, opts annotate.ConnectOptions) (annotate.Subscription, annotate.Publisher, error,
) {
	e, err := b.endpoint(output)
	if err != nil {
		return nil, nil, err
	}
	e.permit = opts.Permit
	group, ok := input.Settings.(Settings)
	if !ok || group.GroupID == "" {
		return nil, nil, errors.New("the input has no consumer group")
	}
	found, err := e.check(ctx)
	if err != nil {
		return nil, nil, err
	}
	if !found.fences {
		return nil, nil, fmt.Errorf("%w: the cluster is too old for transactions, which need Kafka 2.5", annotate.ErrBrokerUnavailable)
	}
	t := newTransaction(e, found, opts.MaxInFlight(), transactionalID(group.GroupID, input.Name, output.Name, opts.Instance))
	if err := t.open(ctx); err != nil {
		return nil, nil, err
	}
	s, err := b.subscribe(ctx, input, opts, t)
	if err != nil {
		t.abandon()
		return nil, nil, err
	}
	return s, t, nil
}

// transactionalID returns the transactional id of a channel. A successor with the same id
// ends the transactions of its predecessor.
func transactionalID(group, input, output, instance string) string {
	return fmt.Sprintf("annotator/%s/%s/%s/%s", group, input, output, instance)
}

// endpoint returns the endpoint of a topic, or an error if its settings are invalid.
func (b *Broker) endpoint(topic annotate.Topic) (*endpoint, error) {
	settings, ok := topic.Settings.(Settings)
	switch {
	case topic.Broker != Type:
		return nil, fmt.Errorf("broker type %q is not %s", topic.Broker, Type)
	case !ok:
		return nil, errors.New("the topic has no Kafka settings")
	case settings.Host == "" || settings.Port < 1 || settings.Port > 65535:
		return nil, fmt.Errorf("the address %q, port %d is invalid", settings.Host, settings.Port)
	}
	if err := checkTopicName(topic.Name); err != nil {
		return nil, err
	}
	e := &endpoint{broker: b, topic: topic.Name, settings: settings}
	return e, e.checkSettings()
}

// checkTopicName applies the rules of Kafka's Topic class.
func checkTopicName(topic string) error {
	switch {
	case topic == "":
		return errors.New("the topic has no name")
	case len(topic) > 249:
		return fmt.Errorf("the topic name has %d bytes, at most 249 are allowed", len(topic))
	case topic == "." || topic == "..":
		return fmt.Errorf("a Kafka topic cannot be called %q", topic)
	}
	for _, c := range []byte(topic) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return fmt.Errorf("a Kafka topic has no %q in its name, only letters, digits, '.', '_' and '-'", c)
		}
	}
	return nil
}

// ownGroup returns the name of a group that no other consumer has.
func ownGroup() string { return "annotator-" + rand.Text() }
