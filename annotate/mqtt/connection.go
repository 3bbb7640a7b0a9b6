package mqtt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"
	"github.com/eclipse/paho.golang/paho/log"
	pahosession "github.com/eclipse/paho.golang/paho/session"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt/internal/session"
)

// unlimited is the patience of paho itself with an answer. The contexts of the
// requests and the end of the connection limit how long we wait.
const unlimited = 100 * 365 * 24 * time.Hour

// version5 is MQTT 5.
type version5 struct{}

var _ session.Version = version5{}

// Name implements session.Version.
func (version5) Name() string { return "MQTT 5" }

// HasProperties implements session.Version.
func (version5) HasProperties() bool { return true }

// EndsWithGoodbye implements session.Version: a DISCONNECT can change the
// session's expiry (section 3.14.2.2.2).
func (version5) EndsWithGoodbye() bool { return true }

// connection is the session manager of a paho client, which gives us the QoS 1
// packets of both directions raw: the state that outlives a connection belongs
// to the subscription and the publisher, not to paho.
type connection struct {
	*session.Connection
	client *paho.Client

	mu       sync.Mutex
	isLost   bool
	nextID   uint16
	requests map[uint16]chan<- packets.ControlPacket // SUBSCRIBE and UNSUBSCRIBE under way
}

var _ pahosession.SessionManager = (*connection)(nil)

// Connect implements session.Version.
func (version5) Connect(ctx context.Context, shared *session.Connection, hello session.Hello) (session.Protocol, error) {
	c := &connection{
		Connection: shared,
		requests:   map[uint16]chan<- packets.ControlPacket{},
	}
	c.client = paho.NewClient(paho.ClientConfig{
		Conn:          c.Wire,
		Session:       c,
		PingHandler:   pinger{c.Alive},
		PacketTimeout: unlimited,
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){
			// Only QoS 0 comes this way.
			func(r paho.PublishReceived) (bool, error) {
				p := r.Packet.Packet()
				c.Received(p.Topic, p.Payload, p.PacketID, p.QoS, readTrace(p.Properties))
				return true, nil
			},
		},
	})
	answer, err := c.client.Connect(ctx, connectPacket(hello))
	switch {
	case err == nil:
		return c, nil
	case answer != nil && answer.ReasonCode == unsupportedVersion:
		return nil, fmt.Errorf("%w: %w", errOldBroker, &session.RefusedError{Reason: connackReason(answer)})
	case answer != nil && answer.ReasonCode >= 0x80:
		return nil, &session.RefusedError{Reason: connackReason(answer)}
	case c.Wire.AnsweredOldConnack():
		return nil, errOldBroker
	}
	return nil, err
}

// connectPacket is the CONNECT packet (section 3.1).
func connectPacket(hello session.Hello) *paho.Connect {
	expiry := hello.ExpirySeconds()
	p := &paho.Connect{
		ClientID:   hello.ClientID,
		KeepAlive:  hello.KeepAlive,
		CleanStart: hello.Clean,
		Properties: &paho.ConnectProperties{
			SessionExpiryInterval: &expiry,
			MaximumPacketSize:     &hello.MaxPacketSize,
			RequestProblemInfo:    true,
		},
	}
	if hello.ReceiveMaximum > 0 {
		p.Properties.ReceiveMaximum = &hello.ReceiveMaximum
	}
	if hello.User != "" {
		p.UsernameFlag, p.Username = true, hello.User
	}
	if hello.Password != "" {
		p.PasswordFlag, p.Password = true, []byte(hello.Password)
	}
	return p
}

// connackReason is why a broker refused a connection, and what to look at.
func connackReason(answer *paho.Connack) string {
	words := ""
	if answer.Properties != nil {
		words = answer.Properties.ReasonString
	}
	return reason(answer.ReasonCode, words) + advice(answer.ReasonCode)
}

// ConAckReceived implements session.SessionManager.
func (c *connection) ConAckReceived(_ io.Writer, _ *packets.Connect, answer *packets.Connack) error {
	terms := session.Terms{
		SessionPresent: answer.SessionPresent, ReceiveMaximum: math.MaxUint16, MaxPacketSize: math.MaxInt, MaxQoS: 2,
	}
	if p := answer.Properties; p != nil {
		if p.ReceiveMaximum != nil && *p.ReceiveMaximum > 0 {
			terms.ReceiveMaximum = int(*p.ReceiveMaximum)
		}
		if p.MaximumPacketSize != nil && *p.MaximumPacketSize > 0 {
			terms.MaxPacketSize = int(min(*p.MaximumPacketSize, math.MaxInt32))
		}
		if p.MaximumQOS != nil {
			terms.MaxQoS = *p.MaximumQOS
		}
	}
	c.Accept(terms)
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
	if goodbye == nil {
		c.Lose(nil)
	} else {
		words := ""
		if goodbye.Properties != nil {
			words = goodbye.Properties.ReasonString
		}
		c.Lose(&session.Goodbye{
			Reason:    reason(goodbye.ReasonCode, words),
			TakenOver: goodbye.ReasonCode == sessionTakenOver,
			Blaming:   blaming(goodbye.ReasonCode),
		})
	}
	for _, answer := range c.requests {
		answer <- packets.ControlPacket{} // the zero packet means lost; every channel has room for one
	}
	clear(c.requests)
	return nil
}

