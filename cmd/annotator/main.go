// Command annotator is the semantic annotator as a server: channels from
// broker to broker, made and watched over REST.
//
//	annotator [-listen HOST:PORT] [-data DIR] [-config FILE] [-log-level LEVEL] ...
//
// Channels and annotations are kept in the folder of -data, or in MongoDB as
// soon as any of the DB_ variables or -db flags is given. While the database
// does not answer at the start, the program says so, keeps trying, and is not
// ready; when it goes away later, channels go on and changes are refused.
// Several annotators, each with its own -instance, share the channels of one
// database: each channel runs on one of them, and on another when that one
// dies. Beside others, an annotator that misses the database stops its channels
// in time for them to be taken over.
//
// User names and passwords of channels are stored encrypted. Unless a secret is given,
// the first start makes one into the file encryption-secret of the data folder; in
// MongoDB they are in clear without a secret, which the log points out.
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

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/internal/version"
)

func main() { server.Main("annotator", run) }

// run is the whole program, for main and for tests.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	s, flags, err := readSettings(args)
	if flags.Answer(stdout, err) {
		return nil
	}
	if err != nil {
		return err
	}
	log, logFile, err := s.logging.Open(stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, logFile.Close()) }()

	listener, err := server.Listen("listen", s.address())
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // closed already unless an error came first
	brokerTLS, err := trust(s.brokerCA)
	if err != nil {
		return err
	}
	kept, err := openKeeping(ctx, &s, flags.Variable("encryption-auth-secret"), log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.close()) }()
	m, err := manager.New(manager.Config{
		Environment: annotate.Environment{
			Drivers: []annotate.Driver{
				mqtt.Driver(mqtt.New(&mqtt.Options{TLS: brokerTLS, Logger: log}), &s.mqtt),
				kafka.Driver(kafka.New(&kafka.Options{TLS: brokerTLS, Logger: log}), &s.kafka),
			},
			Defaults: s.defaults,
			Instance: s.instanceAt(listener.Addr()),
			Logger:   log,
		},
		Documents:      kept.documents,
		Shared:         kept.store != nil,
		Secret:         kept.secret,
		RestoreStopped: s.restoreStopped,
		MaxShutdown:    s.maxShutdown,
	})
	if err != nil {
		return err
	}
	server.WarnIfExposed(log, listener, "annotator")
	log.Info("starting", "instance", s.instanceAt(listener.Addr()))
	host, port := kept.address()
	rest := server.HTTP(listener, manager.NewHandler(m, &manager.HandlerOptions{
		Version: version.String(), DatabaseHost: host, DatabasePort: port, Hosts: s.hosts, Logger: log,
	}), log)
	rest.Announce = func() { fmt.Fprintf(stdout, "listening on http://%s\n", listener.Addr()) }
	return server.Run(ctx, kept.part(m, log), rest)
}
