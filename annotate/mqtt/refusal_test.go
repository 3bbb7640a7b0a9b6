package mqtt_test

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

func refusing(code byte, words string) *peer {
	return &peer{connack: func(*packets.Connect) *packets.Connack {
		return &packets.Connack{ReasonCode: code, Properties: &packets.Properties{ReasonString: words}}
	}}
}

func TestBroker_refusedConnection_namesTheReasonWithoutPassword(t *testing.T) {
	p := refusing(0x86, "ask the operator")
	p.start(t)
	_, err := mqtt.New(nil).Subscribe(t.Context(), p.settings("in"), annotate.ConnectOptions{})
	require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
	require.ErrorContains(t, err, `subscribe to topic "in"`)
	require.ErrorContains(t, err, p.listener.Addr().String())
	require.ErrorContains(t, err, "bad user name or password: ask the operator (0x86)")
	require.NotContains(t, err.Error(), "a secret")
}

func TestBroker_oldBroker_isNamed(t *testing.T) {
	_, err := mqtt.New(nil).Connect(t.Context(), raw(t, []byte{0x20, 2, 0, 1}), annotate.ConnectOptions{})
	require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
	require.ErrorContains(t, err, "3.1.1")
	_, err = mqtt.New(nil).Connect(t.Context(), raw(t, nil), annotate.ConnectOptions{})
	require.ErrorContains(t, err, "may not speak MQTT 5")
}

func TestBroker_largePacket_isRefusedUnread(t *testing.T) {
	_, err := mqtt.New(nil).Connect(t.Context(), raw(t, []byte{0x20, 0xff, 0xff, 0xff, 0x7f}), annotate.ConnectOptions{})
	require.ErrorContains(t, err, "packet of 268435460 bytes, the limit is 67108864")
	_, err = mqtt.New(nil).Connect(t.Context(), raw(t, []byte{0x20, 0xff, 0xff, 0xff, 0xff}), annotate.ConnectOptions{})
	require.ErrorContains(t, err, "malformed packet length")
}

