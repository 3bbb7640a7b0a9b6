// Command modelrepo is the model repository as a server: namespaces, models,
// versions and their content over REST.
//
//	modelrepo [-listen HOST:PORT] [-data DIR] [-store WHERE] [-blobs WHERE] [-config FILE] ...
//	modelrepo collect [-data DIR] [-store WHERE] [-blobs WHERE]
//
// Everything is stored in the folder of -data, or in the store of -store: another folder,
// memory, or MongoDB. With -blobs content is stored in a second place, for instance a
// bucket of S3. While one of the servers does not answer at the start, the program logs
// it, tries again, and answers 503. When one fails later, requests that need it are
// answered with 503. Give a URL with credentials in the environment, since other users
// can see flags.
//
// With the word collect it removes content that nothing refers to, without the grace
// period, and ends: after deletions on a full disk. The server of a folder must be stopped.
//
// With -h it lists every flag with its environment variable and default. The
// first line on standard output is "listening on http://HOST:PORT"; the log
// goes to standard error. On an interrupt or SIGTERM it ends with status 0; a
// second one ends it at once.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"

	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/cmd/internal/telemetry"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/internal/version"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/page"
	"github.com/iotenablers/enablers/modelrepo/rest"
)

func main() { server.Main("modelrepo", run) }

// run is the program, for main and for tests.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == collectWord {
		return collect(ctx, args[1:], stdout, stderr)
	}
	s, flags, err := readSettings(args)
	flags.Traces(telemetry.Open)
	return flags.Serve(ctx, err, stdout, stderr, func(ctx context.Context, log *slog.Logger) error { return s.serve(ctx, stdout, log) })
}

// serve runs the parts of the program until ctx ends or one of them fails.
func (s *settings) serve(ctx context.Context, stdout io.Writer, log *slog.Logger) (err error) {
	listener, err := s.connections.Listen("listen", s.listen)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // closed already unless an error came first
	kept, err := s.stores.Open(ctx, stores.Config{Owner: datafolder.ModelRepo, Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	repository, err := modelrepo.New(modelrepo.Config{
		Documents: kept.Documents, Blobs: kept.Blobs,
		Grace: s.grace, Interval: s.interval, Limits: s.limits, Scrub: s.scrubs(), TracerProvider: server.TracerProvider(ctx), Logger: log,
		Webhooks: modelrepo.WebhookConfig{AllowPrivate: s.anywhere},
	})
	if err != nil {
		return err
	}
	announce := sync.OnceFunc(func() { fmt.Fprintf(stdout, "listening on %s\n", s.door.URL(listener)) })
	err = kept.Wait(ctx, stores.Waiting{Listeners: []*net.Listener{&listener}, TLS: s.door.TLS(), Announce: announce})
	if err != nil || ctx.Err() != nil {
		return err
	}
	access, err := s.door.Open(ctx, door.Config{Name: "modelrepo", Dir: kept.Dir, Listeners: []net.Listener{listener},
		Sessions: kept.Access(), Shared: kept.Shared, Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, access.Close()) }()
	options := &rest.HandlerOptions{Version: version.String(), Hosts: s.door.Hosts(), Authorize: access.Authorizer(), Logger: log}
	handler := access.Handler(console.Mount(rest.NewHandler(repository, options), console.MountConfig{
		Name: "Model repository", Front: true, Person: access.Person,
		Parts: []console.Part{{Section: "Models", Path: "models", Handler: page.NewHandler(repository, options)}},
	}))
	web := server.HTTP(access.Listener(listener), handler, log)
	web.Announce = func() {
		announce()
		access.Announce(stdout, listener)
	}
	access.BackUp(kept.Source().Handler())
	return server.Run(ctx, append(kept.Backups(), access.Part(), server.Part{Name: "modelrepo", Run: repository.Run}, web)...)
}
