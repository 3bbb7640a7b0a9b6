package nats

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/iotenablers/enablers/annotate"
)

// dialTimeout bounds one attempt to connect, redialPause is the pause before the
// next one.
const (
	dialTimeout = 5 * time.Second
	redialPause = 20 * time.Millisecond
)

// Broker makes connections to NATS servers, whichever the topics name.
type Broker struct{}

var _ annotate.Broker = Broker{}

// Subscribe implements annotate.Broker.
func (Broker) Subscribe(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions,
) (annotate.Subscription, error) {
	s, err := subscribe(ctx, topic, window(opts))
	if err != nil {
		return nil, fmt.Errorf("subscribe to subject %q: %w", topic.Name, err)
	}
	return s, nil
}

// Connect implements annotate.Broker.
func (Broker) Connect(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions,
) (annotate.Publisher, error) {
	p, err := connect(ctx, topic, window(opts))
	if err != nil {
		return nil, fmt.Errorf("connect to subject %q: %w", topic.Name, err)
	}
	return p, nil
}

func window(opts annotate.ConnectOptions) int {
	if opts.Window > 0 {
		return opts.Window
	}
	return annotate.DefaultWindow
}

// link is one connection, which is not made again by itself.
type link struct {
	conn   *nats.Conn
	stream jetstream.JetStream
	closed chan struct{} // closed when the connection is lost
}

// dial connects. The error wraps ErrBrokerUnavailable.
func dial(ctx context.Context, topic annotate.Topic) (*link, error) {
	s, ok := topic.Settings.(Settings)
	if !ok || topic.Broker != Type {
		return nil, errors.New("the topic has no NATS settings")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", annotate.ErrBrokerUnavailable, err)
	}
	timeout := dialTimeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline))
	}
	l := &link{closed: make(chan struct{})}
	var err error
	l.conn, err = nats.Connect("nats://"+net.JoinHostPort(s.Host, strconv.Itoa(s.Port)),
		nats.NoReconnect(), nats.Timeout(timeout), nats.Token(s.Token),
		nats.ClosedHandler(func(*nats.Conn) { close(l.closed) }))
	if err == nil {
		l.stream, err = jetstream.New(l.conn)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", annotate.ErrBrokerUnavailable, err)
	}
	return l, nil
}

// isLost reports whether the connection is lost.
func (l *link) isLost() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}

// redial connects until it succeeds or ctx ends.
func redial(ctx context.Context, topic annotate.Topic) (*link, error) {
	for {
		l, err := dial(ctx, topic)
		if err == nil || ctx.Err() != nil {
			return l, err
		}
		select {
		case <-time.After(redialPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

var errLost = fmt.Errorf("%w: the connection is lost", annotate.ErrBrokerUnavailable)
