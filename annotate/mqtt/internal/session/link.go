package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/retry"
)

// link maintains a connection. It opens the first one, and one goroutine serves the current
// one and replaces it when it is lost.
type link struct {
	Client
	traffic traffic

	settings Settings
	address  string
	secure   bool
	unnamed  bool          // the settings had no client identifier
	durable  bool          // a session that outlives the connection
	expiry   time.Duration // how long, of a durable session
	window   uint16        // the Receive Maximum to announce
	permit   func() error  // nil permits every connection

	done    chan struct{}      // closed when the goroutine has ended
	aborted context.Context    // ends when Close does not wait any longer
	abort   context.CancelFunc //
	needed  context.Context    // ends when no connection is needed any more
	finish  context.CancelFunc //

	reconnects atomic.Uint64

	mu     sync.Mutex
	health error
}

func newLink(k Client, t traffic) *link {
	l := &link{
		Client:  k,
		expiry:  k.Config.SessionExpiry,
		traffic: t,
		done:    make(chan struct{}),
	}
	l.aborted, l.abort = context.WithCancel(context.Background())
	l.needed, l.finish = context.WithCancel(l.aborted)
	return l
}

// open opens the first connection, in one attempt, and starts the goroutine.
func (l *link) open(ctx context.Context, settings Settings, instance string) error {
	address, secure, err := address(settings)
	if err != nil {
		return err
	}
	if settings.ClientID == "" {
		settings.ClientID, l.unnamed = anonymous(), true
	} else {
		settings.ClientID = identifier(settings.ClientID, instance)
	}
	l.settings = settings
	l.address = address
	l.secure = secure
	c, err := l.connect(ctx)
	if err != nil {
		l.abort()
		return err
	}
	go l.run(c)
	return nil
}

// connect attempts once to open a connection that is ready for use.
func (l *link) connect(ctx context.Context) (*Connection, error) {
	limited, cancel := context.WithTimeout(ctx, l.Config.ConnectTimeout)
	defer cancel()
	c, err := l.attempt(limited)
	if err == nil {
		if err = l.traffic.ready(limited, c); err != nil {
			c.cut()
		}
	}
	if err == nil {
		return c, nil
	}
	switch {
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	case ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("no answer within %s: %w", l.Config.ConnectTimeout, err)
	}
	return nil, fmt.Errorf("MQTT broker %s: %w: %w", l.address, annotate.ErrBrokerUnavailable, err)
}

// attempt dials and sends the CONNECT packet, which takes the session over.
func (l *link) attempt(ctx context.Context) (*Connection, error) {
	if err := l.permitted(); err != nil {
		return nil, err
	}
	o := l.Config
	conn, err := o.dial(ctx, l.address, l.secure)
	if err != nil {
		return nil, err
	}
	if err := l.permitted(); err != nil { // dialing may have taken long
		_ = conn.Close()
		return nil, err
	}
	c := newConnection(newWire(conn, o.MaxPacketSize, o.KeepAlive*3/2), l.traffic, l.Version)
	c.protocol, err = l.Version.Connect(ctx, c, l.hello())
	if err != nil {
		_ = conn.Close()
		if ctx.Err() == nil && c.Wire.first.Load() == 0 && (hungUp(err) || hungUp(c.Wire.failure())) {
			err = &silentError{l.Version.Name()}
		}
		return nil, err
	}
	if c.terms.MaxQoS < 1 {
		l.leave(c)
		return nil, errors.New("the broker supports QoS 0 only, QoS 1 is needed")
	}
	return c, nil
}

// permitted returns why no connection may be opened at this moment.
func (l *link) permitted() error {
	if l.permit == nil {
		return nil
	}
	return l.permit()
}

// leave ends a connection with a DISCONNECT packet. A session with a generated client
// identifier ends with it, because no client can resume it.
func (l *link) leave(c *Connection) { c.leave(l.unnamed && l.durable) }

// hello returns the contents of the CONNECT packet.
func (l *link) hello() Hello {
	o := l.Config
	h := Hello{
		ClientID:       l.settings.ClientID,
		Clean:          !l.durable,
		KeepAlive:      uint16(seconds(o.KeepAlive, math.MaxUint16)),
		ReceiveMaximum: l.window,
		MaxPacketSize:  o.MaxPacketSize,
		User:           l.settings.User,
		Password:       l.settings.Password,
	}
	if l.durable {
		h.Expiry = l.expiry
	}
	return h
}

// run is the link's goroutine.
func (l *link) run(c *Connection) {
	defer close(l.done)
	defer l.abort()
	pauses := 0
	for {
		since := time.Now()
		l.report(nil)
		if !l.use(c) {
			return
		}
		end := c.ended()
		err := fmt.Errorf("MQTT broker %s: %w: %w", l.address, annotate.ErrBrokerUnavailable, end.cause)
		l.report(err)
		l.Config.Log.Warn("MQTT connection lost", "broker", l.address, "client", l.settings.ClientID, "error", err)

		// Pause after a short connection, and when another client has taken
		// the session.
		if time.Since(since) > l.Config.ReconnectMax {
			pauses = 0
		}
		if end.takenOver {
			pauses = longest
		}
		if c = l.reconnect(pauses); c == nil {
			return
		}
		pauses++
		l.reconnects.Add(1)
		l.Config.Log.Info("MQTT connection restored", "broker", l.address, "client", l.settings.ClientID, "session", c.terms.SessionPresent)
	}
}

// use serves a connection until its end and reports whether another one is needed. When
// aborted ends it closes the connection, which also ends a blocked write.
func (l *link) use(c *Connection) bool {
	stop := context.AfterFunc(l.aborted, func() { _ = c.Wire.Close() })
	defer stop()
	l.traffic.serve(c)
	select {
	case <-c.lost:
		c.cut()
		return l.needed.Err() == nil
	default:
		l.leave(c)
		return false
	}
}

// reconnect tries until it has a connection. It returns nil when no connection is needed.
func (l *link) reconnect(pauses int) *Connection {
	for ; ; pauses++ {
		timer := time.NewTimer(retry.Pause(l.Config.ReconnectMin, l.Config.ReconnectMax, pauses))
		select {
		case <-timer.C:
		case <-l.needed.Done():
			timer.Stop()
			return nil
		}
		c, err := l.connect(l.needed)
		if err == nil {
			if l.durable && !c.terms.SessionPresent {
				l.Config.Log.Warn("MQTT broker lost the session, subscribed again", "broker", l.address, "client", l.settings.ClientID)
			}
			return c
		}
		if l.needed.Err() == nil {
			l.report(err)
		}
		if refused := (*RefusedError)(nil); !errors.As(err, &refused) {
			l.traffic.unreachable()
		}
	}
}

// longest is a number of pauses after which the next one is as long as they get. Counting on from
// it does not overflow 32 bits.
const longest = 30

// Reconnects returns the number of times that the connection was restored. It is safe for
// concurrent use.
func (l *link) Reconnects() uint64 { return l.reconnects.Load() }

func (l *link) report(health error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.health = health
}

// Health implements annotate.Subscription and annotate.Publisher.
func (l *link) Health() error {
	if l.needed.Err() != nil {
		return annotate.ErrBrokerClosed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.health
}

// close waits for the goroutine, which ends when its connection is no longer needed. When ctx
// ends first, close ends the goroutine by closing the connection.
func (l *link) close(ctx context.Context) error {
	l.finish()
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		l.abort()
		<-l.done
		return ctx.Err()
	}
}
