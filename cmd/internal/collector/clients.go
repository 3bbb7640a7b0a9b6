package collector

import (
	"context"
	"fmt"
	"log/slog"
	"net"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/server"
)

// ClientAccess is the value of a flag: "none" lets every Flower client train, and with the
// empty value the door decides on them.
type ClientAccess string

const openToClients ClientAccess = "none"

// Check returns an error for every other value.
func (a ClientAccess) Check() error {
	if a != "" && a != openToClients {
		return fmt.Errorf("expected none or nothing, got %q", a)
	}
	return nil
}

// IsOpen reports whether every Flower client may train.
func (a ClientAccess) IsOpen() bool { return a == openToClients }

// WarnIfExposed logs a warning if other machines can reach a listener at which every
// Flower client may train, and reports whether they can.
func WarnIfExposed(log *slog.Logger, clients net.Listener) bool {
	if server.IsLoopback(clients) {
		return false
	}
	log.Warn("EVERY FLOWER CLIENT MAY TRAIN that reaches the server", "address", clients.Addr().String())
	return true
}

// authorizeClient returns the function of flower.ServerConfig, nil if it lets every client
// in.
func (c Config) authorizeClient() func(ctx context.Context, caller flower.Caller) (name string, err error) {
	if c.OpenToClients {
		return nil
	}
	return func(ctx context.Context, caller flower.Caller) (string, error) {
		credentials := access.Credentials{Address: caller.Address, Token: caller.Token, TLS: caller.TLS}
		return c.Door.Admit(ctx, credentials, httpapi.Reader)
	}
}

// ClientsURL returns the address of a listener for Flower clients with its scheme.
func (c *Collector) ClientsURL(clients net.Listener) string {
	if c.config.TLS != nil {
		return "grpcs://" + clients.Addr().String()
	}
	return "grpc://" + clients.Addr().String()
}
