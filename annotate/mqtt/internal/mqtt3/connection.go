package mqtt3

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/eclipse/paho.mqtt.golang/packets"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt/internal/session"
)

// The protocol's name and number in a CONNECT packet (section 3.1.2).
const (
	protocolName  = "MQTT"
	protocolLevel = 4
)

// refused is the return code of a SUBACK that grants nothing (section 3.9.3).
const refused = 0x80

// version311 is MQTT 3.1.1.
type version311 struct{}

var _ session.Version = version311{}

// Name implements session.Version.
func (version311) Name() string { return "MQTT 3.1.1" }

// HasProperties implements session.Version.
func (version311) HasProperties() bool { return false }

// EndsWithGoodbye implements session.Version. A session ends by a connection
// with a clean session only (section 3.1.2.4).
func (version311) EndsWithGoodbye() bool { return false }

// connection is one connection: a goroutine that reads, and one for the
// keep-alive.
type connection struct {
	*session.Connection
	renewable bool // the broker had a session, and with it what was subscribed to
	answer    chan *packets.SubackPacket
	stop      context.CancelFunc // ends the keep-alive
	work      sync.WaitGroup
}

// Connect implements session.Version.
func (version311) Connect(ctx context.Context, shared *session.Connection, hello session.Hello) (session.Protocol, error) {
	answer, err := shake(ctx, shared.Wire, hello)
	if err != nil {
		return nil, err
	}
	c := &connection{
		Connection: shared,
		renewable:  answer.SessionPresent,
		answer:     make(chan *packets.SubackPacket, 1),
	}
	c.Accept(session.Terms{
		SessionPresent: answer.SessionPresent, ReceiveMaximum: math.MaxUint16, MaxPacketSize: math.MaxInt, MaxQoS: 2,
	})
	alive, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	c.work.Go(func() {
		c.read()
		stop()
	})
	c.work.Go(func() {
		if c.Alive.Run(alive, hello.KeepAlive) != nil {
			_ = c.Wire.Close() // the reader notices, and the connection is lost
		}
	})
	return c, nil
}

