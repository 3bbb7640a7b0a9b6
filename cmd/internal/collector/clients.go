package collector

import (
	"context"
	"fmt"

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

// logClients logs what Flower clients need, and warns if every one that reaches the listener may
// train.
func (c *Collector) logClients() {
	address := c.Clients.Addr().String()
	need := "a token, as metadata authorization: Bearer TOKEN, or a client certificate with -tls-client-ca; " +
		"stock clients can send no token and need -" + c.AccessFlag + " none"
	if c.Certificate.Prefix != "" {
		need += " or -" + c.Certificate.Prefix + "-client-ca"
	}
	switch {
	case c.Certificate.ClientRequired:
		need = "a certificate of an authority in -grpc-client-ca"
	case c.env.Door.IsOpen(), c.Access.IsOpen():
		need = "nothing"
		if !server.IsLoopback(c.Clients) {
			c.log.Warn("EVERY FLOWER CLIENT MAY TRAIN that reaches the server", "address", address)
			return
		}
	}
	c.env.Logger.Info("Flower clients are accepted", "address", address, "need", need)
}

// authorizeClient returns the function of flower.ServerConfig, nil if it accepts every client.
func (c *Collector) authorizeClient() func(ctx context.Context, caller flower.Caller) (name string, err error) {
	if c.isOpenToClients() {
		return nil
	}
	return func(ctx context.Context, caller flower.Caller) (string, error) {
		credentials := access.Credentials{Address: caller.Address, Token: caller.Token, TLS: caller.TLS}
		return c.env.Door.Admit(ctx, credentials, httpapi.Reader)
	}
}

// ClientsURL returns the address of the listener for Flower clients with its scheme. doorTLS says
// that the door has a certificate.
func (c *Collector) ClientsURL(doorTLS bool) string {
	if doorTLS || c.Certificate.Certificate != "" {
		return "grpcs://" + c.Clients.Addr().String()
	}
	return "grpc://" + c.Clients.Addr().String()
}
