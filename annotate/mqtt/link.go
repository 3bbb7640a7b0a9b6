package mqtt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/paho"

	"github.com/iotenablers/enablers/annotate"
)

// link keeps one connection up: it makes the first one, and one goroutine
// serves the current one and replaces it when it is lost.
type link struct {
	broker  *Broker
	traffic traffic

	settings annotate.MQTTSettings
	address  string
	secure   bool
	unnamed  bool   // the settings had no client identifier
	durable  bool   // a session that outlives the connection
	window   uint16 // the Receive Maximum to announce

	done    chan struct{}      // closed when the goroutine has ended
	aborted context.Context    // ends when everything is given up at once
	abort   context.CancelFunc //
	needed  context.Context    // ends when no connection is needed any more
	finish  context.CancelFunc //

	mu     sync.Mutex
	health error
}

func newLink(b *Broker, t traffic) *link {
	l := &link{
		broker:  b,
		traffic: t,
		done:    make(chan struct{}),
	}
	l.aborted, l.abort = context.WithCancel(context.Background())
	l.needed, l.finish = context.WithCancel(l.aborted)
	return l
}

// open makes the first connection, in one attempt, and starts the goroutine.
func (l *link) open(ctx context.Context, settings annotate.MQTTSettings) error {
	address, secure, err := address(settings)
	if err != nil {
		return err
	}
	l.settings, l.address, l.secure = settings, address, secure
	c, err := l.connect(ctx)
	if err != nil {
		l.abort()
		return err
	}
	go l.run(c)
	return nil
}

// connect makes one attempt at a connection that is ready for use.
func (l *link) connect(ctx context.Context) (*connection, error) {
	limited, cancel := context.WithTimeout(ctx, l.broker.opts.ConnectTimeout)
	defer cancel()
	c, err := l.attempt(limited, l.packet())
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
		err = fmt.Errorf("no answer within %s: %w", l.broker.opts.ConnectTimeout, err)
	}
	return nil, fmt.Errorf("MQTT broker %s: %w: %w", l.address, annotate.ErrBrokerUnavailable, err)
}

// attempt dials and sends the CONNECT packet.
func (l *link) attempt(ctx context.Context, connect *paho.Connect) (*connection, error) {
	conn, err := l.broker.dial(ctx, l.address, l.secure)
	if err != nil {
		return nil, err
	}
	o := l.broker.opts
	c, err := l.establish(ctx, newWire(conn, o.MaxPacketSize, o.KeepAlive*3/2), connect)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	if l.settings.ClientID == "" {
		// The session that the broker named is ours until we leave.
		l.settings.ClientID, l.unnamed = c.client.ClientID(), true
	}
	if c.maxQoS < 1 {
		l.leave(c)
		return nil, errors.New("the broker supports QoS 0 only, QoS 1 is needed")
	}
	return c, nil
}

// leave ends a connection politely. A session that was named by the broker,
// and that nobody can find again, ends with it.
func (l *link) leave(c *connection) {
	goodbye := &paho.Disconnect{}
	if l.unnamed && l.durable {
		never := uint32(0)
		goodbye.Properties = &paho.DisconnectProperties{SessionExpiryInterval: &never}
	}
	c.disconnect(goodbye)
}

// packet is the CONNECT packet (MQTT 5 section 3.1).
func (l *link) packet() *paho.Connect {
	o := l.broker.opts
	expiry := uint32(0)
	if l.durable {
		expiry = uint32(seconds(o.SessionExpiry, math.MaxUint32))
	}
	p := &paho.Connect{
		ClientID:   l.settings.ClientID,
		KeepAlive:  uint16(seconds(o.KeepAlive, math.MaxUint16)),
		CleanStart: !l.durable,
		Properties: &paho.ConnectProperties{
			SessionExpiryInterval: &expiry,
			MaximumPacketSize:     &o.MaxPacketSize,
			RequestProblemInfo:    true,
		},
	}
	if l.window > 0 {
		p.Properties.ReceiveMaximum = &l.window
	}
	if l.settings.User != "" {
		p.UsernameFlag, p.Username = true, l.settings.User
	}
	if l.settings.Password != "" {
		p.PasswordFlag, p.Password = true, []byte(l.settings.Password)
	}
	return p
}

// run is the link's goroutine.
func (l *link) run(c *connection) {
	defer close(l.done)
	defer l.abort()
	pauses := 0
	for {
		since := time.Now()
		l.report(nil)
		if !l.use(c) {
			return
		}
		cause, takenOver := c.lostBecause()
		err := fmt.Errorf("MQTT broker %s: %w: %w", l.address, annotate.ErrBrokerUnavailable, cause)
		l.report(err)
		l.broker.log.Warn("MQTT connection lost", "broker", l.address, "client", l.settings.ClientID, "error", err)

		// A connection that did not hold, and a session that somebody else
		// wants, is not run after in haste.
		if time.Since(since) > l.broker.opts.ReconnectMax {
			pauses = 0
		}
		if takenOver {
			pauses = math.MaxInt32
		}
		if c = l.reconnect(pauses); c == nil {
			return
		}
		pauses++
		l.broker.log.Info("MQTT connection made again", "broker", l.address, "client", l.settings.ClientID, "session", c.sessionPresent)
	}
}

// use serves a connection to its end and reports whether another one is
// needed. When everything is given up, a write that hangs is ended by closing
// the connection under it.
func (l *link) use(c *connection) bool {
	stop := context.AfterFunc(l.aborted, func() { _ = c.wire.Close() })
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

// reconnect tries until it has a connection. It returns nil when none is
// needed any more.
func (l *link) reconnect(pauses int) *connection {
	for ; ; pauses++ {
		timer := time.NewTimer(l.pause(pauses))
		select {
		case <-timer.C:
		case <-l.needed.Done():
			timer.Stop()
			return nil
		}
		c, err := l.connect(l.needed)
		if err == nil {
			if l.durable && !c.sessionPresent {
				l.broker.log.Warn("MQTT session was lost at the broker, subscribed anew", "broker", l.address, "client", l.settings.ClientID)
			}
			return c
		}
		if l.needed.Err() == nil {
			l.report(err)
		}
	}
}

// pause is how long to wait before an attempt: twice as long each time, of
// which the second half is left to chance.
func (l *link) pause(n int) time.Duration {
	o := l.broker.opts
	d := o.ReconnectMax
	if n < 30 {
		d = min(o.ReconnectMin<<n, o.ReconnectMax)
	}
	if d < o.ReconnectMin { // the shift overflowed
		d = o.ReconnectMax
	}
	return d/2 + rand.N(d/2+1)
}

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

// close waits for the goroutine, which ends by itself when its connection is
// no longer needed, and ends it by force when ctx ends first.
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
