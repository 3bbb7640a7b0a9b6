// Command enablers runs every building block in one process, with nothing to
// set up: the annotator, an MQTT broker, and a console page that shows them.
//
//	enablers [-listen HOST:PORT] [-mqtt HOST:PORT] [-modelrepo HOST:PORT] [-data DIR] [-demo] ...
//
// With -demo it replays weather observations through three channels, one a
// format, and shows the counts until it is interrupted. With -h it lists every
// flag with its environment variable and default.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/internal/demo"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage/disk"
)

func main() { server.Main("enablers", run) }

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

	listener, err := server.Listen("listen", s.listen)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // closed already unless an error came first
	modelsListener, err := server.Listen("modelrepo", s.models)
	if err != nil {
		return err
	}
	defer func() { _ = modelsListener.Close() }() // likewise
	mqttListener, err := s.listenMQTT()
	if err != nil {
		return err
	}
	defer func() { _ = mqttListener.Close() }() // likewise
	store, err := disk.Open(filepath.Join(s.data, "annotator"), nil)
	if err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	models, err := openModels(filepath.Join(s.data, "modelrepo"), modelsListener, log)
	if err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	defer func() { err = errors.Join(err, models.Close()) }()

	b, err := newBroker(mqttListener, log)
	if err != nil {
		return err
	}
	at := b.settings()
	transport := mqtt.New(&mqtt.Options{Logger: log})
	manager, err := annotate.NewManager(annotate.Config{
		Environment: annotate.Environment{
			Brokers:  map[annotate.BrokerType]annotate.Broker{annotate.MQTT: transport, annotate.Kafka: kafka.New(&kafka.Options{Logger: log})},
			Defaults: annotate.Defaults{MQTTHost: at.Host, MQTTPort: at.Port},
			Logger:   log,
		},
		Documents: store.Documents(),
		Secret:    s.secret,
	})
	if err != nil {
		return err
	}
	server.WarnIfExposed(log, listener, "console and annotator")
	server.WarnIfExposed(log, modelsListener, "model repository")
	server.WarnIfExposed(log, mqttListener, "MQTT broker")

	address := "http://" + listener.Addr().String()
	view := consoleOf(address, manager, models, b)
	web := server.HTTP(listener, handler(manager, view, log), log)
	web.Announce = func() { announce(stdout, address, models, b, view.Guide, s.demo) }
	parts := []server.Part{
		{Name: "MQTT broker", Run: b.run},
		{Name: "annotate", Run: manager.Run, Ready: manager.Ready},
		{Name: "modelrepo", Run: models.repository.Run},
		server.HTTP(modelsListener, models.repository.Handler(&modelrepo.HandlerOptions{Logger: log}), log),
		web,
	}
	if s.demo {
		parts = append(parts, server.Part{Name: "demo", Run: func(ctx context.Context) error {
			return demo.Run(ctx, demo.Config{
				Channels: manager, Broker: transport, MQTT: at,
				Rate: s.demoRate, Output: stdout, Terminal: isTerminal(stdout),
			})
		}})
	}
	return server.Run(ctx, parts...)
}

// isTerminal reports whether w is a terminal that knows control sequences.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