// shake sends CONNECT and waits for the CONNACK that accepts it.
func shake(ctx context.Context, w *session.Wire, hello session.Hello) (*packets.ConnackPacket, error) {
	unhook := context.AfterFunc(ctx, func() { _ = w.Close() })
	answer, err := exchange(w, hello)
	if !unhook() {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if answer.ReturnCode != packets.Accepted {
		return nil, &session.RefusedError{Reason: connackReason(answer.ReturnCode)}
	}
	return answer, nil
}

// exchange writes one packet and reads one.
func exchange(w *session.Wire, hello session.Hello) (*packets.ConnackPacket, error) {
	if err := connectPacket(hello).Write(w); err != nil {
		return nil, fmt.Errorf("send CONNECT: %w", err)
	}
	packet, err := packets.ReadPacket(w)
	if err != nil {
		return nil, fmt.Errorf("wait for CONNACK: %w", err)
	}
	answer, ok := packet.(*packets.ConnackPacket)
	if !ok || answer.RemainingLength != 2 {
		return nil, fmt.Errorf("the broker answered the CONNECT with an unexpected %s", packetName(packet))
	}
	return answer, nil
}

// connectPacket is the CONNECT packet (section 3.1).
func connectPacket(hello session.Hello) *packets.ConnectPacket {
	p := packets.NewControlPacket(packets.Connect).(*packets.ConnectPacket)
	p.ProtocolName, p.ProtocolVersion = protocolName, protocolLevel
	p.ClientIdentifier = hello.ClientID
	p.CleanSession = hello.Clean
	p.Keepalive = hello.KeepAlive
	p.UsernameFlag, p.Username = hello.User != "", hello.User
	p.PasswordFlag, p.Password = hello.Password != "", []byte(hello.Password)
	return p
}

// connackReason puts the return code of a CONNACK (section 3.2.2.3) into
// words, and says what to look at.
func connackReason(code byte) string {
	text, advice := "unknown reason", ""
	switch code {
	case packets.ErrRefusedBadProtocolVersion:
		text, advice = "unacceptable protocol version", "; see mqttSettings.version"
	case packets.ErrRefusedIDRejected:
		text, advice = "client identifier rejected", "; see mqttSettings.clientId"
	case packets.ErrRefusedServerUnavailable:
		text = "server unavailable"
	case packets.ErrRefusedBadUsernameOrPassword:
		text, advice = "bad user name or password", "; see mqttSettings.user and password"
	case packets.ErrRefusedNotAuthorised:
		text, advice = "not authorized", "; see mqttSettings.user and password"
	}
	return fmt.Sprintf("%s (MQTT 3.1.1 return code %d)%s", text, code, advice)
}

// read takes what arrives until the connection ends.
func (c *connection) read() {
	for {
		packet, err := packets.ReadPacket(c.Wire)
		if err != nil {
			// What was wrong with the wire is known to it already.
			c.Wire.Fail(fmt.Errorf("the broker sent a malformed packet: %v", err))
			break
		}
		c.take(packet)
	}
	_ = c.Wire.Close()
	c.Lose(nil)
}

// take deals with one packet.
func (c *connection) take(packet packets.ControlPacket) {
	switch p := packet.(type) {
	case *packets.PublishPacket:
		c.Received(p.TopicName, p.Payload, p.MessageID, p.Qos, annotate.Trace{})
	case *packets.PubackPacket:
		if p.RemainingLength != 2 {
			c.Breach("a PUBACK of %d bytes", p.RemainingLength)
			return
		}
		c.Confirmed(p.MessageID, nil)
	case *packets.SubackPacket:
		select {
		case c.answer <- p:
		default:
			c.Breach("a SUBACK without a SUBSCRIBE")
		}
	case *packets.PingrespPacket:
		c.Alive.Answered()
	default:
		c.Breach("an unexpected %s", packetName(packet))
	}
}

// Subscribe implements session.Protocol. A broker of MQTT 3.1.1 sends retained
// messages upon every SUBSCRIBE. Where a session was found again that has the
// subscription it has none, so that they do not come with each connection.
func (c *connection) Subscribe(ctx context.Context, filter string, renewed bool) error {
	if renewed && c.renewable {
		return nil
	}
	request := packets.NewControlPacket(packets.Subscribe).(*packets.SubscribePacket)
	// From the upper end: there are brokers that take an identifier of ours
	// for one of their own, which they number from 1.
	request.MessageID = math.MaxUint16
	request.Topics, request.Qoss = []string{filter}, []byte{1}
	if err := request.Write(locked{c.Wire}); err != nil {
		return fmt.Errorf("subscription not confirmed: %w", c.Explain(err))
	}
	select {
	case answer := <-c.answer:
		return subackError(answer)
	case <-c.Done():
		return fmt.Errorf("subscription not confirmed: %w", c.Explain(errors.New("the connection was lost")))
	case <-ctx.Done():
		return fmt.Errorf("subscription not confirmed: %w", ctx.Err())
	}
}

// subackError is what is wrong with the answer to a SUBSCRIBE; nil when it
// grants QoS 1 or more.
func subackError(answer *packets.SubackPacket) error {
	codes := answer.ReturnCodes
	switch {
	case answer.MessageID != math.MaxUint16 || len(codes) != 1:
		return fmt.Errorf("the broker confirmed packet %d with %d return codes where it was asked for one topic", answer.MessageID, len(codes))
	case codes[0] == refused:
		return errors.New("the broker refused the subscription (return code 0x80); the user may not be allowed to read the topic")
	case codes[0] < 1 || codes[0] > 2:
		return fmt.Errorf("the broker granted QoS %v instead of QoS 1", codes)
	}
	return nil
}

// Leave implements session.Protocol.
func (c *connection) Leave(bool) {
	_ = packets.NewControlPacket(packets.Disconnect).Write(locked{c.Wire})
	_ = c.Wire.Close()
	c.stop()
	c.work.Wait()
}

// locked writes each packet as a whole.
type locked struct{ wire *session.Wire }

// Write implements io.Writer. The library gives it one packet at a time.
func (l locked) Write(p []byte) (int, error) { return len(p), l.wire.Send(p) }

// packetName is the name of a packet's type, with which its text begins.
func packetName(packet packets.ControlPacket) string {
	name, _, _ := strings.Cut(packet.String(), ":")
	return name
}
