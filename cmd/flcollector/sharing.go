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

	"github.com/iotenablers/enablers/cmd/internal/collector"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/server"
)

// sharedSettings are the flags of one of several collectors on a database.
type sharedSettings struct {
	advertise, ca string
	lease         time.Duration
}

func (s *sharedSettings) declare(f *server.Flags) {
	f.StringVar(&s.advertise, "advertise", "",
		"`HOST:PORT` where other collectors on the same database reach -grpc-listen, to relay clients of jobs that run here. "+
			"Empty means its address, if that is of one host; otherwise the others send such clients away, to come back after -park")
	f.StringVar(&s.ca, "advertise-ca", "",
		"the authorities in a PEM `file` for the certificates of the other collectors, if they use TLS for clients; "+
			"empty means those of the system")
	f.DurationVar(&s.lease, "lease", 10*time.Second,
		"after how long the jobs of a collector that was killed go on at another one on the same database; the same for all of them")
}

func (s *sharedSettings) check(wrong func(name, format string, args ...any)) {
	host, port, err := net.SplitHostPort(s.advertise)
	if s.advertise != "" && (err != nil || host == "" || port == "" || port == "0") {
		wrong("advertise", "expected HOST:PORT, got %q", s.advertise)
	}
	if s.lease < time.Second || s.lease > time.Hour {
		wrong("lease", "expected 1s to 1h, got %v", s.lease)
	}
}

// warn logs what the operator may not know: flags without an effect, and that what proves
// collectors to each other crosses a network in the clear.
func (s *sharedSettings) warn(log *slog.Logger, made *collector.Sharing) {
	switch {
	case made == nil && (s.advertise != "" || s.ca != ""):
		log.Warn("-advertise and -advertise-ca have no effect: -store is no database, so this collector is alone")
	case made != nil && made.TLS == nil && made.Advertise != "" && !isLoopback(made.Advertise):
		log.Warn("clients that are relayed, and the secret by which collectors on one database trust each other, cross the "+
			"network in the clear: set -grpc-cert or -tls-cert, unless the network is your own", "advertise", made.Advertise)
	case made != nil && made.TLS == nil && s.ca != "":
		log.Warn("-advertise-ca has no effect: there is no TLS for Flower clients")
	}
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// config returns how the collector shares its database. Its name is in the folder dir, which
// this process has locked: an earlier process of the name has ended.
func (s *sharedSettings) config(dir string, clients net.Addr, own *tls.Config) (*collector.Sharing, error) {
	name, err := nameOf(dir)
	if err != nil {
		return nil, err
	}
	made := &collector.Sharing{Name: name, Lease: s.lease, Advertise: cmp.Or(s.advertise, reachable(clients))}
	if own == nil {
		return made, nil
	}
	made.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetClientCertificate: certificateOf(own)}
	if s.ca != "" {
		pem, err := os.ReadFile(s.ca)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("-advertise-ca: %w", err))
		}
		made.TLS.RootCAs = x509.NewCertPool()
		if !made.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return nil, cli.Usage(fmt.Errorf("-advertise-ca: %s has no certificate in PEM", s.ca))
		}
	}
	return made, nil
}

// reachable returns the address of a listener, empty if it is not that of one host.
func reachable(listener net.Addr) string {
	tcp, ok := listener.(*net.TCPAddr)
	if !ok || tcp.IP.IsUnspecified() {
		return ""
	}
	return tcp.String()
}

// certificateOf returns the function by which a collector shows others its certificate.
func certificateOf(own *tls.Config) func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
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

// nameOf returns the name in a folder, which it makes at the first start.
func nameOf(dir string) (string, error) {
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
