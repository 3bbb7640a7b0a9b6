package annotate

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Environment is what the channels of one process share: the brokers they may
// use, the values they default to, and the limits they keep.
type Environment struct {
	// Brokers makes the connections, by kind of broker; at least one is
	// required. A channel that uses a kind that is not here is refused.
	Brokers map[BrokerType]Broker
	// Defaults fill in what a channel leaves open.
	Defaults Defaults
	// Window is the largest number of messages that a channel has in flight:
	// received and not yet acknowledged. Zero means [DefaultWindow], or
	// [DefaultKafkaWindow] for a channel from Kafka to Kafka, whose brokers
	// confirm in batches.
	Window int
	// MaxMessageBytes is the largest message that is annotated; a larger one
	// is a failed message. Zero means 16 MiB.
	MaxMessageBytes int
	// MaxBytesInFlight bounds the bytes of a channel's messages in flight,
	// input and output together; a single message may exceed it. Zero means
	// 64 MiB.
	MaxBytesInFlight int
	// ConnectTimeout is how long all connections of a channel may take
	// together when it starts. Zero means 5 seconds.
	ConnectTimeout time.Duration
	// DrainTimeout is how long a channel whose input failed may take to finish
	// the messages it has, and how long a stop may take that has no deadline
	// of its own. Zero means 20 seconds.
	DrainTimeout time.Duration
	// Instance is the name of this service instance among those that share
	// channels. A [Manager] claims channels under it, and a distributed channel
	// connects under it; see [ConnectOptions]. Empty means "annotator", which
	// a Manager with Config.Shared does not take.
	Instance string
	// Logger receives what goes wrong with messages and connections; never a
	// payload or a credential. Nil is silent.
	Logger *slog.Logger
}

// Errors of channels.
var (
	// ErrNoBroker is returned for a channel that uses a kind of broker that
	// the environment does not have.
	ErrNoBroker = errors.New("annotate: no such kind of broker in this service")
	// ErrClosed is returned by a channel after Close.
	ErrClosed = errors.New("annotate: channel closed")
)

// filled returns the environment with nothing left zero, or an error that
// names the field that cannot be.
func (e Environment) filled() (Environment, error) {
	if len(e.Brokers) == 0 {
		return e, errors.New("annotate: Environment.Brokers: at least one broker is required")
	}
	for _, bound := range []struct {
		field string
		value int
	}{
		{"Window", e.Window}, {"MaxMessageBytes", e.MaxMessageBytes}, {"MaxBytesInFlight", e.MaxBytesInFlight},
		{"ConnectTimeout", int(e.ConnectTimeout)}, {"DrainTimeout", int(e.DrainTimeout)},
	} {
		if bound.value < 0 {
			return e, fmt.Errorf("annotate: Environment.%s: must not be negative, got %d", bound.field, bound.value)
		}
	}
	e.Defaults = e.Defaults.filled()
	e.MaxMessageBytes = cmp.Or(e.MaxMessageBytes, 16<<20)
	e.MaxBytesInFlight = cmp.Or(e.MaxBytesInFlight, 64<<20)
	e.ConnectTimeout = cmp.Or(e.ConnectTimeout, 5*time.Second)
	e.DrainTimeout = cmp.Or(e.DrainTimeout, 20*time.Second)
	e.Instance = cmp.Or(e.Instance, "annotator")
	if e.Logger == nil {
		e.Logger = slog.New(slog.DiscardHandler)
	}
	return e, nil
}

// broker returns the broker of a topic.
func (e *Environment) broker(topic *TopicSettings) (Broker, error) {
	if b := e.Brokers[topic.BrokerType]; b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrNoBroker, topic.BrokerType)
}

// transactor returns the broker of a topic, which must be one that can work
// exactly once.
func (e *Environment) transactor(topic *TopicSettings) (Transactor, error) {
	b, err := e.broker(topic)
	if err != nil {
		return nil, err
	}
	t, ok := b.(Transactor)
	if !ok {
		return nil, fmt.Errorf("annotate: this driver of %s has no transactions", topic.BrokerType)
	}
	return t, nil
}
