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
	"io"
	"os"
	"path/filepath"

	"github.com/iotenablers/enablers/cmd/internal/backup/transfer"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/internal/server"
)

func main() { server.Main("enablers", run) }

// run is the program, for main and for tests.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && transfer.Commands()[args[0]] != nil {
		return transfer.Commands()[args[0]](ctx, args[1:], stdout, stderr)
	}
	s, err := readSettings(args)
	return s.Serve(ctx, err, stdout, stderr, host.Server{
		Owner: datafolder.Enablers, Above: s.data, Events: &s.events, Announce: s.announce,
		Listeners: []*host.Listener{
			s.web, s.models.Listener, s.training.Web, s.training.Clients, s.apis.Portal, s.apis.Gateway, s.apis.Admin,
			s.links.web[0], s.links.web[1], &s.training.Fleet.Listener, s.mqtt,
		},
		Blocks: []host.Entry{
			{Opener: host.OpenFunc(s.openBroker)},
			s.entry(s.annotation, "annotator", datafolder.Annotator),
			s.entry(&s.models, "modelrepo", datafolder.ModelRepo),
			s.entry(&s.training, "flcollector", datafolder.FLCollector),
			s.entry(host.OpenFunc(s.openAPIs), "apimanager", datafolder.APIManager),
			{Opener: &s.links},
			{Opener: host.OpenFunc(func(_ context.Context, env *host.Env) (*host.Block, error) { return s.tour(env, stdout), nil })},
		},
		Web: s.web, Console: s.console,
	})
}

// entry returns a block with a folder of its own. The sessions are in that of API management.
func (s *settings) entry(block host.Opener, folder, owner string) host.Entry {
	return host.Entry{Opener: block, Folder: folder, Sessions: owner == datafolder.APIManager,
		Stores: host.Kept(stores.In(filepath.Join(s.data, folder)), owner)}
}

// shellToken returns what a shell replaces by the generated token, or by another one. It is
// empty if none is needed.
func shellToken(access *door.Door) string {
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
