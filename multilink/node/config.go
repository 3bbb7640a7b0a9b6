package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/storage"
)

// Role says which end of the tunnels an instance is.
type Role string

// The roles of an instance.
const (
	// Server waits for clients, which it provisions.
	Server Role = "server"
	// Client attaches to a server.
	Client Role = "client"
)

// Bounds of what is configured.
const (
	// MaxLinks is how many links an instance has at most.
	MaxLinks = desired.MaxLinks
	// DefaultClients is how many clients a server has at most, unless
	// [Config.MaxClients] says otherwise.
	DefaultClients = 1000
)

// Config is the configuration of a [Node].
type Config struct {
	// Role of the instance. It is required, and cannot change once something
	// is stored.
	Role Role
	// Plane moves the frames. It is required, and the node's alone. The caller
	// closes it after Run has returned.
	Plane multilink.Plane
	// Documents keep the configuration. They are required, and the node's alone.
	// Private keys lie there in the clear.
	Documents storage.Documents
	// Port is the device that applications use. Its name is required.
	// The addresses are those of a server on the bonded network, out of whose
	// networks clients get theirs; a client's come from its server.
	Port multilink.PortConfig
	// NoReplay makes a new instance begin without replay, for planes that cannot send
	// frames again.
	NoReplay bool
	// Interfaces lists the interfaces that may carry a link, such as
	// Host.Links. Nil means that none are known: a link is then carried by the
	// interface that it names or is named like.
	Interfaces func(ctx context.Context) ([]multilink.LinkInfo, error)
	// MaxClients is how many clients a server has at most. Zero is
	// DefaultClients.
	MaxClients int
	// Resolve finds the addresses of a host name in an endpoint. Nil uses the
	// system.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Logger for operators. Nil is silent.
	Logger *slog.Logger
}

// normalise checks the configuration and fills in the defaults.
func (c *Config) normalise() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("node: Config."+format, args...)) }
	if c.Role != Server && c.Role != Client {
		bad("Role: must be %q or %q, got %q", Server, Client, c.Role)
	}
	if c.Plane == nil {
		bad("Plane: is required")
	}
	if c.Documents == nil {
		bad("Documents: are required")
	}
	if !settings.ValidName(c.Port.Name) || len(c.Port.Name) > 15 {
		bad("Port.Name: must be 1 to 15 letters, digits, '.', '-' or '_', got %q", c.Port.Name)
	}
	if c.Role == Client && len(c.Port.Addresses) > 0 {
		bad("Port.Addresses: a client gets its addresses from the server")
	}
	for i, address := range c.Port.Addresses {
		if !address.IsValid() || !desired.HostIn(address) {
			bad("Port.Addresses[%d]: must be the address of a host and the length of its network's prefix, got %v", i, address)
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.MaxClients < 0 {
		bad("MaxClients: must be 0 or more, got %d", c.MaxClients)
	}
	c.MaxClients = cmp.Or(c.MaxClients, DefaultClients)
	if c.Resolve == nil {
		c.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return errors.Join(errs...)
}
