// Command enablers runs every building block in one process, with nothing to
// set up: the annotator, an MQTT broker, the model repository, the training
// collector with an FL repository, API management, and a console with the pages
// of all; multi-link with links in memory, since real ones take rights over the machine.
//
//	enablers [-listen HOST:PORT] [-mqtt HOST:PORT] [-modelrepo HOST:PORT]
//	         [-flcollector HOST:PORT] [-flcollector-grpc HOST:PORT] [-flcollector-fleet HOST:PORT]
//	         [-apimanager HOST:PORT] [-gateway HOST:PORT] [-gateway-admin HOST:PORT] [-multilink HOST:PORT]
//	         [-multilink-client HOST:PORT] [-data DIR] [-demo] ...
//	enablers backup -data DIR TARGET
//	enablers restore -data DIR SOURCE
//
// The second form backs up the data folder of any server of this project, also beside
// the running server; the third restores it.
//
// With -demo all blocks are busy until it is interrupted: weather observations go through
// three channels, versions of a model are uploaded, three clients train, an API is called
// through the gateway, and a link is cut every 20 seconds. With -h it lists every flag with
// its environment variable and default.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/ngsild"
	"github.com/iotenablers/enablers/annotate/sparql"
	"github.com/iotenablers/enablers/cmd/internal/annotation"
	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/cmd/internal/backup/transfer"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/mappingfunctions"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/cmd/internal/telemetry"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/internal/version"
	modelrest "github.com/iotenablers/enablers/modelrepo/rest"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

func main() { server.Main("enablers", run) }

// run is the program, for main and for tests.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && transfer.Commands()[args[0]] != nil {
		return transfer.Commands()[args[0]](ctx, args[1:], stdout, stderr)
	}
	s, flags, err := readSettings(args)
	flags.Traces(telemetry.Open)
	return flags.Serve(ctx, err, stdout, stderr, func(ctx context.Context, log *slog.Logger) error { return s.serve(ctx, flags, stdout, log) })
}

