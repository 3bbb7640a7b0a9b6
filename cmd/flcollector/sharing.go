package main

import (
	"cmp"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/flcollect"
)

// sharedSettings are the flags of one of several collectors on a database, besides those in the
// configuration of its jobs.
type sharedSettings struct{ ca string }

func (s *sharedSettings) declare(f *host.Flags, c *flcollect.Config) {
	f.StringVar(&c.Advertise, "advertise", "",
		"`HOST:PORT` where other collectors on the same database reach -grpc-listen, to relay clients of jobs that run here. "+
			"Empty means its address, if that is of one host; otherwise the others disconnect such clients, which reconnect after -park")
	f.StringVar(&s.ca, "advertise-ca", "",
		"the authorities in a PEM `file` for the certificates of the other collectors, if they use TLS for clients; "+
			"empty means those of the system")
	f.DurationVar(&c.Lease, "lease", 10*time.Second,
		"after how long the jobs of a collector that was killed go on at another one on the same database; the same for all of them")
}

// check notes what cannot work.
func (s *sharedSettings) check(f *host.Flags, c *flcollect.Config) {
	name, port, err := net.SplitHostPort(c.Advertise)
	if c.Advertise != "" && (err != nil || name == "" || port == "" || port == "0") {
		f.Wrong("advertise", "expected HOST:PORT, got %q", c.Advertise)
	}
	if c.Lease < time.Second || c.Lease > time.Hour {
		f.Wrong("lease", "expected 1s to 1h, got %v", c.Lease)
	}
}

// warn logs what the operator may not know: flags without an effect, and that what proves
// collectors to each other crosses a network in the clear.
func (s *sharedSettings) warn(log *slog.Logger, c *flcollect.Config) {
	alone := c.Name == ""
	switch {
	case alone && (c.Advertise != "" || s.ca != ""):
		log.Warn("-advertise and -advertise-ca have no effect: -store is not a database, so this collector is alone")
	case alone || c.RelayTLS != nil:
	case c.Advertise != "" && !isLoopback(c.Advertise):
		log.Warn("clients that are relayed, and the secret by which collectors on one database trust each other, cross the "+
			"network in the clear: set -grpc-cert or -tls-cert, unless the network is your own", "advertise", c.Advertise)
	case s.ca != "":
		log.Warn("-advertise-ca has no effect: there is no TLS for Flower clients")
	}
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// complete sets how a collector shares its database. Its name is in the folder dir, which this
// process has locked: an earlier process of the name has ended.
func (s *sharedSettings) complete(c *flcollect.Config, dir string, clients net.Addr, own *tls.Config) (err error) {
	if c.Name, err = readName(dir); err != nil {
		return err
	}
	c.Advertise = cmp.Or(c.Advertise, reachable(clients))
	if own == nil {
		return nil
	}
	c.RelayTLS = &tls.Config{MinVersion: tls.VersionTLS12, GetClientCertificate: showCertificate(own)}
	if s.ca != "" {
		c.RelayTLS.RootCAs = x509.NewCertPool()
		return host.Authorities(c.RelayTLS.RootCAs, "advertise-ca", s.ca)
	}
	return nil
}

// reachable returns the address of a listener, empty if it is not that of one host.
func reachable(listener net.Addr) string {
	tcp, ok := listener.(*net.TCPAddr)
	if !ok || tcp.IP.IsUnspecified() {
		return ""
	}
	return tcp.String()
}

// showCertificate returns the function by which a collector shows others its certificate.
func showCertificate(own *tls.Config) func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		config := own
		if own.GetConfigForClient != nil {
			current, err := own.GetConfigForClient(&tls.ClientHelloInfo{})
			if err != nil {
				return nil, err
			}
			config = current
		}
		if len(config.Certificates) == 0 {
			return &tls.Certificate{}, nil
		}
		return &config.Certificates[0], nil
	}
}

// nameFile has the name of the collector among those on its database.
const nameFile = "instance"

// readName returns the name in a folder, which it generates at the first start.
func readName(dir string) (string, error) {
	path := filepath.Join(dir, nameFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		name := rand.Text()
		return name, os.WriteFile(path, []byte(name+"\n"), 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("-data: %w", err)
	}
	name := strings.TrimSpace(string(text))
	if !regexp.MustCompile(`^[!-.0-~]{1,128}$`).MatchString(name) { // a crash may have left a part
		name = rand.Text()
		err = os.WriteFile(path, []byte(name+"\n"), 0o600)
	}
	return name, err
}
