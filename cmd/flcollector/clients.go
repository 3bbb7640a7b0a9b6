package main

import (
	"cmp"
	"log/slog"
	"net"

	"github.com/iotenablers/enablers/cmd/internal/collector"
	"github.com/iotenablers/enablers/internal/server"
)

// openToClients reports whether the door does not decide on Flower clients: every one may
// train, or every one with a certificate of -grpc-client-ca.
func (s *settings) openToClients() bool { return s.clientCA != "" || s.clientAccess.IsOpen() }

// guarded returns the listeners whose callers the door lets in. That of Flower clients is
// not among them if it has a rule of its own, and that of SuperNodes if it has keys.
func (s *settings) guarded(web, clients net.Listener, fleet *fleet) []net.Listener {
	guarded := []net.Listener{web}
	if !s.openToClients() {
		guarded = append(guarded, clients)
	}
	if fleet.Listener != nil && fleet.keys == nil && !s.clientAccess.IsOpen() {
		guarded = append(guarded, fleet.Listener)
	}
	return guarded
}

// clientTLS returns the TLS for Flower clients of the -grpc flags, nil if none of them is
// set: it is then that of the door.
func (s *settings) clientTLS(log *slog.Logger) (*server.Certificates, error) {
	if s.cert == "" && s.clientCA == "" {
		return nil, nil
	}
	files := s.door.TLS()
	return server.TLS{Prefix: "grpc", Certificate: cmp.Or(s.cert, files.Certificate), Key: cmp.Or(s.key, files.Key),
		ClientCA: cmp.Or(s.clientCA, files.ClientCA), ClientRequired: s.clientCA != ""}.Open(log)
}

// clientsURL returns the address of the listener for Flower clients with its scheme.
func (s *settings) clientsURL(clients net.Listener) string {
	if s.cert != "" || s.door.TLS().Certificate != "" {
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
	case isOpen, s.clientAccess.IsOpen():
		need = "nothing"
		if collector.WarnIfExposed(log, clients) {
			return
		}
	}
	log.Info("Flower clients are let in", "address", clients.Addr().String(), "need", need)
}