func TestBroker_unansweredConnect_timesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := func(context.Context, string, string) (net.Conn, error) {
			client, broker := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, broker) }()
			return client, nil
		}
		_, err := mqtt.New(&mqtt.Options{ConnectTimeout: 30 * time.Millisecond, Dial: silent}).
			Connect(t.Context(), nowhere("t"), annotate.ConnectOptions{})
		require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
		require.ErrorContains(t, err, "no answer within 30ms")

		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		_, err = mqtt.New(&mqtt.Options{Dial: silent}).Connect(ctx, nowhere("t"), annotate.ConnectOptions{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestBroker_Subscribe_refusesLessThanQoS1(t *testing.T) {
	for code, want := range map[byte]string{0x87: "not authorized (0x87)", 0: "granted QoS"} {
		p := &peer{answer: func(conn net.Conn, packet *packets.ControlPacket) { grant(conn, packet, code) }}
		p.start(t)
		_, err := mqtt.New(nil).Subscribe(t.Context(), p.settings("in"), annotate.ConnectOptions{})
		require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
		require.ErrorContains(t, err, want)
	}
}

func TestBroker_Connect_refusesABrokerWithoutQoS1(t *testing.T) {
	none := byte(0)
	p := &peer{connack: func(*packets.Connect) *packets.Connack {
		return &packets.Connack{Properties: &packets.Properties{MaximumQOS: &none}}
	}}
	p.start(t)
	_, err := mqtt.New(nil).Connect(t.Context(), p.settings("out"), annotate.ConnectOptions{})
	require.ErrorContains(t, err, "QoS 0 only")
}

func TestBroker_refusesBadSettings(t *testing.T) {
	good := func() annotate.Topic {
		return annotate.Topic{
			Name: "t", Broker: mqtt.Type,
			Settings: mqtt.Settings{Protocol: "tcp", Host: "127.0.0.1", Port: 1},
		}
	}
	for want, change := range map[string]func(*annotate.Topic){
		`protocol "wss": MQTT over WebSocket`: func(s *annotate.Topic) { mqtttest.Change(s, func(m *mqtt.Settings) { m.Protocol = "wss" }) },
		`got "http"`:                          func(s *annotate.Topic) { mqtttest.Change(s, func(m *mqtt.Settings) { m.Protocol = "http" }) },
		"name no host":                        func(s *annotate.Topic) { mqtttest.Change(s, func(m *mqtt.Settings) { m.Host = "" }) },
		"port 65536":                          func(s *annotate.Topic) { mqtttest.Change(s, func(m *mqtt.Settings) { m.Port = 65_536 }) },
		"no MQTT settings":                    func(s *annotate.Topic) { s.Settings = nil },
		`broker type "KAFKA"`:                 func(s *annotate.Topic) { s.Broker = "KAFKA" },
		"wildcards":                           func(s *annotate.Topic) { s.Name = "a/+" },
		"no name":                             func(s *annotate.Topic) { s.Name = "" },
		"not valid UTF-8":                     func(s *annotate.Topic) { s.Name = "\xff" },
		"connection refused":                  func(*annotate.Topic) {},
	} {
		s := good()
		change(&s)
		_, err := mqtt.New(nil).Connect(t.Context(), s, annotate.ConnectOptions{})
		require.ErrorContains(t, err, want)
	}
}

func TestBroker_Connect_confirmsARefusedMessageWithTheReason(t *testing.T) {
	limit, two := uint32(100), uint16(2)
	p := &peer{
		connack: func(*packets.Connect) *packets.Connack {
			return &packets.Connack{Properties: &packets.Properties{MaximumPacketSize: &limit, ReceiveMaximum: &two}}
		},
		answer: func(conn net.Conn, packet *packets.ControlPacket) {
			m := packet.Content.(*packets.Publish)
			ack := packets.Puback{PacketID: m.PacketID, Properties: &packets.Properties{}}
			if string(m.Payload) == "no" {
				ack.ReasonCode, ack.Properties.ReasonString = 0x97, "try tomorrow"
			}
			_, _ = ack.WriteTo(conn)
		},
	}
	p.start(t)
	pub, err := mqtt.New(nil).Connect(t.Context(), p.settings("out"), annotate.ConnectOptions{})
	require.NoError(t, err)
	var got []error
	// 100 bytes are 2 of fixed header, 5 of topic, 2 of identifier, 1 of properties, and 90.
	for _, payload := range []string{"yes", "no", string(make([]byte, 90)), string(make([]byte, 91)), "yes"} {
		err := pub.Publish(t.Context(), annotate.Message{Topic: "out", Payload: []byte(payload)}, func(err error) { got = append(got, err) })
		require.NoError(t, err)
	}
	require.NoError(t, pub.Close(t.Context()))
	require.Len(t, got, 5)
	require.NoError(t, got[0])
	require.EqualError(t, got[1], `publish on topic "out": the broker refused it: quota exceeded: try tomorrow (0x97)`)
	require.NoError(t, got[2])
	require.EqualError(t, got[3], `publish on topic "out": its packet has 101 bytes, the broker takes at most 100`)
	require.NoError(t, got[4])
	require.Nil(t, p.connect(1), "the connection was lost on the way")
}

// A trace never makes a message fail that the broker takes without.
func TestBroker_Connect_leavesOutTheTraceOfAMessageThatItMakesTooLarge(t *testing.T) {
	limit := uint32(200)
	arrived := make(chan int, 2) // user properties of each message
	p := &peer{
		connack: func(*packets.Connect) *packets.Connack {
			return &packets.Connack{Properties: &packets.Properties{MaximumPacketSize: &limit}}
		},
		answer: func(conn net.Conn, packet *packets.ControlPacket) {
			m := packet.Content.(*packets.Publish)
			arrived <- len(m.Properties.User)
			_, _ = (&packets.Puback{PacketID: m.PacketID, Properties: &packets.Properties{}}).WriteTo(conn)
		},
	}
	p.start(t)
	pub, err := mqtt.New(nil).Connect(t.Context(), p.settings("out"), annotate.ConnectOptions{})
	require.NoError(t, err)
	trace := annotate.Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	for size, want := range map[int]int{100: 1, 150: 0} {
		confirmed := make(chan error, 1)
		m := annotate.Message{Topic: "out", Payload: make([]byte, size), Trace: trace}
		require.NoError(t, pub.Publish(t.Context(), m, func(err error) { confirmed <- err }))
		require.NoError(t, <-confirmed)
		require.Equal(t, want, <-arrived)
	}
	require.NoError(t, pub.Close(t.Context()))
}
