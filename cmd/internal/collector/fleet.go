package collector

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/flcollect/page"
	"github.com/iotenablers/enablers/flcollect/supernode"
	"github.com/iotenablers/enablers/internal/server"
)

// DefaultFleet is where SuperNodes connect unless a flag says otherwise: the port at which
// a SuperLink of Flower has its Fleet API.
const DefaultFleet = "127.0.0.1:9092"

// Fleet is the listener for SuperNodes. There is none if its address is empty, or if the port of
// the default is taken.
type Fleet struct {
	host.Listener
	taken error // why there is none
}

// NewFleet returns the listener of a flag, which has to be declared for its Address.
func NewFleet(f *host.Flags, flagName string) *Fleet {
	fleet := &Fleet{Listener: host.Listener{Flag: flagName, Name: "SuperNodes", Silent: true}}
	fleet.Open = func() (net.Listener, error) {
		if fleet.Address == "" {
			return nil, nil
		}
		at, err := f.Bound.Listen(flagName, fleet.Address)
		if err != nil && !f.Given(flagName) && errors.Is(err, syscall.EADDRINUSE) {
			fleet.taken = err
			return nil, nil
		}
		return at, err
	}
	return fleet
}

// URL returns the address of the listener, empty if there is none.
func (f *Fleet) URL() string {
	if f.Listener.Listener == nil {
		return ""
	}
	return "fleet://" + f.Addr().String()
}

// openFleet creates the server for SuperNodes, if there is a listener for them.
func (c *Collector) openFleet() error {
	if c.Fleet.Listener.Listener == nil {
		return nil
	}
	var apps *supernode.Apps
	var err error
	if c.Apps != "" {
		if apps, err = supernode.OpenApps(c.over, c.Apps); err != nil {
			return fmt.Errorf("open the apps for SuperNodes: %w", err)
		}
		for _, problem := range apps.Problems() {
			c.log.Warn("a file in the folder of apps is not an app", "error", problem)
		}
	}
	c.fleet, err = supernode.New(supernode.Config{
		Handle:    func(ctx context.Context, node *supernode.Node) error { return c.Jobs.HandleNode(ctx, node) },
		Authorize: c.authorizeNode(), Apps: apps, TLS: withoutCertificates(c.tls),
		MaxMessage: c.Gate.MaxMessage, Uploads: c.Gate.Uploads, ConnState: server.ConnState, Logger: c.log,
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

// logNodes logs what SuperNodes need, and warns if other machines can reach a listener at which
// every SuperNode may train.
func (c *Collector) logNodes() {
	if c.Fleet.taken != nil {
		c.log.Warn("no SuperNode can connect; everything else works", "error", c.Fleet.taken)
	}
	if c.fleet == nil {
		return
	}
	address := c.Fleet.Addr().String()
	need := "nothing"
	switch {
	case c.keys != nil:
		need = "a key of -fleet-keys"
	case !c.isOpenToNodes():
		need = "a key, and the server knows none: set -fleet-keys, or -grpc-access none"
	case !server.IsLoopback(c.Fleet):
		c.log.Warn("EVERY SUPERNODE MAY TRAIN that reaches the server", "address", address)
		return
	}
	c.log.Info("SuperNodes are accepted", "address", address, "need", need)
}

// fleetEndpoint says how SuperNodes reach the server, for the pages.
func (c *Collector) fleetEndpoint() page.FleetEndpoint {
	if c.Fleet.Listener.Listener == nil {
		return page.FleetEndpoint{}
	}
	return page.FleetEndpoint{
		Address: c.Fleet.Addr().String(), TLS: c.tls != nil, Key: c.keys != nil || !c.isOpenToNodes(),
	}
}
