package annotate

import (
	"context"
	"errors"
)

// Message is one message as a broker carries it.
type Message struct {
	// Topic is the topic that the message arrived on or is published to.
	Topic string
	// Key is the record key where the broker has one (Kafka); nil otherwise.
	// Messages of one key keep their order.
	Key []byte
	// Payload is the body. It is never changed after it was received or published,
	// and stays valid as long as something refers to it.
	Payload []byte
	// Trace is the place of the message in a trace, if it has one. A driver whose protocol
	// has headers reads it from them, by [NewTrace], and writes it to them.
	Trace Trace
	// Position is where the broker keeps a message that was received; the zero value where it
	// has no such place (MQTT).
	Position Position
	// ID identifies an output: it is the same whenever the same input is mapped again, after
	// redelivery and restart too. A channel sets it for a driver with [Driver.OutputOnly]. It
	// consists of hexadecimal digits.
	ID string
	// Origin is for a [Transactor]: its subscription puts it into a delivery, and
	// the channel copies it into the output, so that the publisher knows which
	// input it answers. Other drivers leave it nil.
	Origin any
}

// Position is the place of a message in its topic at a broker that keeps one (Kafka).
type Position struct {
	Partition int32
	Offset    int64
}

// Delivery is a message that was received and is not yet acknowledged. Until
// Ack is called the broker keeps it for redelivery.
type Delivery struct {
	Message
	// Ack acknowledges the message to the broker. It is called once
	// at most, in the order of arrival (per key where the broker orders by
	// key), from any goroutine, and does not block. An acknowledgement that
	// can no longer be sent (the connection was lost meanwhile) is dropped:
	// the broker delivers the message again.
	Ack func()
	// Revoked, where it is not nil, reports whether the broker has taken the
	// message back: it was or will be delivered again, here or to another
	// consumer. From then on Ack does nothing, and an output that was not yet
	// handed to a publisher must not be any more, because the other consumer
	// may be ahead. It may be called from any goroutine.
	Revoked func() bool
}

// Errors of the transports.
var (
	// ErrBrokerClosed is returned by a subscription or publisher after Close.
	ErrBrokerClosed = errors.New("annotate: broker connection closed")
	// ErrBrokerUnavailable is returned when a broker cannot be reached or
	// refuses the connection. The cause is wrapped with it. Settings that no
	// broker could satisfy are reported without it.
	ErrBrokerUnavailable = errors.New("annotate: broker unavailable")
	// ErrRevoked is what a [Transactor]'s publisher confirms an output with
	// whose transaction was undone because the broker took the input back. The
	// input is delivered again, so nothing is lost and nothing failed.
	ErrRevoked = errors.New("annotate: message taken back by the broker")
)

// Subscription is a confirmed subscription on one topic. It reconnects by
// itself and loses nothing meanwhile: what was not acknowledged is delivered
// again, in order.
type Subscription interface {
	// Receive waits for the next message. It returns the context's error when ctx
	// ends and ErrBrokerClosed after Close; any other error is fatal for the
	// subscription. Only one goroutine may call it at a time.
	Receive(ctx context.Context) (Delivery, error)
	// Health returns nil while connected, and otherwise why not.
	Health() error
	// Pause ends the intake: Receive hands out what has already arrived, or
	// drops it for redelivery, and then returns ErrBrokerClosed. Messages that
	// were handed out can still be acknowledged.
	Pause(ctx context.Context) error
	// Close flushes the acknowledgements that were given and disconnects. The
	// durable state at the broker (session, offsets) stays. It is idempotent.
	Close(ctx context.Context) error
	// Forget removes the durable state at the broker as well, for a channel
	// that is deleted rather than stopped. It includes Close.
	Forget(ctx context.Context) error
}

// Publisher sends messages to one topic, in order.
type Publisher interface {
	// Publish passes a message to the publisher and returns as soon as it has a place in
	// the window of unconfirmed messages, waiting for one while the window is full.
	// confirmed is called exactly once for each message that Publish accepted (returned nil
	// for), in the order of the calls: with nil when the broker has taken responsibility
	// for it, otherwise with the reason why it never will. An error that wraps
	// ErrBrokerUnavailable is about the connection or the right to publish and not about
	// the message, which is to be published again some time. It must not block. While the
	// broker is away messages wait in the window and are sent again after reconnecting.
	// Only one goroutine may call it at a time.
	Publish(ctx context.Context, m Message, confirmed func(error)) error
	// Health returns nil while connected, and otherwise why not.
	Health() error
	// Close waits until every accepted message is confirmed or ctx ends, calls
	// confirmed with an error for the rest, and disconnects. It is idempotent.
	Close(ctx context.Context) error
}

// Broker opens connections to brokers of one kind. Implementations are safe for
// concurrent use.
type Broker interface {
	// Subscribe connects and subscribes, and returns when the broker has confirmed
	// the subscription, or has shown that there is one by sending more of what was
	// waiting than can be taken in before that. It returns an error that wraps
	// ErrBrokerUnavailable when that fails or ctx ends first; it does not continue
	// to try in the background.
	Subscribe(ctx context.Context, topic Topic, opts ConnectOptions) (Subscription, error)
	// Connect connects for publishing to the topic, with the same rules.
	Connect(ctx context.Context, topic Topic, opts ConnectOptions) (Publisher, error)
}

// Transactor is a Broker that can publish outputs and acknowledge their inputs
// in one step that happens or does not: exactly once, for consumers that read only
// what is committed.
type Transactor interface {
	Broker
	// Transact connects a channel whose input and output are topics of one
	// cluster, by the rules of Subscribe and Connect.
	//
	// The publisher commits the outputs it has accepted, together with the
	// acknowledgements of their inputs (named by Message.Origin) and of all
	// inputs that were acknowledged before, and then confirms them; Ack of an
	// input whose output was confirmed does nothing more. The caller publishes
	// in the order of arrival, and acknowledges an input that has no output
	// before it publishes the output of one that arrived later. An output that
	// is refused is confirmed with the reason, and those of later inputs wait
	// until the caller has acknowledged its input. Close of the publisher
	// commits what it has accepted. Both ends are closed, the publisher first.
	Transact(ctx context.Context, input, output Topic, opts ConnectOptions) (Subscription, Publisher, error)
}

// ConnectOptions tunes one connection.
type ConnectOptions struct {
	// Window is the largest number of messages in flight: received and not
	// acknowledged, or published and not confirmed. Zero means DefaultWindow.
	// Drivers call [ConnectOptions.MaxInFlight].
	Window int
	// Instance is the name of the service instance, where several run one
	// channel at the same time and the broker shares its messages out among
	// them. What the broker keeps for one connection (an MQTT session, a
	// transaction) is then kept under this name too, so that instances do not
	// take it from each other. Empty where the channel runs in one place.
	Instance string
	// Member, where it is not empty, is a name that no other connection to the topic has at
	// the same time. A subscription takes the place of an earlier one with the name, whose
	// process may have ended, at once; the earlier one fails if its process runs (Kafka's
	// static membership; MQTT does so by the client's identifier anyway).
	Member string
	// Permit, where it is not nil, is called before each attempt at what takes something over
	// from another process: an MQTT session, a place in a group, a transaction. Its error is
	// that of the attempt.
	Permit func() error
}

// MaxInFlight returns Window, or DefaultWindow if Window is not positive.
func (o ConnectOptions) MaxInFlight() int {
	if o.Window > 0 {
		return o.Window
	}
	return DefaultWindow
}
