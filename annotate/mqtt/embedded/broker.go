// Package embedded is an MQTT 5 broker inside the process: mochi-mqtt with
// settings and corrections that make it fit for QoS 1. It serves tests and
// trying things out; its sessions end with the process.
//
// What it cannot do: when a subscriber comes back while others publish,
// messages of before and of now may mix. And for one subscriber it keeps at
// most 65,535 messages; beyond that it drops.
package embedded

import (
	"fmt"
	"log/slog"
	"math"
	"net"
	"sync/atomic"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"
)

// Options tunes the broker. The zero value is ready for use.
type Options struct {
	// Logger hears what the broker has to say. Nil is silent.
	Logger *slog.Logger
}

// New returns a broker that will accept everybody who connects to the
// listener. Its Serve starts it and returns, its Close ends it and closes the
// listener. opts may be nil.
func New(listener net.Listener, opts *Options) (*mochi.Server, error) {
	logger := slog.New(slog.DiscardHandler)
	if opts != nil && opts.Logger != nil {
		logger = opts.Logger
	}
	capabilities := mochi.NewDefaultServerCapabilities()
	capabilities.MaximumInflight = math.MaxUint16
	capabilities.MaximumClientWritesPending = math.MaxUint16
	server := mochi.New(&mochi.Options{Capabilities: capabilities, Logger: logger})
	if err := server.AddHook(newCorrections(), nil); err != nil {
		return nil, fmt.Errorf("set up the embedded broker: %w", err)
	}
	if err := server.AddListener(listeners.NewNet("mqtt", listener)); err != nil {
		return nil, fmt.Errorf("set up the embedded broker on %s: %w", listener.Addr(), err)
	}
	return server, nil
}

// corrections lets everybody in and keeps mochi-mqtt 2.7.9 from two faults.
//
// A message that was held back because the client's Receive Maximum was
// reached is not counted when it is acknowledged, so that the quota shrinks
// for good; and looking for such messages locks a mutex for reading twice,
// which stands still for ever when a writer comes between. Clients are
// therefore treated as if they had named no Receive Maximum.
//
// What waits in a session is sent in the order of the lowest 16 bits of its
// time of creation in seconds, which is the same for many messages. The
// messages are therefore numbered through that time.
type corrections struct {
	mochi.HookBase
	next atomic.Int64
}

func newCorrections() *corrections {
	h := &corrections{}
	// A time in the future whose lowest 16 bits are zero: nothing expires.
	h.next.Store((time.Now().Unix()>>16 + 1) << 16)
	return h
}

// ID implements mochi.Hook.
func (h *corrections) ID() string { return "corrections" }

// Provides implements mochi.Hook.
func (h *corrections) Provides(event byte) bool {
	switch event {
	case mochi.OnConnect, mochi.OnConnectAuthenticate, mochi.OnACLCheck, mochi.OnPublish:
		return true
	}
	return false
}

// OnConnect implements mochi.Hook.
func (h *corrections) OnConnect(client *mochi.Client, _ packets.Packet) error {
	client.Properties.Props.ReceiveMaximum = 0
	client.State.Inflight.ResetSendQuota(0)
	return nil
}

// OnConnectAuthenticate implements mochi.Hook.
func (h *corrections) OnConnectAuthenticate(*mochi.Client, packets.Packet) bool { return true }

// OnACLCheck implements mochi.Hook.
func (h *corrections) OnACLCheck(*mochi.Client, string, bool) bool { return true }

// OnPublish implements mochi.Hook.
func (h *corrections) OnPublish(_ *mochi.Client, p packets.Packet) (packets.Packet, error) {
	p.Created = h.next.Add(1)
	return p, nil
}
