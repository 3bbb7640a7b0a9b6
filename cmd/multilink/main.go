// Command multilink is an instance of a multi-link network: it bonds several radio
// links into one layer-2 network, so that its users do not notice the loss of a link. A
// server provisions clients; a client attaches to a server.
//
//	multilink -role server -address 10.9.0.1/24 [-listen HOST:PORT] [-data DIR] [-tap NAME] ...
//	multilink -role client [-listen HOST:PORT] [-data DIR] [-tap NAME] ...
//	multilink -demo
//
// An instance is configured over its REST interface and its page, both of which require
// the token of MULTILINK_TOKEN. Without one, the first start generates a token into the
// file token of the data folder and prints the name of the file. An instance needs
// CAP_NET_ADMIN and /dev/net/tun.
//
// With -h it lists every flag with its environment variable and default. The first
// line on standard output is "listening on http://HOST:PORT"; the log goes to standard
// error. On an interrupt or SIGTERM it removes its devices and addresses and ends with
// status 0; a second one ends it at once.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"

	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/demo/bonding"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node"
)

func main() { server.Main("multilink", run) }

// run is the program, for main and for tests.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, flags, err := readSettings(args)
	return flags.Serve(err, stdout, stderr, func(log *slog.Logger) error { return s.start(ctx, stdout, log) })
}

// start runs the parts of the program until ctx ends or one of them fails.
func (s *settings) start(ctx context.Context, stdout io.Writer, log *slog.Logger) (err error) {
	if s.demo {
		return bonding.Run(ctx, stdout)
	}
	secure, err := s.tls()
	if err != nil {
		return err
	}
	listener, err := s.connections.Listen("listen", s.listen)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // closed already by the part that serves it
	scheme := "http"
	serving := listener
	if secure != nil {
		scheme, serving = "https", newTLSListener(listener, secure)
	} else if at, ok := listener.Addr().(*net.TCPAddr); ok && !at.IP.IsLoopback() {
		log.Warn("tokens and keys cross the network in the clear; use -tls-cert and -tls-key, or a proxy that does", "address", at.String())
	}
	return s.serve(ctx, serving, log, func(fresh string) {
		fmt.Fprintf(stdout, "listening on %s://%s\n", scheme, listener.Addr())
		if fresh != "" {
			fmt.Fprintf(stdout, "a new token is in %s\n", fresh)
		}
	})
}

// serve opens the folder and the machine, and runs the instance until ctx ends.
func (s *settings) serve(ctx context.Context, listener net.Listener, log *slog.Logger, announce func(fresh string)) (err error) {
	store, err := datafolder.Open(ctx, s.data, datafolder.MultiLink)
	if err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	token, fresh := s.token, ""
	if token == "" && s.clientCA == "" || s.tokenFile != "" {
		name := s.tokenFile
		if name == "" {
			name = filepath.Join(s.data, "token")
		}
		var isNew bool
		if token, isNew, err = node.LoadToken(name); err != nil {
			return err
		}
		if isNew {
			fresh = name
		}
	}
	at, err := s.open(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	n, err := node.Open(ctx, node.Config{
		Role: s.role, Plane: at.plane, Documents: store.Documents(), Interfaces: at.interfaces,
		Port: multilink.PortConfig{Name: s.tap, Addresses: s.addresses, Bridge: s.bridge, Members: s.members,
			Routes: s.routes, MTU: s.mtu},
		Token: token, Certificates: s.clientCA != "", OpenMetrics: s.openMetrics, MaxClients: s.maxClients,
		NoReplay: s.plane == planeKernel,
		Hosts:    s.hosts, Logger: log,
	})
	if err != nil {
		return err
	}
	http := server.HTTP(listener, n.Handler(), log)
	http.Announce = func() { announce(fresh) }
	return server.Run(ctx, backup.Of(s.data, datafolder.MultiLink, store, log).Part(),
		server.Part{Name: "run instance", Run: n.Run, Ready: server.Opened(n.Ready())}, http)
}
