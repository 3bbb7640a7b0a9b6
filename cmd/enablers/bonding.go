package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/demo/pair"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/page"
	"github.com/iotenablers/enablers/multilink/node/rest"
	"github.com/iotenablers/enablers/multilink/status"
)

// bonding is two instances of multi-link on a network in memory, since real links take rights
// over the machine, as a [host.Opener]. It stores only the token.
type bonding struct {
	web  [2]*host.Listener // of the server and of the client
	open bool              // -access none is set
	dir  string

	// token is one of an admin where the program is open by default, for callers of this
	// machine. It is stored in tokenFile, and empty if the door of the program decides.
	token     string
	tokenFile string
	door      *door.Door // of both instances

	env    *host.Env
	pair   *pair.Pair
	memory *pair.Memory
	log    *slog.Logger
	failed atomic.Pointer[error] // why the two are not connected
}

// demoLinks is how many links the demonstration has.
const demoLinks = 3

// probing is the interval of the demonstration's probes. It carries no frames for which a
// shorter one would matter.
const probing = 100 * time.Millisecond

// Open implements host.Opener.
func (b *bonding) Open(ctx context.Context, env *host.Env) (*host.Block, error) {
	d := env.Door
	b.env, b.door, b.tokenFile = env, d, filepath.Join(b.dir, "token")
	b.log = env.BlockLogger(overview.Source{Block: linksBlock, Level: slog.LevelWarn, Href: overview.Page("links/", "", "")})
	pages, err := b.openPair(ctx)
	if err != nil {
		return nil, fmt.Errorf("-data: %w", err)
	}
	return &host.Block{
		Pages: []console.Part{{Section: linksBlock, Path: "links", Handler: pages, Person: b.door.Person}},
		Run:   b.parts(), Announce: b.announce, Overview: b.overview,
	}, nil
}

// openPair opens the instances, and returns their pages.
func (b *bonding) openPair(ctx context.Context) (http.Handler, error) {
	if err := datafolder.Claim(b.dir, datafolder.MultiLink); err != nil {
		return nil, err
	}
	d := b.env.Door
	config := pair.Config{Probe: probing, Hosts: b.env.Hosts, HTTPClient: d.Client(), Token: d.Self(), Logger: b.log}
	var err error
	if d.IsOpen() && !b.open {
		if b.token, _, err = rest.LoadToken(b.tokenFile); err != nil {
			return nil, err
		}
		config.Token = b.token
		b.door = d.Closed(access.NewToken(access.Identity{Name: "multi-link token", Role: httpapi.Admin}, b.token),
			"the one of multi-link in the file multilink-demo/token of the data folder")
	}
	config.Authorize = b.door.Authorize
	if b.memory, err = pair.NewMemory(); err != nil {
		return nil, err
	}
	b.env.Closing(b.memory.Close)
	config.Server, config.Client, config.Links = b.memory.Server, b.memory.Client, b.memory.Links
	if b.pair, err = pair.Open(ctx, config); err != nil {
		return nil, err
	}
	b.env.Closing(b.pair.Close)
	return b.inConsole(b.env.Hosts)
}

// parts returns the parts in the order of their start.
func (b *bonding) parts() []server.Part {
	s, c := &b.pair.Server, &b.pair.Client
	return []server.Part{
		{Name: "multi-link server", Run: s.Node.Run, Ready: server.Opened(s.Node.Ready())},
		{Name: "multi-link client", Run: c.Node.Run, Ready: server.Opened(c.Node.Ready())},
		b.serve(b.web[0], s.Handler),
		b.serve(b.web[1], c.Handler),
		{Name: "multi-link", Run: b.connect},
		{Name: "events of multi-link", Run: b.watch},
	}
}

// inConsole returns the pages of both instances, those of the client below client/. Who may read
// the other pages of the console may read them; for all else the door of the instances decides.
func (b *bonding) inConsole(hosts []string) (http.Handler, error) {
	const folder = console.Root + "links/"
	serverAt, _ := b.addresses()
	authorize := func(r *http.Request, role string) error {
		if role == string(httpapi.Reader) {
			return b.env.Door.Authorize(r, role)
		}
		return b.door.Authorize(r, role)
	}
	opts := &page.HandlerOptions{REST: rest.HandlerOptions{Authorize: authorize, Hosts: hosts, Logger: b.log}, URL: serverAt,
		Instances: []page.Instance{
			{Name: string(node.Server), Href: folder}, {Name: string(node.Client), Href: folder + "client/"},
		}}
	ofServer, err := page.NewHandler(b.pair.Server.Node, opts)
	if err != nil {
		return nil, err
	}
	ofClient, err := page.NewHandler(b.pair.Client.Node, opts)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", ofServer)
	mux.Handle("/client/", httpapi.StripPrefix("/client", ofClient))
	return mux, nil
}

