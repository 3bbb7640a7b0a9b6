// Command annotator is the semantic annotator as a server: channels from
// broker to broker, created and watched over REST.
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
// Where other machines reach the interface, callers have to authenticate: unless
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
	"io"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/internal/server"
)

func main() { server.Main("annotator", run) }

// run is the program, for main and for tests.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, err := readSettings(args)
	s.web.Address = s.address()
	return s.Serve(ctx, err, stdout, stderr, host.Server{
		Owner: datafolder.Annotator, Listeners: []*host.Listener{&s.web}, Web: &s.web, Title: "Annotator", Front: true,
		Blocks: []host.Entry{{Opener: s, Stores: s.openStores}},
	})
}
