package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
)

// tls is how connections are secured; nil means that they are not.
func (s *settings) tls() (*tls.Config, error) {
	if s.tlsCert == "" {
		return nil, nil
	}
	certificate, err := tls.LoadX509KeyPair(s.tlsCert, s.tlsKey)
	if err != nil {
		return nil, fmt.Errorf("-tls-cert, -tls-key: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if s.clientCA == "" {
		return config, nil
	}
	text, err := os.ReadFile(s.clientCA)
	if err != nil {
		return nil, fmt.Errorf("-client-ca: %w", err)
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("-client-ca: %q holds no certificate in PEM", s.clientCA)
	}
	// A client without one may still send the token.
	config.ClientAuth = tls.VerifyClientCertIfGiven
	return config, nil
}

func newTLSListener(listener net.Listener, config *tls.Config) net.Listener {
	return tls.NewListener(listener, config)
}