// serve runs the parts of the program until ctx ends or one of them fails.
func (s *settings) serve(ctx context.Context, flags *server.Flags, stdout io.Writer, log *slog.Logger) (err error) {
	at, err := s.open()
	if err != nil {
		return err
	}
	defer at.close()
	if err := datafolder.Claim(s.data, datafolder.Enablers); err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	apiFolder := filepath.Join(s.data, "apimanager")
	apiStore, err := datafolder.Open(ctx, apiFolder, datafolder.APIManager)
	if err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	defer func() { err = errors.Join(err, apiStore.Close()) }()
	access, err := s.door.Open(ctx, door.Config{Name: "enablers", Dir: s.data,
		Sessions:  storage.Prefixed(apiStore.Documents(), door.SessionsPrefix),
		Listeners: at.guarded(!s.clientAccess.IsOpen(), !s.clientAccess.IsOpen() && s.fleetKeys == ""), Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, access.Close()) }()
	store, err := datafolder.Open(ctx, filepath.Join(s.data, "annotator"), datafolder.Annotator)
	if err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	secret, err := annotation.Unlock(ctx, annotation.SecretConfig{
		Documents: store.Documents(), Dir: filepath.Join(s.data, "annotator"), Secret: s.secret,
		Setting: flags.Variable("encryption-auth-secret"), Logger: log,
	})
	if err != nil {
		return fmt.Errorf("-data: %w", err)
	}

	events := &overview.Events{}
	models, err := openModels(ctx, filepath.Join(s.data, "modelrepo"), access.URL(at.models), events, log)
	if err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	defer func() { err = errors.Join(err, models.Close()) }()

	trainings, err := s.openTraining(ctx, filepath.Join(s.data, "flcollector"), at, access, events, log)
	if err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	defer func() { err = errors.Join(err, trainings.Close()) }()

	managed, err := s.openAPIs(ctx, apiStore, apiFolder, at, access, events, log)
	if err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	defer func() { err = errors.Join(err, managed.Close()) }()

	bonded, err := s.openBonding(ctx, filepath.Join(s.data, "multilink-demo"), at, access, events, log)
	if err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	defer func() { err = errors.Join(err, bonded.Close()) }()

	b, err := newBroker(at.mqtt, log)
	if err != nil {
		return err
	}
	mqttAt := b.settings()
	brokers, err := s.brokers.Hosts(annotation.Address{Host: mqttAt.Host, Port: mqttAt.Port})
	if err != nil {
		return err
	}
	functions, err := mappingfunctions.Open(ctx, s.functions)
	if err != nil {
		return cli.Usage(fmt.Errorf("-functions: %w", err))
	}
	defer func() { err = errors.Join(err, functions.Close()) }()
	transport := mqtt.New(&mqtt.Options{Hosts: brokers, Logger: log})
	annotator, err := manager.New(manager.Config{
		Environment: annotate.Environment{
			Drivers: []annotate.Driver{
				mqtt.Driver(transport, &mqtt.Defaults{Host: mqttAt.Host, Port: mqttAt.Port}),
				kafka.Driver(kafka.New(&kafka.Options{Hosts: brokers, Logger: log}), nil),
				ngsild.Driver(ngsild.New(&ngsild.Options{Hosts: brokers})),
				sparql.Driver(sparql.New(&sparql.Options{Hosts: brokers})),
			},
			Functions:      functions.Functions(),
			TracerProvider: server.TracerProvider(ctx),
			Logger:         events.Logger(log, overview.Source{Block: annotationBlock, Href: overview.Page("annotation/", "channels/", "channel")}),
		},
		Documents: store.Documents(),
		Secret:    secret,
	})
	if err != nil {
		return err
	}
	s.brokers.WarnIfOpen(log, at.web)
	server.WarnIfExposed(log, at.mqtt, "MQTT broker")

	address := access.URL(at.web)
	p := &platform{
		annotator: annotator, models: models, trainings: trainings, managed: managed, bonded: bonded, broker: b,
		access: access, events: events, address: address, hosts: s.door.Hosts(), log: log,
		guide: guide(address, tokenOf(access), mqttAt),
	}
	web := server.HTTP(access.Listener(at.web), p.handler(), log)
	web.Announce = func() { announce(stdout, address, models, trainings, managed, bonded, b, p.guide, s.demo) }
	parts := []server.Part{
		{Name: "MQTT broker", Run: b.run},
		{Name: "annotate", Run: annotator.Run, Ready: annotator.Err},
		{Name: "modelrepo", Run: models.repository.Run},
		server.HTTP(access.Listener(at.models), access.Handler(modelrest.NewHandler(models.repository, &modelrest.HandlerOptions{
			Version: version.String(), Hosts: s.door.Hosts(), Authorize: access.Authorizer(), Logger: log,
		})), log),
	}
	parts = slices.Concat(parts, trainings.parts(), managed.Parts(nil), bonded.parts(), []server.Part{web})
	parts = append(parts, server.Part{Name: "library", Run: func(ctx context.Context) error {
		managed.library(ctx, p.ownAPIs())
		<-ctx.Done()
		return nil
	}})
	if s.demo {
		parts = append(parts, s.demonstrations(demonstrated{
			console: address, annotator: annotator, broker: transport, mqtt: mqttAt, models: models, trainings: trainings,
			managed: managed, bonded: bonded, access: access, output: stdout, log: log,
		})...)
	}
	backups := backup.NewSource(backup.Config{Dir: s.data, Owner: datafolder.Enablers, Logger: log, Stores: map[string]*disk.Store{
		"annotator": store, "modelrepo": models.Store, "flcollector": trainings.Store, "apimanager": apiStore,
	}})
	access.BackUp(backups.Handler())
	return server.Run(ctx, slices.Insert(parts, 0, backups.Part(), access.Part())...)
}

// tokenOf returns what a shell replaces by the generated token, or by another one. It is
// empty if none is needed.
func tokenOf(access *door.Door) string {
	switch {
	case access.IsOpen():
		return ""
	case access.File != "":
		return "$(cat " + access.File + ")"
	}
	return "$TOKEN"
}

// isTerminal reports whether w is a terminal that understands control sequences.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
