// Package models is the model repository as a block of a server: its REST interface, its pages and
// its state, over the stores of the server.
package models

import (
	"context"
	"log/slog"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/internal/version"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/page"
	"github.com/iotenablers/enablers/modelrepo/rest"
)

// The name of the block in headers and overviews, and the folder of its pages.
const (
	Name   = "Models"
	folder = "models/"
)

// Models is the repository as a [host.Opener]. The zero value has the defaults.
type Models struct {
	// Config configures the repository. Open sets what is not a setting.
	modelrepo.Config
	// Listener has the REST interface in a server of several blocks. Nil leaves it to the server.
	Listener *host.Listener
	// Repository is set by Open.
	Repository *modelrepo.Store
}

// Open implements host.Opener.
func (m *Models) Open(ctx context.Context, env *host.Env) (*host.Block, error) {
	c := &m.Config
	c.Documents, c.Blobs, c.TracerProvider = env.Stores.Documents, env.Stores.Blobs, server.TracerProvider(ctx)
	c.Logger = env.BlockLogger(overview.Source{Block: Name, Level: slog.LevelWarn, Href: overview.Page(folder, "", "")})
	if env.Events != nil {
		c.Changed = func(change modelrepo.Change) { env.Events.Add(event(change)) }
	}
	var err error
	if m.Repository, err = modelrepo.New(*c); err != nil {
		return nil, err
	}
	options := &rest.HandlerOptions{Version: version.String(), Hosts: env.Hosts, Authorize: env.Door.Authorizer(), Logger: env.Logger}
	block := &host.Block{
		Routes: rest.NewHandler(m.Repository, options),
		Pages:  []console.Part{{Section: Name, Path: "models", Handler: page.NewHandler(m.Repository, options)}},
		Run:    []server.Part{{Name: "modelrepo", Run: m.Repository.Run}},
	}
	if m.Listener != nil {
		block.Run = append(block.Run, env.Web(m.Listener.Listener, block.Routes))
		block.Routes = nil
		block.Overview = m.overview(ctx, env.Door.URL(m.Listener))
	}
	return block, nil
}

// overview returns the function that describes the block, whose interface is at an address.
func (m *Models) overview(ctx context.Context, address string) func() overview.Block {
	there := overview.Tally(ctx, func(ctx context.Context) ([]overview.Fact, error) {
		n, err := m.Repository.Inventory(ctx)
		return []overview.Fact{
			{Name: "namespaces", Value: n.Namespaces, Href: folder},
			{Name: "models", Value: n.Models, Href: folder},
			{Name: "versions", Value: n.Versions, Href: folder},
		}, err
	})
	return func() overview.Block {
		b := overview.Block{
			Name: Name, Summary: "Namespaces, models and versions, with their content by format.",
			Href: folder, Address: address,
			Links: []overview.Link{{Text: "Interface", Href: address + "/docs/"}, {Text: "Metrics", Href: address + "/metrics"}},
		}
		there.Show(&b)
		return b
	}
}

// event returns a change as an event, with the page of what is left of it.
func event(c modelrepo.Change) overview.Event {
	at, info := c.Path, c.Action.Info()
	if info.Deletes {
		at = at.Parent()
	}
	e := overview.Event{At: time.Now(), Block: Name, Level: "info", Text: info.Text, Detail: c.Path.String(), Href: folder}
	if c.Format != "" {
		e.Detail += ", " + c.Format
	}
	// No character of a name has to be escaped.
	switch {
	case at.Version != "":
		e.Href += "v/" + at.String()
	case at.Model != "":
		e.Href += "m/" + at.String()
	case at.Namespace != "":
		e.Href += "n/" + at.String()
	}
	return e
}
