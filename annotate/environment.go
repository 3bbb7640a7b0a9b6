package annotate

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/iotenablers/enablers/annotate/rml"
)

// Environment is what the channels of one process share: the brokers they may
// use, the values they default to, and the limits they keep.
type Environment struct {
	// Drivers are the kinds of broker that channels may use; at least one is
	// required. A channel that uses another kind is refused.
	Drivers []Driver
	// Defaults fill in what a channel leaves open.
	Defaults Defaults
	// Window is the largest number of messages that a channel has in flight:
	// received and not yet acknowledged. Zero means the smaller one of the
	// windows of its drivers, and [DefaultTransactionWindow] for a channel that
	// works exactly once.
	Window int
	// MaxMessageBytes is the largest message that is annotated; a larger one
	// is a failed message. Zero means 16 MiB.
	MaxMessageBytes int
	// MaxBytesInFlight bounds the bytes of a channel's messages in flight,
	// input and output together; a single message may exceed it. Zero means
	// 64 MiB.
	MaxBytesInFlight int
	// Functions are what mappings may call besides the built-in functions, see
	// [rml.Options].
	Functions []rml.Function
	// ConnectTimeout is how long all connections of a channel may take
	// together when it starts. Zero means 5 seconds.
	ConnectTimeout time.Duration
	// DrainTimeout is how long a channel whose input failed may take to finish
	// the messages it has, and how long a stop may take that has no deadline
	// of its own. Zero means 20 seconds.
	DrainTimeout time.Duration
	// Instance is the name of this service instance among those that share
	// channels. A distributed channel connects under it; see [ConnectOptions].
	// Empty means "annotator".
	Instance string
	// Permit returns why this process must not act for its channels at this moment; nil when it
	// may. It is called before each connection, where its error is a failed attempt, and before
	// each output, where it ends the channel. With it a channel that is not distributed runs in
	// one process at a time, under the same identifier in each, and its subscription replaces
	// that of the process before; see ConnectOptions.Member. A nil Permit permits everything.
	// It is safe for concurrent use and does not block.
	Permit func() error
	// TracerProvider creates the spans of messages: one for each from its arrival to its
	// acknowledgement, with one for the mapping and one for publishing the output below it.
	// Nil means none; then a message passes on the [Trace] that it has.
	TracerProvider trace.TracerProvider
	// Logger receives errors of messages and connections; never a payload or a
	// credential. Nil is silent.
	Logger *slog.Logger
}

// Errors of channels.
var (
	// ErrNoBroker is returned for a channel that uses a kind of broker for
	// which the environment has no driver.
	ErrNoBroker = errors.New("annotate: no such kind of broker in this service")
	// ErrClosed is returned by a channel after Close.
	ErrClosed = errors.New("annotate: channel closed")
)

// Filled returns the environment with nothing left zero, or an error that
// names the field that cannot be.
func (e Environment) Filled() (Environment, error) {
	if err := e.checkDrivers(); err != nil {
		return e, err
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

// checkDrivers returns what is wrong with the drivers.
func (e *Environment) checkDrivers() error {
	if len(e.Drivers) == 0 {
		return errors.New("annotate: Environment.Drivers: at least one driver is required")
	}
	types, members := map[BrokerType]bool{}, map[string]bool{}
	for i, d := range e.Drivers {
		switch {
		case d.Type == "" || d.Member == "" || d.Broker == nil || d.Settings == nil:
			return fmt.Errorf("annotate: Environment.Drivers[%d]: Type, Member, Broker and Settings are required", i)
		case types[d.Type] || members[d.Member]:
			return fmt.Errorf("annotate: Environment.Drivers[%d]: a driver before has the type %q or the member %q", i, d.Type, d.Member)
		}
		types[d.Type], members[d.Member] = true, true
	}
	return nil
}

// driver returns the driver of a kind of broker; nil if absent.
func (e *Environment) driver(kind BrokerType) *Driver {
	for i := range e.Drivers {
		if e.Drivers[i].Type == kind {
			return &e.Drivers[i]
		}
	}
	return nil
}

func noBroker(kind BrokerType) error { return fmt.Errorf("%w: %s", ErrNoBroker, kind) }

// broker returns the broker of a topic.
func (e *Environment) broker(topic *Topic) (Broker, error) {
	if d := e.driver(topic.Broker); d != nil {
		return d.Broker, nil
	}
	return nil, noBroker(topic.Broker)
}

// transactor returns the broker of a topic, which must support transactions.
func (e *Environment) transactor(topic *Topic) (Transactor, error) {
	b, err := e.broker(topic)
	if err != nil {
		return nil, err
	}
	t, ok := b.(Transactor)
	if !ok {
		return nil, fmt.Errorf("annotate: this driver of %s has no transactions", topic.Broker)
	}
	return t, nil
}

// window is the number of messages that a channel has in flight.
func (e *Environment) window(c *ChannelConfig) int {
	if e.Window != 0 {
		return e.Window
	}
	if c.ExactlyOnce {
		return DefaultTransactionWindow
	}
	window := 0
	for _, kind := range []BrokerType{c.Input.Broker, c.Output.Broker} {
		of := DefaultWindow
		if d := e.driver(kind); d != nil && d.Window > 0 {
			of = d.Window
		}
		if window == 0 || of < window {
			window = of
		}
	}
	return window
}
