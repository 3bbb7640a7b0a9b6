// Package embedded is an MQTT 5 broker inside the process: mochi-mqtt with
// settings and corrections that make it fit for QoS 1. It serves tests and
// trying things out; its sessions end with the process.
//
// For one subscriber it keeps at most 65,535 messages; beyond that it drops.
package embedded

import (
	"fmt"
	"log/slog"
	"math"
	"net"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
)

// Options tunes the broker. The zero value is ready for use.
type Options struct {
	// Logger receives the log of the broker. Nil is silent.
	Logger *slog.Logger
}

// New returns a broker that accepts every client that connects to the
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
	fixes := newCorrections(server)
	if err := server.AddHook(fixes, nil); err != nil {
		return nil, fmt.Errorf("set up the embedded broker: %w", err)
	}
	if err := server.AddListener(&entrance{Net: listeners.NewNet("mqtt", listener), fixes: fixes}); err != nil {
		return nil, fmt.Errorf("set up the embedded broker on %s: %w", listener.Addr(), err)
	}
	return server, nil
}
