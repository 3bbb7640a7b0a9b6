package main

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"

	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/server"
)

// upstreamSettings are the flags of the upper collector.
type upstreamSettings struct {
	flcollect.Upstream
	tls           bool
	ca, cert, key string
}

func (u *upstreamSettings) declare(f *host.Flags) {
	f.StringVar(&u.Target, "upstream", "",
		"`HOST:PORT` where another collector listens for Flower clients. The jobs are then clients of its jobs of the same "+
			"ids: they follow its rounds, and send it the sums of what their own clients send. Empty conducts the rounds here")
	f.StringVar(&u.Token, "upstream-token", "",
		"the `token` for -upstream, where it requires one; better given by the environment, since others can see flags")
	f.StringVar(&u.Name, "upstream-name", "", "a `name` for people, which reports of -upstream show")
	f.BoolVar(&u.tls, "upstream-tls", false, "use TLS with -upstream, and the authorities of the system")
	f.StringVar(&u.ca, "upstream-ca", "", "use TLS with -upstream, and the authorities in a PEM `file`")
	f.StringVar(&u.cert, "upstream-cert", "",
		"use TLS with -upstream, and show it the certificate in a PEM `file`, for its -grpc-client-ca")
	f.StringVar(&u.key, "upstream-key", "", "the PEM `file` with the key of -upstream-cert")
}

// check notes what cannot work.
func (u *upstreamSettings) check(f *host.Flags) {
	if u.Target == "" {
		for _, one := range []struct {
			name  string
			given bool
		}{
			{"upstream-token", u.Token != ""}, {"upstream-name", u.Name != ""}, {"upstream-tls", u.tls},
			{"upstream-ca", u.ca != ""}, {"upstream-cert", u.cert != ""}, {"upstream-key", u.key != ""},
		} {
			if one.given {
				f.Wrong(one.name, "is set, but -upstream is not")
			}
		}
		return
	}
	name, port, err := net.SplitHostPort(u.Target)
	if err != nil || name == "" || port == "" || port == "0" {
		f.Wrong("upstream", "expected HOST:PORT, got %q", u.Target)
		return
	}
	if (u.cert == "") != (u.key == "") {
		f.Wrong("upstream-cert", "-upstream-cert and -upstream-key go together")
	}
	if u.Token != "" && !u.secure() && !isLoopback(u.Target) {
		f.Wrong("upstream-token", "is not sent to %s in the clear: use -upstream-tls or -upstream-ca", name)
	}
	if u.Name != "" {
		_, err := flower.NewClient(flower.ClientConfig{Target: u.Target, Trainer: unasked{}, Name: u.Name})
		if err != nil {
			f.Wrong("upstream-name", "%w", err)
		}
	}
}

// unasked is the trainer of a client that never runs.
type unasked struct{ flower.Trainer }

func (u *upstreamSettings) secure() bool { return u.tls || u.ca != "" || u.cert != "" }

// open reads the files of the certificates, which are read again when they have changed.
func (u *upstreamSettings) open(log *slog.Logger) error {
	if u.Target == "" || !u.secure() {
		return nil
	}
	u.TLS = &tls.Config{}
	if u.ca != "" {
		u.TLS.RootCAs = x509.NewCertPool()
		if err := host.Authorities(u.TLS.RootCAs, "upstream-ca", u.ca); err != nil {
			return err
		}
	}
	if u.cert != "" {
		own, err := server.TLS{Prefix: "upstream", Certificate: u.cert, Key: u.key}.Open(log)
		if err != nil {
			return err
		}
		u.TLS.GetClientCertificate = own.Client
	}
	return nil
}
