package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"

	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/server"
)

// gate is how Flower clients are let in.
type gate struct {
	tls *tls.Config // nil means none
	all bool        // whether the door does not decide
}

// guarded returns the listeners whose callers the door lets in. That of Flower clients is
// not among them if it has a rule of its own.
func (s *settings) guarded(web, clients net.Listener) []net.Listener {
	if s.clientCA != "" || s.clientAccess == openToClients {
		return []net.Listener{web}
	}
	return []net.Listener{web, clients}
}

// gate returns the gate of the settings: certificates of -grpc-client-ca, or all clients
// with -grpc-access none, or those that the door lets in.
func (s *settings) gate(log *slog.Logger) (*gate, error) {
	g := &gate{all: s.clientCA != "" || s.clientAccess == openToClients}
	files := s.door.TLS()
	if s.cert != "" || s.clientCA != "" {
		files = server.TLS{Prefix: "grpc", Certificate: cmp.Or(s.cert, files.Certificate), Key: cmp.Or(s.key, files.Key),
			ClientCA: cmp.Or(s.clientCA, files.ClientCA), ClientRequired: s.clientCA != ""}
	}
	var err error
	g.tls, err = files.Config(log)
	return g, err
}

// authorize returns the function of flower.ServerConfig, nil if it lets every client in.
// The door is open when the first client comes.
func (g *gate) authorize(d **door.Door) func(context.Context, flower.Caller) (name string, err error) {
	if g.all {
		return nil
	}
	return func(ctx context.Context, c flower.Caller) (string, error) {
		return (*d).Admit(ctx, access.Credentials{Address: c.Address, Token: c.Token, TLS: c.TLS}, httpapi.Reader)
	}
}

// url returns the address of the listener with its scheme.
func (g *gate) url(clients net.Listener) string {
	if g.tls != nil {
		return "grpcs://" + clients.Addr().String()
	}
	return "grpc://" + clients.Addr().String()
}

// say logs what clients need, and warns if every one that reaches the listener may train.
func (s *settings) say(log *slog.Logger, clients net.Listener, isOpen bool) {
	need := "a token, as metadata authorization: Bearer TOKEN, or a client certificate with -tls-client-ca; " +
		"stock clients can send no token and need -grpc-access none or -grpc-client-ca"
	switch {
	case s.clientCA != "":
		need = "a certificate of an authority in -grpc-client-ca"
	case isOpen, s.clientAccess == openToClients:
		need = "nothing"
		if !server.IsLoopback(clients) {
			log.Warn("EVERY FLOWER CLIENT MAY TRAIN that reaches the server", "address", clients.Addr().String())
			return
		}
	}
	log.Info("Flower clients are let in", "address", clients.Addr().String(), "need", need)
}
