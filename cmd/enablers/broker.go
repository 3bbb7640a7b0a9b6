package main

import (
	"context"
	"log/slog"
	"net"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"

	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/embedded"
	"github.com/iotenablers/enablers/cmd/internal/annotation"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/internal/server"
)

// connectTime is how long a client of the broker has for its first packet, CONNECT.
const connectTime = 10 * time.Second

// broker is the embedded MQTT broker. It keeps up to 65,535 messages for each absent
// subscriber in memory, until the process ends.
type broker struct {
	server *mochi.Server
	addr   *net.TCPAddr
}

// openBroker opens the broker, whose address is that of channels that name none.
func (s *settings) openBroker(_ context.Context, env *host.Env) (*host.Block, error) {
	var err error
	if s.broker, err = newBroker(s.mqtt, env.Logger); err != nil {
		return nil, err
	}
	at := s.broker.settings()
	s.annotation.MQTT = mqtt.Defaults{Host: at.Host, Port: at.Port}
	s.annotation.Allowed = []annotation.Address{{Host: at.Host, Port: at.Port}}
	server.WarnIfExposed(env.Logger, s.mqtt, "MQTT broker")
	return &host.Block{Run: []server.Part{{Name: "MQTT broker", Run: s.broker.run}}, Overview: s.broker.overview}, nil
}

func newBroker(listener net.Listener, log *slog.Logger) (*broker, error) {
	warned := slog.New(warnings{log.With("part", "MQTT broker").Handler()})
	b, err := embedded.New(prompt{server.KeepAccepting(listener, log), connectTime}, &embedded.Options{Logger: warned})
	if err != nil {
		return nil, err
	}
	b.Options.Capabilities.MaximumPacketSize = 32 << 20 // the annotator takes messages of half that size
	return &broker{b, listener.Addr().(*net.TCPAddr)}, nil
}

// prompt is a listener whose connections end if the first packet takes too long. The
// broker replaces that deadline by the keep-alive time of the client after the packet.
type prompt struct {
	net.Listener
	limit time.Duration
}

// Accept implements net.Listener.
func (p prompt) Accept() (net.Conn, error) {
	conn, err := p.Listener.Accept()
	if err == nil {
		_ = conn.SetReadDeadline(time.Now().Add(p.limit)) // a closed one fails when it is read
	}
	return conn, err
}

// run serves until ctx ends.
func (b *broker) run(ctx context.Context) error {
	if err := b.server.Serve(); err != nil {
		return err
	}
	<-ctx.Done()
	return b.server.Close()
}

// url returns the URL at which the broker listens.
func (b *broker) url() string { return "mqtt://" + b.addr.String() }

// settings returns the settings of a client on this machine.
func (b *broker) settings() mqtt.Settings {
	host := b.addr.IP
	if host.IsUnspecified() {
		host = net.IPv4(127, 0, 0, 1)
	}
	return mqtt.Settings{Protocol: "tcp", Host: host.String(), Port: b.addr.Port}
}

func (b *broker) overview() overview.Block {
	info := b.server.Info.Clone()
	count := func(n int64) uint64 { return uint64(max(n, 0)) }
	block := overview.Block{
		Name: "MQTT broker", Summary: "Carries the messages. It keeps them in memory and accepts every client that can reach it.",
		Address: b.url(),
		Facts: []overview.Fact{
			{Name: "clients", Value: count(info.ClientsConnected)},
			{Name: "subscriptions", Value: count(info.Subscriptions)},
			{Name: "retained", Value: count(info.Retained)},
		},
	}
	if dropped := info.MessagesDropped + info.InflightDropped; dropped > 0 {
		block.Facts = append(block.Facts, overview.Fact{Name: "lost since the start", Value: count(dropped)})
	}
	return block
}

// warnings passes on the warnings and errors of the broker, which also logs each client
// that connects or disconnects.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (w warnings) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "" {
		return nil
	}
	return w.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
