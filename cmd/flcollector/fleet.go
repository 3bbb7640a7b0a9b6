package main

import (
	"context"
	"log/slog"
	"net"
	"os"

	"github.com/iotenablers/enablers/cmd/internal/collector"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/server"
)

// fleetSettings are the flags for SuperNodes.
type fleetSettings struct{ listen, apps, keys string }

func (s *fleetSettings) declare(f *server.Flags) {
	f.StringVar(&s.listen, "fleet", collector.DefaultFleet,
		"`HOST:PORT` for SuperNodes of Flower, over HTTP and gRPC; port 0 takes any that is free, and empty takes none of them. "+
			"If the port of the default is taken, the server goes on without")
	f.StringVar(&s.apps, "apps", "",
		"a `folder` of apps for SuperNodes, .fab files as flwr build makes them; a job names one of them")
	f.StringVar(&s.keys, "fleet-keys", "",
		"a `file` with the public keys of the SuperNodes that may take part, one a line as ssh-keygen -t ecdsa writes it, or in PEM; "+
			"it is read again at a SIGHUP. Without it all may where -access or -grpc-access asks clients for nothing, and otherwise none")
}

func (s *fleetSettings) check(wrong func(name, format string, args ...any)) {
	if s.apps != "" {
		if _, err := os.ReadDir(s.apps); err != nil {
			wrong("apps", "%w", err)
		}
	}
	if s.keys != "" && s.listen == "" {
		wrong("fleet-keys", "-fleet is empty, so there are no SuperNodes")
	}
}

// fleet is the listener for SuperNodes; nil if there is none, with the reason if the port of
// the default is taken.
type fleet struct {
	net.Listener
	keys  *collector.NodeKeys // nil without a file of them
	taken error
}

// openFleet opens the listener for SuperNodes.
func (s *settings) openFleet(ctx context.Context) (*fleet, error) {
	var at fleet
	var err error
	if s.fleet.keys != "" {
		if at.keys, err = collector.OpenNodeKeys(ctx, s.fleet.keys); err != nil {
			return nil, cli.Usage(err)
		}
	}
	at.Listener, at.taken, err = collector.ListenFleet(s.connections.Listen, "fleet", s.fleet.listen, s.fleetGiven)
	return &at, err
}

// close closes the listener, if the part that serves it has not.
func (f *fleet) close() {
	if f.Listener != nil {
		_ = f.Listener.Close()
	}
}

// configure has a collector serve the SuperNodes.
func (f *fleet) configure(config *collector.Config, s *settings, doorIsOpen bool) {
	config.Fleet, config.FleetKeys, config.Apps = f.Listener, f.keys, s.fleet.apps
	config.OpenToNodes = s.clientAccess.IsOpen() || doorIsOpen && s.clientCA == ""
}

// parts are what the keys need besides.
func (f *fleet) parts() []server.Part {
	if f.keys == nil {
		return nil
	}
	return []server.Part{server.Reloading("keys of SuperNodes", func(ctx context.Context) error { return f.keys.Reload(ctx) })}
}

// say logs what SuperNodes need.
func (f *fleet) say(c *collector.Collector, log *slog.Logger) { c.SayNodes(log, f.taken) }
