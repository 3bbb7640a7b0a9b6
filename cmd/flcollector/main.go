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
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime/debug"
	"strings"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/demo/training"
	"github.com/iotenablers/enablers/cmd/internal/host"
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
	s, err := readSettings(args)
	s.Web.Address, s.Clients.Address, s.output = s.address(), s.grpcAddress(), stdout
	return s.Serve(ctx, err, stdout, stderr, host.Server{
		Owner: datafolder.FLCollector, Listeners: []*host.Listener{s.Web, s.Clients, &s.Fleet.Listener},
		Blocks:   []host.Entry{{Opener: s, Stores: host.Kept(s.Stores, datafolder.FLCollector)}},
		Announce: s.announce,
	})
}

// Prepare implements host.Preparer.
func (s *settings) Prepare(ctx context.Context, env *host.Env) error {
	if err := s.upstream.open(env.Logger); err != nil {
		return err
	}
	return s.Collector.Prepare(ctx, env)
}

// Open implements host.Opener.
func (s *settings) Open(ctx context.Context, env *host.Env) (*host.Block, error) {
	if env.Stores.Shared {
		if err := s.shared.complete(&s.Training, env.Stores.Work, s.Clients.Addr(), s.ClientTLS(env)); err != nil {
			return nil, err
		}
	}
	s.shared.warn(env.Logger, &s.Training)
	block, err := s.Collector.Open(ctx, env)
	if err == nil && s.demo {
		block.Later = []server.Part{{Name: "demo", Run: func(ctx context.Context) error {
			site := server.Reachable(env.Door.URL(s.Web))
			return training.Run(ctx, training.Config{
				Jobs: s.Jobs, Target: server.Reachable(s.Clients.Addr().String()), TLS: env.Door.ClientTLS(), Token: env.Door.Self(),
				Site: site, Pause: s.demoPause,
				Repository: cmp.Or(redacted(s.Repository.BaseURL), site), Output: s.output,
			})
		}}}
	}
	return block, err
}

// announce prints the addresses.
func (s *settings) announce(stdout io.Writer) {
	web, secure := s.Door.URL(s.Web), s.Door.TLS().Certificate != ""
	fmt.Fprintf(stdout, "listening on %s\nlistening on %s\n", web, s.ClientsURL(secure))
	if s.Repository.BaseURL == "" {
		fmt.Fprintf(stdout, "repository listening on %s\n", web)
	} else {
		fmt.Fprintf(stdout, "repository at %s\n", redacted(s.Repository.BaseURL))
	}
	if fleet := s.Fleet.URL(); fleet != "" {
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
