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
	"context"
	"io"
	"os"
	"runtime/debug"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
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
