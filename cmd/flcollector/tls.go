package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// clientTLS returns the TLS configuration for Flower clients; nil means no TLS. With a
// file of authorities, clients need a certificate too.
func (s *settings) clientTLS(log *slog.Logger) (*tls.Config, error) {
	if s.cert == "" {
		return nil, nil
	}
	own := &certificate{cert: s.cert, key: s.key, log: log}
	if _, err := own.get(nil); err != nil {
		return nil, fmt.Errorf("-grpc-cert: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: own.get}
	if s.clientCA == "" {
		return config, nil
	}
	text, err := os.ReadFile(s.clientCA)
	if err != nil {
		return nil, fmt.Errorf("-grpc-client-ca: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("-grpc-client-ca: %s holds no certificate in PEM", s.clientCA)
	}
	return config, nil
}

// certificate is a certificate in files. They are read again when they have changed, so
// that a renewal needs no restart.
type certificate struct {
	cert, key string
	log       *slog.Logger

	mu     sync.Mutex
	loaded *tls.Certificate
	at     [2]time.Time // when the files were changed last, as far as known
}

// get is for tls.Config.GetCertificate. It returns the last certificate that was loaded
// while the files do not fit together.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := [2]time.Time{changed(c.cert), changed(c.key)}
	if c.loaded != nil && at == c.at {
		return c.loaded, nil
	}
	fresh, err := tls.LoadX509KeyPair(c.cert, c.key)
	switch {
	case err == nil:
		c.loaded = &fresh
	case c.loaded == nil:
		return nil, err
	default:
		c.log.Error("the certificate was changed and cannot be read; going on with the one before", "error", err)
	}
	c.at = at
	return c.loaded, nil
}

// changed returns when a file was changed last, and the zero time if there is
// none.
func changed(name string) time.Time {
	info, err := os.Stat(name)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