// serve returns the part that serves an instance, with the door's own addresses and with the person
// in the header of its pages.
func (b *bonding) serve(at *host.Listener, instance http.Handler) server.Part {
	frame := &shell.Shell{Name: "Multi-link", Person: b.door.Person, Sections: func(*http.Request) []shell.Section {
		return []shell.Section{{Name: linksBlock, Href: "/"}}
	}}
	return server.HTTP(b.door.Listener(at), b.door.Handler(frame.With(instance)), b.log)
}

// announce says where the pages are.
func (b *bonding) announce(stdout io.Writer) {
	serverAt, clientAt := b.addresses()
	if b.token == "" {
		fmt.Fprintf(stdout, "\nLinks: %s/ and %s/.\n", serverAt, clientAt)
		return
	}
	fmt.Fprintf(stdout, "\nLinks: sign in at %s/ or %s/.\n  The token is in %s.\n", serverAt, clientAt, b.tokenFile)
}

// connect attaches the client to the server. No other part needs that: a failure is
// logged and shown in the overview, and the program keeps running.
func (b *bonding) connect(ctx context.Context) error {
	serverAt, clientAt := b.addresses()
	if err := b.pair.Connect(ctx, serverAt, clientAt); err != nil && ctx.Err() == nil {
		b.log.Warn("the client of multi-link is not attached", "error", err)
		b.failed.Store(&err)
	}
	<-ctx.Done()
	return nil
}

// carrier returns the name of the link that carries the frames, empty if none does.
func (b *bonding) carrier() string {
	for _, peer := range b.pair.Client.Bond.Status().Peers {
		return peer.ActiveLink
	}
	return ""
}

// addresses returns the URLs of the server and the client on this machine.
func (b *bonding) addresses() (serverAt, clientAt string) {
	return server.Reachable(b.env.Door.URL(b.web[0])), server.Reachable(b.env.Door.URL(b.web[1]))
}

// watch adds what happens to the links of the server to the events, until ctx ends.
func (b *bonding) watch(ctx context.Context) error {
	err := b.pair.Server.Bond.Events(ctx, func(e status.Event) { b.env.Events.Add(linkEvent(e)) })
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// linkEvent returns what happened to a link in words.
func linkEvent(e status.Event) overview.Event {
	one := overview.Event{At: e.Time, Block: linksBlock, Level: "info", Href: "links/", Detail: e.Reason}
	switch {
	case e.Type == "link":
		one.Text = fmt.Sprintf("link %s is %s", e.Link, e.State)
		if e.State == status.Down || e.State == status.Suspect {
			one.Level = "warn"
		}
	case e.Type == "peer":
		one.Text = fmt.Sprintf("peer %s", e.Peer)
	case e.Link != "" && e.From != "":
		one.Text = fmt.Sprintf("%s from %s to %s", e.Type, e.From, e.Link)
	case e.Link != "":
		one.Text = fmt.Sprintf("%s to %s", e.Type, e.Link)
	default:
		one.Text = e.Type
	}
	return one
}

// overview describes the block.
func (b *bonding) overview() overview.Block {
	serverAt, _ := b.addresses()
	current := b.pair.Server.Bond.Status()
	var up, connected uint64
	for _, l := range current.Links {
		if l.State == status.Up {
			up++
		}
	}
	for _, p := range current.Peers {
		if p.Connected {
			connected++
		}
	}
	const page = "links/"
	block := overview.Block{
		Name: linksBlock,
		Summary: "Several radio links, one network. A demonstration in the memory of this process; cmd/multilink, run as root, " +
			"is the real one.",
		Href: page, Address: serverAt,
		Links: []overview.Link{
			{Text: "Client", Href: page + "client/"}, {Text: "Interface", Href: serverAt + "/docs/"},
		},
		Facts: []overview.Fact{
			{Name: "links", Value: uint64(len(current.Links)), Href: page}, {Name: "links up", Value: up, Href: page},
			{Name: "clients", Value: connected, Href: page},
		},
	}
	err := errors.Join(b.pair.Server.Node.Health(), b.pair.Client.Node.Health())
	if failed := b.failed.Load(); failed != nil {
		err = fmt.Errorf("the client is not attached: %w", *failed)
	}
	if err != nil {
		block.Fault = err.Error()
	}
	return block
}
