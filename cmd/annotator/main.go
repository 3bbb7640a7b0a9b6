// Command annotator is the semantic annotator as a server: channels from
// broker to broker, made and watched over REST.
//
//	annotator [-listen HOST:PORT] [-data DIR] [-config FILE] [-log-level LEVEL] ...
//
// With -h it lists every flag with its environment variable and default. The
// first line on standard output is "listening on http://HOST:PORT"; the log
// goes to standard error. On an interrupt or SIGTERM it stops its channels and
// exits with status 0; a second one ends it at once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage/disk"
)

func main() { server.Main("annotator", run) }

// run is the whole program, for main and for tests.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	s, flags, err := readSettings(args)
	if errors.Is(err, flag.ErrHelp) {
		flags.Help(stdout)
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
	config := annotate.Config{
		Environment: annotate.Environment{
			Brokers:  map[annotate.BrokerType]annotate.Broker{annotate.MQTT: mqtt.New(&mqtt.Options{Logger: log})},
			Defaults: s.defaults,
			Logger:   log,
		},
		Secret:         s.secret,
		RestoreStopped: s.restoreStopped,
		MaxShutdown:    s.maxShutdown,
	}
	if !s.standalone {
		store, failure := disk.Open(s.data, nil)
		if failure != nil {
			return fmt.Errorf("-data: %w", failure)
		}
		defer func() { err = errors.Join(err, store.Close()) }()
		config.Documents = store.Documents()
	}
	manager, err := annotate.NewManager(config)
	if err != nil {
		return err
	}
	if !s.standalone && s.secret == "" {
		log.Warn("no encryption secret: user names and passwords of channels are stored in clear", "set", flags.Variable("encryption-auth-secret"))
	}
	server.WarnIfExposed(log, listener, "annotator")
	rest := server.HTTP(listener, manager.Handler(&annotate.HandlerOptions{Logger: log}), log)
	rest.Announce = func() { fmt.Fprintf(stdout, "listening on http://%s\n", listener.Addr()) }
	return server.Run(ctx, server.Part{Name: "annotate", Run: manager.Run, Ready: manager.Ready}, rest)
}
