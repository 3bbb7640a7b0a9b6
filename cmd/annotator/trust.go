package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/iotenablers/enablers/internal/cli"
)

// trust returns how brokers are checked over TLS: against the authorities of
// the system, and those of the file. An empty name means the system's alone,
// for which nil stands.
func trust(file string) (*tls.Config, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("-broker-ca: %w", err))
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // the system has none
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, cli.Usage(fmt.Errorf("-broker-ca: %s holds no certificate in PEM", file))
	}
	return &tls.Config{RootCAs: roots}, nil
}
