package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"time"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/management"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/storage/disk"
)

// apisPage is where the pages of APIs are.
const apisPage = "apis/"

// apis is API management with its own folder.
type apis struct {
	*management.Management
	*disk.Store
	credentials string // the file with the password of the users
	access      *door.Door
	at          *listeners
	log         *slog.Logger
	there       *inventory
}

// openAPIs opens API management. The caller closes it.
func (s *settings) openAPIs(ctx context.Context, dir string, at *listeners, d *door.Door, events *overview.Events, log *slog.Logger) (*apis, error) {
	log = events.Logger(log, overview.Source{Block: apisBlock, Href: pageOf("apis/", "apis/", "enabler")})
	store, err := datafolder.Open(ctx, dir, datafolder.APIManager)
	if err != nil {
		return nil, err
	}
	m, err := management.Open(ctx, management.Config{
		Store: store, Dir: dir, Door: d, Portal: at.portal, Gateway: at.gateway, Admin: at.admin,
		PrivateUpstreams: s.private, Hosts: s.door.Hosts(), Logger: log,
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	m.Warn()
	return &apis{m, store, filepath.Join(dir, management.CredentialsFile), d, at, log,
		newInventory(ctx, func(ctx context.Context) ([]overview.Fact, error) {
			n, err := m.Publisher.Inventory(ctx)
			count := func(state apimgmt.State) uint64 { return uint64(n.Versions[state]) }
			return []overview.Fact{
				{Name: "published", Value: count(apimgmt.Published), Href: apisPage},
				{Name: "deprecated", Value: count(apimgmt.Deprecated), Href: apisPage},
				{Name: "drafts", Value: count(apimgmt.Draft), Href: apisPage},
			}, err
		})}, nil
}

// Close closes API management and its folder.
func (a *apis) Close() error { return errors.Join(a.Management.Close(), a.Store.Close()) }

// library puts the definitions of the services of this process into the library, as
// drafts. A user can read them, and publish them to have the gateway serve them.
func (a *apis) library(ctx context.Context, of map[string]string) {
	client := a.access.Client()
	defer client.CloseIdleConnections()
	for enabler, address := range of {
		if err := a.put(ctx, client, enabler, address); err != nil && ctx.Err() == nil {
			a.log.Warn("an API is not in the library", "enabler", enabler, "error", err)
		}
	}
}

func (a *apis) put(ctx context.Context, client *http.Client, enabler, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/openapi.json", nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	const most = 4 << 20
	file, err := io.ReadAll(io.LimitReader(answer.Body, most))
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("get %q: %s", request.URL, answer.Status)
	}
	d, err := definition.Load(ctx, file, definition.Limits{})
	if err != nil {
		return err
	}
	there, err := a.Publisher.GetVersion(ctx, enabler, d.Version())
	sum := sha256.Sum256(file)
	switch {
	case errors.Is(err, apimgmt.ErrNotFound):
	case err != nil:
		return err
	case there.State != apimgmt.Draft, there.SHA256 == hex.EncodeToString(sum[:]):
		return nil // a user has published it, or it is the same
	}
	_, err = a.Publisher.Publish(ctx, apimgmt.Upload{
		Enabler: enabler, Description: d.Title(), KeepDescription: true, Definition: file, State: apimgmt.Draft, Server: address, By: "enablers",
	})
	return err
}

func (a *apis) block() overview.Block {
	portal, admin := a.PortalURL(), a.AdminURL()
	b := overview.Block{
		Name: apisBlock, Summary: "A library of APIs, and a gateway that serves and secures those that are published.",
		Href: apisPage, Address: a.access.URL(a.at.gateway),
		Links: []overview.Link{
			{Text: "Gateway", Href: admin + "/admin/"}, {Text: "Interface", Href: portal + "/docs/"},
			{Text: "Metrics", Href: portal + "/metrics"},
		},
	}
	a.there.show(&b)
	return b
}
