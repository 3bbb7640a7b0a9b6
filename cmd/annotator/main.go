// Command annotator is the semantic annotator as a server: channels from
// broker to broker, made and watched over REST.
//
//	annotator [-listen HOST:PORT] [-data DIR] [-config FILE] [-log-level LEVEL] ...
//
// Channels and annotations are stored in the folder of -data, or where -store says, or in
// MongoDB if any of the DB_ variables or -db flags is given. While the database does not
// answer at the start, the program logs it, tries again, and answers 503. When the database fails
// later, channels keep running and the program refuses changes. Several annotators, each
// with its own -instance, share the channels of one database: each channel runs on one of
// them, and on another when that one fails. An annotator that loses the database stops
// its channels in time for the others to start them.
//
// User names and passwords of channels are stored encrypted. Unless a secret is given,
// the first start generates one into the file encryption-secret of the data folder. In
// MongoDB they are stored in clear without a secret, and the log warns of it.
//
// Where other machines reach the interface, callers have to prove who they are: unless
// -access and its like say how, the first start generates a token into the file
// access-token of the data folder and prints its name. -access none opens the interface.
//
// With -h it lists every flag with its environment variable and default. The
// first line on standard output is "listening on http://HOST:PORT"; the log
// goes to standard error. On an interrupt or SIGTERM it stops its channels and
// exits with status 0; a second one ends it at once.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/page"
	"github.com/iotenablers/enablers/annotate/manager/rest"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/ngsild"
	"github.com/iotenablers/enablers/annotate/sparql"
	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/mappingfunctions"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/cmd/internal/telemetry"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/internal/version"
)

func main() { server.Main("annotator", run) }

// run is the program, for main and for tests.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, flags, err := readSettings(args)
	flags.Traces(telemetry.Open)
	return flags.Serve(ctx, err, stdout, stderr, func(ctx context.Context, log *slog.Logger) error { return s.serve(ctx, flags, stdout, log) })
}

// serve runs the parts of the program until ctx ends or one of them fails.
func (s *settings) serve(ctx context.Context, flags *server.Flags, stdout io.Writer, log *slog.Logger) (err error) {
	listener, err := s.connections.Listen("listen", s.address())
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // closed already unless an error came first
	brokerTLS, err := trust(s.brokerCA)
	if err != nil {
		return err
	}
	brokers, err := s.allowedBrokers(flags)
	if err != nil {
		return err
	}
	functions, err := mappingfunctions.Open(ctx, s.functions)
	if err != nil {
		return cli.Usage(fmt.Errorf("-functions: %w", err))
	}
	defer func() { err = errors.Join(err, functions.Close()) }()
	stored, err := openPersistence(ctx, s, flags.Variable("encryption-auth-secret"), log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stored.close()) }()
	m, err := manager.New(manager.Config{
		Environment: annotate.Environment{
			Drivers: []annotate.Driver{
				mqtt.Driver(mqtt.New(&mqtt.Options{Hosts: brokers, TLS: brokerTLS, Logger: log}), &s.mqtt),
				kafka.Driver(kafka.New(&kafka.Options{Hosts: brokers, TLS: brokerTLS, Logger: log}), &s.kafka),
				ngsild.Driver(ngsild.New(&ngsild.Options{Hosts: brokers, TLS: brokerTLS})),
				sparql.Driver(sparql.New(&sparql.Options{Hosts: brokers, TLS: brokerTLS})),
			},
			Defaults:       s.defaults,
			Functions:      functions.Functions(),
			TracerProvider: server.TracerProvider(ctx),
			Instance:       s.instanceAt(listener.Addr()),
			Logger:         log,
		},
		Documents:      stored.documents(),
		Shared:         stored.isShared(),
		LeaseDuration:  s.lease,
		Secret:         stored.secret,
		RestoreStopped: s.restoreStopped,
		MaxShutdown:    s.maxShutdown,
	})
	if err != nil {
		return err
	}
	announce := sync.OnceFunc(func() { fmt.Fprintf(stdout, "listening on %s\n", s.door.URL(listener)) })
	err = stored.wait(ctx, stores.Waiting{Listeners: []*net.Listener{&listener}, TLS: s.door.TLS(), Announce: announce})
	if err != nil || ctx.Err() != nil {
		return err
	}
	guard := door.Config{Name: "annotator", Listeners: []net.Listener{listener}, Logger: log}
	access, err := s.door.Open(ctx, stored.guard(guard))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, access.Close()) }()
	s.brokerHosts.WarnIfOpen(log, listener)
	log.Info("starting", "instance", s.instanceAt(listener.Addr()))
	host, port := stored.address()
	options := &rest.HandlerOptions{Version: version.String(), DatabaseHost: host, DatabasePort: port, Hosts: s.door.Hosts(),
		Authorize: access.Authorizer(), Logger: log}
	handler := access.Handler(console.Mount(rest.NewHandler(m, options), console.MountConfig{
		Name: "Annotator", Front: true, Person: access.Person,
		Parts: []console.Part{{Section: "Annotation", Path: "annotation", Handler: page.NewHandler(m, options)}},
	}))
	web := server.HTTP(access.Listener(listener), handler, log)
	web.Announce = func() {
		announce()
		access.Announce(stdout, listener)
	}
	return server.Run(ctx, append(stored.backUp(access, log), access.Part(), server.Part{Name: "annotate", Run: m.Run, Ready: m.Err}, web)...)
}