// AddToSession implements session.SessionManager. Only SUBSCRIBE and
// UNSUBSCRIBE packets come here.
func (c *connection) AddToSession(_ context.Context, p pahosession.Packet, answer chan<- packets.ControlPacket) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isLost {
		return pahosession.ErrNoConnection
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
		c.Received(content.Topic, content.Payload, content.PacketID, content.QoS, readTrace(content.Properties))
	case *packets.Puback:
		c.Confirmed(content.PacketID, pubackRefusal(content))
	case *packets.Suback, *packets.Unsuback:
		c.mu.Lock()
		defer c.mu.Unlock()
		if answer, ok := c.requests[p.PacketID()]; ok {
			delete(c.requests, p.PacketID())
			answer <- *p
		}
	default:
		c.Breach("an unexpected %s", p.PacketType())
	}
	return nil
}

// readTrace returns the trace of a message.
func readTrace(properties *packets.Properties) annotate.Trace {
	var user session.UserProperties
	if properties != nil {
		for _, p := range properties.User {
			user.Add([]byte(p.Key), []byte(p.Value))
		}
	}
	return user.Trace()
}

// pubackRefusal is why a broker does not take a message; nil when it does.
func pubackRefusal(answer *packets.Puback) error {
	if answer.ReasonCode < 0x80 {
		return nil
	}
	words := ""
	if answer.Properties != nil {
		words = answer.Properties.ReasonString
	}
	text := reason(answer.ReasonCode, words)
	if answer.ReasonCode == notAuthorized || answer.ReasonCode == quotaExceeded {
		return denial(text)
	}
	return errors.New(text)
}

// denial is a refusal that is about the user or the broker, and not about the
// message: another one would fare no better.
type denial string

// Error returns the broker's reason.
func (d denial) Error() string { return string(d) }

// Unwrap returns annotate.ErrBrokerUnavailable.
func (d denial) Unwrap() error { return annotate.ErrBrokerUnavailable }

// Ack implements session.SessionManager. Acknowledgements are sent by the
// subscription, when it is requested.
func (c *connection) Ack(*packets.Publish) error { return nil }

// Close implements session.SessionManager.
func (c *connection) Close() error { return nil }

// SetErrorLogger implements session.SessionManager.
func (c *connection) SetErrorLogger(log.Logger) {}

// SetDebugLogger implements session.SessionManager.
func (c *connection) SetDebugLogger(log.Logger) {}

// Subscribe implements session.Protocol. Retained messages come with a new
// subscription only, not with one that is renewed after a lost connection.
func (c *connection) Subscribe(ctx context.Context, filter string, _ bool) error {
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
		return fmt.Errorf("subscription not confirmed: %w", c.Explain(err))
	case len(answer.Reasons) != 1 || answer.Reasons[0] < 1:
		return fmt.Errorf("the broker granted QoS %v instead of QoS 1", answer.Reasons)
	}
	return nil
}

// Leave implements session.Protocol.
func (c *connection) Leave(forget bool) {
	goodbye := &paho.Disconnect{}
	if forget {
		never := uint32(0)
		goodbye.Properties = &paho.DisconnectProperties{SessionExpiryInterval: &never}
	}
	_ = c.client.Disconnect(goodbye)
}

// pinger is the keep-alive in the form that paho takes.
type pinger struct {
	*session.Keepalive
}

var _ paho.Pinger = pinger{}

// Run implements paho.Pinger.
func (p pinger) Run(ctx context.Context, _ net.Conn, keepAlive uint16) error {
	return p.Keepalive.Run(ctx, keepAlive)
}

// PingResp implements paho.Pinger.
func (p pinger) PingResp() { p.Answered() }

// PacketSent implements paho.Pinger; the wire knows by itself.
func (p pinger) PacketSent() {}

// PacketReceived implements paho.Pinger; the wire knows by itself.
func (p pinger) PacketReceived() {}

// SetDebug implements paho.Pinger.
func (p pinger) SetDebug(log.Logger) {}
