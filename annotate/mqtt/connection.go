package mqtt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"syscall"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"
	"github.com/eclipse/paho.golang/paho/log"
	"github.com/eclipse/paho.golang/paho/session"
)

// errLost is the cause of a connection that ended without saying why.
var errLost = errors.New("the connection was lost")

// unlimited is the patience of paho itself with an answer. The contexts of the
// requests and the end of the connection limit how long we wait.
const unlimited = 100 * 365 * 24 * time.Hour

// traffic is what a subscription and a publisher make of a connection.
type traffic interface {
	// attach announces a new connection before anything arrives on it.
	attach(c *connection)
	// received takes a message that arrived. It may wait until c.lost.
	received(c *connection, m *packets.Publish)
	// confirmed takes the answer to a message that was sent.
	confirmed(c *connection, answer *packets.Puback)
	// ready finishes the set-up when the connection is established.
	ready(ctx context.Context, c *connection) error
	// serve sends what there is to send until the connection is lost or no
	// longer needed.
	serve(c *connection)
}

// connection is one MQTT connection from its CONNECT to its end. It is the
// session manager of a paho client, which gives us the QoS 1 packets of both
// directions raw: the state that outlives a connection belongs to the
// subscription and the publisher, not to paho.
type connection struct {
	traffic traffic
	wire    *wire
	alive   *keepalive
	client  *paho.Client

	// What the broker said in its CONNACK.
	sessionPresent bool
	receiveMaximum int
	maxPacket      int // bytes; math.MaxInt when the broker named none
	maxQoS         byte

	lost       chan struct{}  // closed when the connection is gone
	full       chan struct{}  // a note, capacity 1: what arrives has to wait for room
	subscribed chan error     // the outcome of the SUBSCRIBE, capacity 1
	requesting sync.WaitGroup // whoever waits for that; ends with the connection

	mu        sync.Mutex
	isLost    bool
	cause     error
	takenOver bool
	nextID    uint16
	requests  map[uint16]chan<- packets.ControlPacket // SUBSCRIBE and UNSUBSCRIBE under way
}

var _ session.SessionManager = (*connection)(nil)

// establish sends CONNECT on a network connection and waits for the answer.
// It closes the network connection when it fails.
func (l *link) establish(ctx context.Context, w *wire, connect *paho.Connect) (*connection, error) {
	c := &connection{
		traffic:    l.traffic,
		wire:       w,
		alive:      newKeepalive(w),
		lost:       make(chan struct{}),
		full:       make(chan struct{}, 1),
		subscribed: make(chan error, 1),
		requests:   map[uint16]chan<- packets.ControlPacket{},
	}
	c.client = paho.NewClient(paho.ClientConfig{
		Conn:          w,
		Session:       c,
		PingHandler:   c.alive,
		PacketTimeout: unlimited,
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){
			// Only QoS 0 comes this way.
			func(r paho.PublishReceived) (bool, error) {
				l.traffic.received(c, r.Packet.Packet())
				return true, nil
			},
		},
	})
	answer, err := c.client.Connect(ctx, connect)
	switch {
	case err == nil:
		return c, nil
	case answer != nil && answer.ReasonCode >= 0x80:
		words := ""
		if answer.Properties != nil {
			words = answer.Properties.ReasonString
		}
		return nil, fmt.Errorf("the broker refused the connection: %s", reason(answer.ReasonCode, words))
	case w.answeredOldConnack():
		return nil, errors.New("the broker answered as MQTT 3.1.1 does and does not speak MQTT 5, which is needed")
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return nil, errors.New("the broker closed the connection without an answer; it may not speak MQTT 5, which is needed")
	}
	return nil, err
}

// ConAckReceived implements session.SessionManager.
func (c *connection) ConAckReceived(_ io.Writer, _ *packets.Connect, answer *packets.Connack) error {
	c.sessionPresent = answer.SessionPresent
	c.receiveMaximum, c.maxPacket, c.maxQoS = math.MaxUint16, math.MaxInt, 2
	if p := answer.Properties; p != nil {
		if p.ReceiveMaximum != nil && *p.ReceiveMaximum > 0 {
			c.receiveMaximum = int(*p.ReceiveMaximum)
		}
		if p.MaximumPacketSize != nil && *p.MaximumPacketSize > 0 {
			c.maxPacket = int(min(*p.MaximumPacketSize, math.MaxInt32))
		}
		if p.MaximumQOS != nil {
			c.maxQoS = *p.MaximumQOS
		}
	}
	c.traffic.attach(c)
	return nil
}

