package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/server"
)

// upstreamSettings are the flags of the upper collector.
type upstreamSettings struct {
	target, token, name string
	tls                 bool
	ca, cert, key       string
}

func (u *upstreamSettings) declare(f *server.Flags) {
	f.StringVar(&u.target, "upstream", "",
		"`HOST:PORT` where another collector listens for Flower clients. The jobs are then clients of its jobs of the same "+
			"ids: they follow its rounds, and send it the sums of what their own clients send. Empty conducts the rounds here")
	f.StringVar(&u.token, "upstream-token", "",
		"the `token` for -upstream, where it requires one; better given by the environment, since others can see flags")
	f.StringVar(&u.name, "upstream-name", "", "a `name` for people, which reports of -upstream show")
	f.BoolVar(&u.tls, "upstream-tls", false, "use TLS with -upstream, and the authorities of the system")
	f.StringVar(&u.ca, "upstream-ca", "", "use TLS with -upstream, and the authorities in a PEM `file`")
	f.StringVar(&u.cert, "upstream-cert", "",
		"use TLS with -upstream, and show it the certificate in a PEM `file`, for its -grpc-client-ca")
	f.StringVar(&u.key, "upstream-key", "", "the PEM `file` with the key of -upstream-cert")
}

// check reports what cannot work.
func (u *upstreamSettings) check(wrong func(name, format string, args ...any)) {
	if u.target == "" {
		for _, one := range []struct {
			name  string
			given bool
		}{
			{"upstream-token", u.token != ""}, {"upstream-name", u.name != ""}, {"upstream-tls", u.tls},
			{"upstream-ca", u.ca != ""}, {"upstream-cert", u.cert != ""}, {"upstream-key", u.key != ""},
		} {
			if one.given {
				wrong(one.name, "is set, but -upstream is not")
			}
		}
		return
	}
	host, port, err := net.SplitHostPort(u.target)
	if err != nil || host == "" || port == "" || port == "0" {
		wrong("upstream", "expected HOST:PORT, got %q", u.target)
		return
	}
	if (u.cert == "") != (u.key == "") {
		wrong("upstream-cert", "-upstream-cert and -upstream-key go together")
	}
	if u.token != "" && !u.secure() && !isLoopback(u.target) {
		wrong("upstream-token", "is not sent to %s in the clear: use -upstream-tls or -upstream-ca", host)
	}
	if u.name != "" {
		_, err := flower.NewClient(flower.ClientConfig{Target: u.target, Trainer: unasked{}, Name: u.name})
		if err != nil {
			wrong("upstream-name", "%w", err)
		}
	}
}

// unasked is the trainer of a client that never runs.
type unasked struct{ flower.Trainer }

func (u *upstreamSettings) secure() bool { return u.tls || u.ca != "" || u.cert != "" }

// config returns the configuration of the upper collector, nil if there is none. Messages
// have the limit of those of clients. The files of the certificate are read again when they
// have changed.
func (u *upstreamSettings) config(maxMessage int64, log *slog.Logger) (*flcollect.Upstream, error) {
	if u.target == "" {
		return nil, nil
	}
	made := &flcollect.Upstream{Target: u.target, Token: u.token, Name: u.name, MaxMessage: maxMessage}
	if !u.secure() {
		return made, nil
	}
	made.TLS = &tls.Config{}
	if u.ca != "" {
		pem, err := os.ReadFile(u.ca)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("-upstream-ca: %w", err))
		}
		made.TLS.RootCAs = x509.NewCertPool()
		if !made.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return nil, cli.Usage(fmt.Errorf("-upstream-ca: %s has no certificate in PEM", u.ca))
		}
	}
	if u.cert != "" {
		own, err := server.TLS{Prefix: "upstream", Certificate: u.cert, Key: u.key}.Open(log)
		if err != nil {
			return nil, err
		}
		made.TLS.GetClientCertificate = own.Client
	}
	return made, nil
}
