// Command flcollector is the server of federated learning: it trains models
// with Flower clients, and stores the results in an FL repository.
//
//	flcollector [-listen HOST:PORT] [-grpc-listen HOST:PORT] [-fleet HOST:PORT] [-apps DIR] [-data DIR] [-demo] ...
//
// Jobs are started over the REST interface on -listen, which has web pages at / and
// documentation at /docs. Flower clients connect to -grpc-listen, and SuperNodes of Flower to
// -fleet, for jobs that name an app of the folder -apps. Jobs are stored in the
// folder of -data, or where -store and -blobs say, such as MongoDB and a bucket of S3. A job
// whose training the end of the program has interrupted, in whatever way, continues after its
// last finished round. The FL repository is part of the program and on the same listener,
// unless REPOSITORY_ADDRESS names another one.
//
// With -upstream the collector is a client of another one: its jobs have the ids of the
// jobs there, follow their rounds, and pass on the sums of what its own clients send.
//
// With -demo three clients inside the program train a model on real data that come with
// it. That takes about a minute, so that one can watch: each client waits for -demo-pause
// before it trains. Each round is a line of output, and the last line begins with
// "training finished". The program then runs until it is interrupted.
//
// With -h it lists every flag with its environment variable and default. The
// first lines on standard output are "listening on http://HOST:PORT",
// "listening on grpc://HOST:PORT" (grpcs with TLS),
// "repository listening on http://HOST:PORT" or "repository at URL", and
// "listening on fleet://HOST:PORT", with TLS or without; the log goes to standard
// error. On an interrupt or SIGTERM it asks the clients to reconnect after
// -park and ends with status 0; a second one ends it at once.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/cmd/internal/collector"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/demo/training"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/cmd/internal/telemetry"
	"github.com/iotenablers/enablers/internal/server"
)

// garbage is how much unused memory may remain before a collection, in percent of the
// memory in use. Nearly all memory holds numbers, which a collection does not scan:
// collecting often costs little.
const garbage = 15

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	server.Main("flcollector", run)
}

// run is the program, for main and for tests.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, flags, err := readSettings(args)
	flags.Traces(telemetry.Open)
	return flags.Serve(ctx, err, stdout, stderr, func(ctx context.Context, log *slog.Logger) error { return s.serve(ctx, stdout, log) })
}

// serve runs the parts of the program until ctx ends or one of them fails.
func (s *settings) serve(ctx context.Context, stdout io.Writer, log *slog.Logger) (err error) {
	web, err := s.connections.Listen("listen", s.address())
	if err != nil {
		return err
	}
	defer func() { _ = web.Close() }() // closed already unless an error came first
	clients, err := s.connections.Listen("grpc-listen", s.grpcAddress())
	if err != nil {
		return err
	}
	defer func() { _ = clients.Close() }() // likewise
	fleet, err := s.openFleet(ctx)
	if err != nil {
		return err
	}
	defer fleet.close()
	clientTLS, err := s.clientTLS(log)
	if err != nil {
		return err
	}
	upper, err := s.upstream.config(s.maxMessage, log)
	if err != nil {
		return err
	}
	kept, err := s.stores.Open(ctx, stores.Config{Owner: datafolder.FLCollector, Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	if err := kept.OpenWork(); err != nil {
		return err
	}
	addresses := sync.OnceFunc(func() {
		s.announce(stdout, s.door.URL(web), s.clientsURL(clients), collector.FleetURL(fleet.Listener))
	})
	err = kept.Wait(ctx, stores.Waiting{Listeners: []*net.Listener{&web}, TLS: s.door.TLS(), Announce: addresses})
	if err != nil || ctx.Err() != nil {
		return err
	}
	access, err := s.door.Open(ctx, door.Config{Name: "flcollector", Dir: kept.Dir, Listeners: s.guarded(web, clients, fleet),
		Sessions: kept.Access(), Shared: kept.Shared, Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, access.Close()) }()
	var sharing *collector.Sharing
	if kept.Shared {
		secure := clientTLS.Config()
		if secure == nil {
			secure = access.TLS()
		}
		if sharing, err = s.shared.config(kept.Work, clients.Addr(), secure); err != nil {
			return err
		}
	}
	s.shared.warn(log, sharing)
	config := collector.Config{
		Documents: kept.Documents, Blobs: kept.Blobs, Dir: kept.Work, Door: access,
		OpenToClients: s.openToClients(), TLS: clientTLS.Config(), Clients: clients.Addr(), Hosts: s.door.Hosts(),
		Repository: s.repository, Orchestrator: s.orchestrator, Models: s.models,
		RepositoryToken: s.tokens.repository, OrchestratorToken: s.tokens.orchestrator,
		Clip: s.clip, TrustClients: s.trustClients, NoAudit: s.noAudit, NoEdges: s.noEdges,
		ClientTimeout: s.clientTimeout, Park: s.parkedFor, MaxMessage: s.maxMessage, Uploads: s.uploads, MaxContext: s.maxContext,
		Upstream: upper, Sharing: sharing, TracerProvider: server.TracerProvider(ctx), Logger: log,
	}
	fleet.configure(&config, s, access.IsOpen())
	c, err := collector.New(config)
	if err != nil {
		return fmt.Errorf("%s: %w", s.stores.Flag(), err)
	}
	s.say(log, clients, access.IsOpen())
	fleet.say(c, log)
	parts := append(c.Parts(web, clients, func() {
		addresses()
		access.Announce(stdout, web)
	}), fleet.parts()...)
	if s.demo {
		parts = append(parts, server.Part{Name: "demo", Run: func(ctx context.Context) error {
			site := server.Reachable(access.URL(web))
			return training.Run(ctx, training.Config{
				Jobs: c.Jobs, Target: server.Reachable(clients.Addr().String()), TLS: access.ClientTLS(), Token: access.Self(),
				Site: site, Pause: s.demoPause,
				Repository: cmp.Or(redacted(s.repository), site), Output: stdout,
			})
		}})
	}
	if clientTLS != nil {
		parts = append(parts, server.Reloading("certificate for Flower clients", clientTLS.Reload))
	}
	access.BackUp(kept.Source().Handler())
	return server.Run(ctx, append(append(kept.Backups(), access.Part()), parts...)...)
}

// announce prints the addresses.
func (s *settings) announce(stdout io.Writer, web, clients, fleet string) {
	fmt.Fprintf(stdout, "listening on %s\nlistening on %s\n", web, clients)
	if s.repository == "" {
		fmt.Fprintf(stdout, "repository listening on %s\n", web)
	} else {
		fmt.Fprintf(stdout, "repository at %s\n", redacted(s.repository))
	}
	if fleet != "" {
		fmt.Fprintf(stdout, "listening on %s\n", fleet)
	}
}

// redacted returns a valid URL without its password.
func redacted(address string) string {
	at, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(at.Redacted(), "/")
}
