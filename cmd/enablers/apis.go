package main

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/management"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage/disk"
)

// apisPage is where the pages of APIs are.
const apisPage = "apis/"

// apis is API management with its own folder.
type apis struct {
	*management.Management
	*disk.Store
	access *door.Door
	at     *listeners
	log    *slog.Logger
	there  *overview.Inventory
}

// openAPIs opens API management over its store. The caller closes it, and the store after it.
func (s *settings) openAPIs(ctx context.Context, store *disk.Store, dir string, at *listeners, d *door.Door,
	events *overview.Events, log *slog.Logger,
) (*apis, error) {
	log = events.Logger(log, overview.Source{Block: apisBlock, Href: overview.Page("apis/", "apis/", "enabler")})
	web := server.Reachable(d.URL(at.web))
	m, err := management.Open(ctx, management.Config{
		Documents: store.Documents(), Blobs: store.Blobs(), Dir: dir, Door: d, Portal: at.portal, Gateway: at.gateway, Admin: at.admin,
		Home: web + console.Root, Origins: []string{web}, Frame: frame(web, d),
		Own: []string{publisher}, PrivateUpstreams: s.private, Hosts: s.door.Hosts(),
		TracerProvider: server.TracerProvider(ctx), AccessLog: server.AccessLogOf(ctx), Logger: log,
	})
	if err != nil {
		return nil, err
	}
	m.Warn()
	return &apis{m, store, d, at, log,
		overview.Tally(ctx, func(ctx context.Context) ([]overview.Fact, error) {
			n, err := m.Publisher.Inventory(ctx)
			count := func(state apimgmt.State) uint64 { return uint64(n.Versions[state]) }
			return []overview.Fact{
				{Name: "published", Value: count(apimgmt.Published), Href: apisPage},
				{Name: "deprecated", Value: count(apimgmt.Deprecated), Href: apisPage},
				{Name: "drafts", Value: count(apimgmt.Draft), Href: apisPage},
			}, err
		})}, nil
}

// frame returns the shell of the portal's own listener: the sections that the console has,
// which lead there. web is the address of the console.
func frame(web string, d *door.Door) func(next, apis http.Handler) http.Handler {
	elsewhere := func(section, path string) console.Part {
		return console.Part{Section: section, Path: path, Elsewhere: web + console.Root + path}
	}
	return func(next, apis http.Handler) http.Handler {
		return console.Mount(next, console.MountConfig{
			Name: "enablers", Person: d.Person, Overview: http.RedirectHandler(web+console.Root, http.StatusSeeOther),
			Parts: []console.Part{
				elsewhere(annotationBlock, "annotation"), elsewhere(modelsBlock, "models"), elsewhere(trainingBlock, "training"),
				{Section: apisBlock, Path: "apis", Name: "Library", Handler: apis},
				{Section: apisBlock, Path: "gateway", Name: "Gateway", Elsewhere: web + console.Root + "gateway"},
				elsewhere(linksBlock, "links"),
			},
		})
	}
}

// Close closes API management.
func (a *apis) Close() error { return a.Management.Close() }

func (a *apis) block() overview.Block {
	portal := a.PortalURL()
	b := overview.Block{
		Name: apisBlock, Summary: "A library of APIs, and a gateway that serves and secures those that are published.",
		Href: apisPage, Address: a.access.URL(a.at.gateway),
		Links: []overview.Link{
			{Text: "Gateway", Href: "gateway/"}, {Text: "Interface", Href: portal + "/docs/"},
			{Text: "Metrics", Href: portal + "/metrics"},
		},
	}
	a.there.Show(&b)
	return b
}