// ConnectionLost implements session.SessionManager.
func (c *connection) ConnectionLost(goodbye *packets.Disconnect) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isLost {
		return nil
	}
	c.isLost = true
	c.cause = errLost
	if err := c.wire.failure(); err != nil {
		c.cause = err
	}
	if errors.Is(c.cause, io.EOF) {
		c.cause = errors.New("the broker closed the connection")
	}
	if goodbye != nil {
		words := ""
		if goodbye.Properties != nil {
			words = goodbye.Properties.ReasonString
		}
		c.cause = fmt.Errorf("the broker disconnected: %s", reason(goodbye.ReasonCode, words))
		c.takenOver = goodbye.ReasonCode == sessionTakenOver
	}
	for _, answer := range c.requests {
		answer <- packets.ControlPacket{} // the zero packet means lost; every channel has room for one
	}
	clear(c.requests)
	close(c.lost)
	return nil
}

// AddToSession implements session.SessionManager. Only SUBSCRIBE and
// UNSUBSCRIBE packets come here.
func (c *connection) AddToSession(_ context.Context, p session.Packet, answer chan<- packets.ControlPacket) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isLost {
		return session.ErrNoConnection
	}
	// From the upper end down: there are brokers that take an identifier of
	// ours for one of their own, which they number from 1.
	c.nextID--
	if c.nextID == 0 {
		c.nextID = math.MaxUint16
	}
	p.SetIdentifier(c.nextID)
	c.requests[c.nextID] = answer
	return nil
}

// PacketReceived implements session.SessionManager.
func (c *connection) PacketReceived(p *packets.ControlPacket, _ chan<- *packets.Publish) error {
	switch content := p.Content.(type) {
	case *packets.Publish:
		if content.QoS > 1 || content.PacketID == 0 {
			c.breach("a PUBLISH with QoS %d and packet identifier %d", content.QoS, content.PacketID)
			return nil
		}
		c.traffic.received(c, content)
	case *packets.Puback:
		c.traffic.confirmed(c, content)
	case *packets.Suback, *packets.Unsuback:
		c.mu.Lock()
		defer c.mu.Unlock()
		if answer, ok := c.requests[p.PacketID()]; ok {
			delete(c.requests, p.PacketID())
			answer <- *p
		}
	default:
		c.breach("an unexpected %s", p.PacketType())
	}
	return nil
}

// breach gives up a connection whose broker does not keep to the protocol.
func (c *connection) breach(format string, args ...any) {
	c.wire.fail(fmt.Errorf("the broker sent "+format, args...))
	_ = c.wire.Close()
}

// Ack implements session.SessionManager. Acknowledgements are sent by the
// subscription, when it is told to.
func (c *connection) Ack(*packets.Publish) error { return nil }

// Close implements session.SessionManager.
func (c *connection) Close() error { return nil }

// SetErrorLogger implements session.SessionManager.
func (c *connection) SetErrorLogger(log.Logger) {}

// SetDebugLogger implements session.SessionManager.
func (c *connection) SetDebugLogger(log.Logger) {}

// subscribe asks for a topic with QoS 1 and waits for the confirmation.
// Retained messages come with a new subscription only, not with one that is
// renewed after a lost connection.
func (c *connection) subscribe(ctx context.Context, filter string) error {
	option := paho.SubscribeOptions{Topic: filter, QoS: 1, RetainHandling: 1}
	answer, err := c.client.Subscribe(ctx, &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{option}})
	switch {
	case answer != nil && len(answer.Reasons) == 1 && answer.Reasons[0] >= 0x80:
		words := ""
		if answer.Properties != nil {
			words = answer.Properties.ReasonString
		}
		return fmt.Errorf("the broker refused the subscription: %s", reason(answer.Reasons[0], words))
	case err != nil:
		return fmt.Errorf("subscription not confirmed: %w", c.explain(err))
	case len(answer.Reasons) != 1 || answer.Reasons[0] < 1:
		return fmt.Errorf("the broker granted QoS %v instead of QoS 1", answer.Reasons)
	}
	return nil
}

// explain prefers the reason for which the connection was lost to an error
// that only says that it was.
func (c *connection) explain(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isLost && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return c.cause
	}
	return err
}

// cut closes the connection without a word and waits until its goroutines are
// gone.
func (c *connection) cut() {
	_ = c.wire.Close()
	c.disconnect(&paho.Disconnect{})
}

// disconnect says goodbye, closes the connection, and waits until its
// goroutines are gone.
func (c *connection) disconnect(goodbye *paho.Disconnect) {
	_ = c.client.Disconnect(goodbye)
	c.requesting.Wait()
}

// lostBecause returns why the connection was lost, and whether that was
// because another connection has the session now.
func (c *connection) lostBecause() (cause error, takenOver bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause, c.takenOver
}
