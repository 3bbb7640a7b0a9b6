// Command modelrepo is the model repository as a server: namespaces, models,
// versions and their content over REST.
//
//	modelrepo [-listen HOST:PORT] [-data DIR] [-store WHERE] [-blobs WHERE] [-config FILE] ...
//
// Everything is stored in the folder of -data, or where -store points: another folder,
// memory, or MongoDB. Content may be stored elsewhere with -blobs, in a bucket of S3 for
// instance. While one of these servers does not answer at the start, the program logs
// that, tries again, and is not ready; when one fails later, requests that need it are
// answered with 503. Put a URL with credentials into the environment, because other
// users can see flags.
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

	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/internal/version"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/rest"
)

func main() { server.Main("modelrepo", run) }

// run is the whole program, without the process: tests call it too.
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

	listener, err := server.Listen("listen", s.listen)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // closed already unless an error came first
	stores, err := openStores(s, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	repository, err := modelrepo.New(modelrepo.Config{
		Documents: stores.documents, Blobs: stores.blobs,
		Grace: s.grace, Interval: s.interval, Limits: s.limits, Logger: log,
		Webhooks: modelrepo.WebhookConfig{AllowPrivate: s.anywhere},
	})
	if err != nil {
		return err
	}
	server.WarnIfExposed(log, listener, "modelrepo")
	rest := server.HTTP(listener,
		rest.NewHandler(repository, &rest.HandlerOptions{Version: version.String(), Hosts: s.hosts, Logger: log}), log)
	rest.Announce = func() { fmt.Fprintf(stdout, "listening on http://%s\n", listener.Addr()) }
	return server.Run(ctx, stores.servers.part(repository.Run, log), rest)
}
