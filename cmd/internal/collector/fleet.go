package collector

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"

	"github.com/iotenablers/enablers/flcollect/page"
	"github.com/iotenablers/enablers/flcollect/supernode"
	"github.com/iotenablers/enablers/internal/server"
)

// DefaultFleet is where SuperNodes connect unless a flag says otherwise: the port at which
// a SuperLink of Flower has its Fleet API.
const DefaultFleet = "127.0.0.1:9092"

// ListenFleet opens the listener for SuperNodes with listen; nil for an empty address. If
// the port of the default is taken, which is not that of the flag, there is none, and taken
// is the reason.
func ListenFleet(listen func(flagName, address string) (net.Listener, error), flagName, address string, given bool,
) (at net.Listener, taken, err error) {
	if address == "" {
		return nil, nil, nil
	}
	at, err = listen(flagName, address)
	if err != nil && !given && errors.Is(err, syscall.EADDRINUSE) {
		return nil, err, nil
	}
	return at, nil, err
}

// openFleet makes the server for SuperNodes, if there is a listener for them.
func (c *Collector) openFleet(config Config) error {
	if config.Fleet == nil {
		return nil
	}
	var apps *supernode.Apps
	var err error
	if config.Apps != "" {
		if apps, err = supernode.OpenApps(c.over, config.Apps); err != nil {
			return fmt.Errorf("open the apps for SuperNodes: %w", err)
		}
		for _, problem := range apps.Problems() {
			config.Logger.Warn("a file in the folder of apps is no app", "error", problem)
		}
	}
	c.fleet, err = supernode.New(supernode.Config{
		Handle:    func(ctx context.Context, node *supernode.Node) error { return c.Jobs.HandleNode(ctx, node) },
		Authorize: config.authorizeNode(), Apps: apps, TLS: withoutCertificates(config.TLS),
		MaxMessage: config.MaxMessage, Uploads: config.Uploads, ConnState: server.ConnState, Logger: config.Logger,
	})
	return err
}

// withoutCertificates returns the configuration without certificates of clients:
// SuperNodes have none.
func withoutCertificates(config *tls.Config) *tls.Config {
	if config == nil || config.ClientAuth == tls.NoClientCert {
		return config
	}
	config = config.Clone()
	config.ClientAuth = tls.NoClientCert
	if current := config.GetConfigForClient; current != nil {
		config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			now, err := current(hello)
			if now != nil {
				now = now.Clone()
				now.ClientAuth = tls.NoClientCert
			}
			return now, err
		}
	}
	return config
}

// FleetURL returns the address of the listener for SuperNodes, empty if there is none.
func FleetURL(fleet net.Listener) string {
	if fleet == nil {
		return ""
	}
	return "fleet://" + fleet.Addr().String()
}

// SayNodes logs what SuperNodes need, and warns if other machines can reach a listener at
// which every SuperNode may train. Taken is why there is no listener.
func (c *Collector) SayNodes(log *slog.Logger, taken error) {
	switch {
	case taken != nil:
		log.Warn("no SuperNode can connect; everything else works", "error", taken)
	case c.config.Fleet == nil:
	case c.config.FleetKeys != nil:
		log.Info("SuperNodes are let in", "address", c.config.Fleet.Addr().String(), "need", "a key of -fleet-keys")
	case !c.config.OpenToNodes:
		log.Info("SuperNodes are let in", "address", c.config.Fleet.Addr().String(), "need",
			"a key, and the server knows none: set -fleet-keys, or -grpc-access none")
	case !server.IsLoopback(c.config.Fleet):
		log.Warn("EVERY SUPERNODE MAY TRAIN that reaches the server", "address", c.config.Fleet.Addr().String())
	default:
		log.Info("SuperNodes are let in", "address", c.config.Fleet.Addr().String(), "need", "nothing")
	}
}

// fleetEndpoint says how SuperNodes reach the server, for the pages.
func (c *Collector) fleetEndpoint() page.FleetEndpoint {
	if c.config.Fleet == nil {
		return page.FleetEndpoint{}
	}
	return page.FleetEndpoint{
		Address: c.config.Fleet.Addr().String(), TLS: c.config.TLS != nil,
		Key: c.config.FleetKeys != nil || !c.config.OpenToNodes,
	}
}
