// Package mqtttest starts MQTT brokers for tests: one inside the process, and
// mosquitto where it is installed. It also has a network proxy that can be
// cut. Everything listens on free loopback ports and ends with the test.
package mqtttest

import (
	"log/slog"
	"math"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/iotenablers/enablers/annotate"
)

// Address is where a broker listens.
type Address struct {
	Host string
	Port int
}

// Settings returns topic settings for the broker at the address.
func (a Address) Settings(topic, clientID string) annotate.TopicSettings {
	return annotate.TopicSettings{
		Topic: topic, BrokerType: annotate.MQTT,
		MQTT: &annotate.MQTTSettings{Protocol: "tcp", Host: a.Host, Port: a.Port, ClientID: clientID},
	}
}

// String returns host:port.
func (a Address) String() string { return net.JoinHostPort(a.Host, strconv.Itoa(a.Port)) }

func addressOf(listener net.Listener) Address {
	addr := listener.Addr().(*net.TCPAddr)
	return Address{Host: addr.IP.String(), Port: addr.Port}
}

// ReceiveMaximum is what clients of the embedded broker should announce. The
// broker loses count of messages that it held back because of the client's
// Receive Maximum, so it must never come to that.
const ReceiveMaximum = math.MaxUint16

// Option changes the embedded broker before it starts.
type Option func(*mochi.Server)

// Embedded starts a broker inside the process. It keeps sessions as long as it
// lives, and what waits for an absent subscriber in the order of publishing,
// up to 65,535 messages.
func Embedded(tb testing.TB, options ...Option) Address {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("listen for the embedded broker: %v", err)
	}
	capabilities := mochi.NewDefaultServerCapabilities()
	capabilities.MaximumInflight = math.MaxUint16
	capabilities.MaximumClientWritesPending = math.MaxUint16
	server := mochi.New(&mochi.Options{
		Capabilities: capabilities,
		Logger:       slog.New(slog.DiscardHandler),
	})
	for _, option := range options {
		option(server)
	}
	if err := server.AddHook(newHook(), nil); err != nil {
		tb.Fatalf("set up the embedded broker: %v", err)
	}
	if err := server.AddListener(listeners.NewNet("test", listener)); err != nil {
		tb.Fatalf("set up the embedded broker: %v", err)
	}
	if err := server.Serve(); err != nil {
		tb.Fatalf("start the embedded broker: %v", err)
	}
	tb.Cleanup(func() { _ = server.Close() })
	return addressOf(listener)
}

// hook lets everybody in, and numbers the messages through their time of
// creation: the broker sends what waits in a session in the order of the
// lowest 16 bits of that time, and many messages are created within a second.
type hook struct {
	mochi.HookBase
	next atomic.Int64
}

func newHook() *hook {
	h := &hook{}
	// A time in the future whose lowest 16 bits are zero: nothing expires.
	h.next.Store((time.Now().Unix()>>16 + 1) << 16)
	return h
}

// ID implements mochi.Hook.
func (h *hook) ID() string { return "mqtttest" }

// Provides implements mochi.Hook.
func (h *hook) Provides(event byte) bool {
	return event == mochi.OnPublish || event == mochi.OnConnectAuthenticate || event == mochi.OnACLCheck
}

// OnConnectAuthenticate implements mochi.Hook.
func (h *hook) OnConnectAuthenticate(*mochi.Client, packets.Packet) bool { return true }

// OnACLCheck implements mochi.Hook.
func (h *hook) OnACLCheck(*mochi.Client, string, bool) bool { return true }

// OnPublish implements mochi.Hook.
func (h *hook) OnPublish(_ *mochi.Client, p packets.Packet) (packets.Packet, error) {
	p.Created = h.next.Add(1)
	return p, nil
}
