package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/iotenablers/enablers/internal/cli"
)

const (
	// certificateAge is the time after which the files of a certificate are looked at again.
	certificateAge = time.Second
	// certificateWarning is the least time between two lines in the log about files that
	// cannot be used.
	certificateWarning = time.Minute
)

// TLS has the flags of the certificate that all listeners of a server present. The zero
// value means no TLS.
type TLS struct {
	// Certificate, Key and ClientCA are names of files in PEM. ClientCA has the
	// authorities of client certificates; a client may do without one, unless
	// ClientRequired is set.
	Certificate, Key, ClientCA string
	ClientRequired             bool
	// Prefix begins the names of the flags in errors. Empty means "tls".
	Prefix string
}

// flag returns the name of a flag.
func (t TLS) flag(name string) string { return "-" + cmp.Or(t.Prefix, "tls") + "-" + name }

// TLS declares the flags tls-cert, tls-key and tls-client-ca.
func (f *Flags) TLS(to *TLS) {
	f.StringVar(&to.Certificate, "tls-cert", "", "PEM `file` of the certificate of every listener, with its chain. "+
		"The files of a renewed certificate are read again")
	f.StringVar(&to.Key, "tls-key", "", "PEM `file` of the key of -tls-cert")
	f.StringVar(&to.ClientCA, "tls-client-ca", "", "PEM `file` of the authorities of client certificates; see -access")
}

// Check returns an error if the files cannot be used together.
func (t TLS) Check() error {
	switch {
	case (t.Certificate == "") != (t.Key == ""):
		return fmt.Errorf("%s, %s: one needs the other", t.flag("cert"), t.flag("key"))
	case t.ClientCA != "" && t.Certificate == "":
		return fmt.Errorf("%s: needs %s and %s, since certificates of clients come with TLS", t.flag("client-ca"), t.flag("cert"), t.flag("key"))
	}
	return nil
}

// Open reads the files, nil without a certificate. They are read again when they have changed;
// while the new ones cannot be used, the ones before hold and the logger receives the reason.
// The error is one of usage.
func (t TLS) Open(log *slog.Logger) (*Certificates, error) {
	if err := t.Check(); err != nil || t.Certificate == "" {
		return nil, cli.Usage(err)
	}
	files := &Certificates{of: t, log: log}
	files.version, files.checked = files.stat(), time.Now()
	first, err := files.load()
	if err != nil {
		return nil, cli.Usage(err)
	}
	files.loaded = first
	return files, nil
}

// Certificates are the files of a [TLS], as they were read last. They can be used
// concurrently.
type Certificates struct {
	of  TLS
	log *slog.Logger

	mu      sync.Mutex
	loaded  *tls.Config
	version [3]time.Time // of loaded, or older
	checked time.Time
	warned  time.Time // that files cannot be used; zero if they can
}

// Config returns the configuration for a listener, nil without certificates.
func (c *Certificates) Config() *tls.Config {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	config := c.loaded.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current(), nil }
	return config
}

// Reload reads the files again now, whether they have changed or not. While they cannot be
// used, the ones before hold.
func (c *Certificates) Reload(ctx context.Context) error {
	if err := ctx.Err(); err != nil || c == nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	version := c.stat()
	fresh, err := c.load()
	if err != nil {
		return err
	}
	c.loaded, c.version, c.checked, c.warned = fresh, version, time.Now(), time.Time{}
	return nil
}

// Client returns the certificate to show to a server, for GetClientCertificate of a [tls.Config].
func (c *Certificates) Client(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return &c.current().Certificates[0], nil
}

// current returns the configuration of the files as they are now.
func (c *Certificates) current() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) < certificateAge {
		return c.loaded
	}
	c.checked = time.Now()
	version := c.stat() // before load: what changes meanwhile is read the next time
	if version == c.version {
		return c.loaded
	}
	fresh, err := c.load()
	if err != nil {
		if c.checked.Sub(c.warned) >= certificateWarning {
			c.warned = c.checked
			c.log.Error("the certificate was changed and cannot be used; going on with the one before", "error", err)
		}
		return c.loaded
	}
	c.loaded, c.version, c.warned = fresh, version, time.Time{}
	c.log.Info("certificate read again", "file", c.of.Certificate)
	return fresh
}

// stat returns when each file was changed last, the zero time for a file that is absent.
func (c *Certificates) stat() (version [3]time.Time) {
	for i, name := range []string{c.of.Certificate, c.of.Key, c.of.ClientCA} {
		if info, err := os.Stat(name); name != "" && err == nil {
			version[i] = info.ModTime()
		}
	}
	return version
}

func (c *Certificates) load() (*tls.Config, error) {
	certificate, err := tls.LoadX509KeyPair(c.of.Certificate, c.of.Key)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", c.of.flag("cert"), c.of.flag("key"), err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"}}
	if c.of.ClientCA == "" {
		return config, nil
	}
	text, err := os.ReadFile(c.of.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.of.flag("client-ca"), err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
	if c.of.ClientRequired {
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	if !config.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: %q holds no certificate in PEM", c.of.flag("client-ca"), c.of.ClientCA)
	}
	return config, nil
}
