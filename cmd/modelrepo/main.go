// Command modelrepo is the model repository as a server: namespaces, models,
// versions and their content over REST.
//
//	modelrepo [-listen HOST:PORT] [-data DIR] [-store URL] [-blobs URL] [-config FILE] ...
//	modelrepo collect [-data DIR] [-store URL] [-blobs URL]
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
	"io"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/internal/server"
)

func main() { server.Main("modelrepo", run) }

// run is the program, for main and for tests.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == collectWord {
		return collect(ctx, args[1:], stdout, stderr)
	}
	s, err := readSettings(args)
	return s.Serve(ctx, err, stdout, stderr, host.Server{
		Owner: datafolder.ModelRepo, Listeners: []*host.Listener{&s.web}, Web: &s.web, Title: "Model repository", Front: true,
		Blocks: []host.Entry{{Opener: &s.models, Stores: host.Kept(s.Stores, datafolder.ModelRepo)}},
	})
}
