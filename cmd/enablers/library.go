package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/management"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage"
)

// ownAPI is an API of this process, which is published at the start.
type ownAPI struct {
	enabler string
	about   string // describes the enabler
	address string // that has its definition
	path    string // below which the gateway serves it
	// secured says that the service requires a token of its own, which the gateway passes on.
	// The gateway itself demands one of the identity provider for the others.
	secured bool
}

// ownAPIs returns the APIs of this process.
func (s *settings) ownAPIs(env *host.Env) []ownAPI {
	at := func(l *host.Listener) string { return server.Reachable(env.Door.URL(l)) }
	training := at(s.training.Web)
	return []ownAPI{
		{enabler: "annotator", about: "Channels that turn messages into RDF.", path: "/annotation", address: at(s.web)},
		{enabler: "model repository", about: "Semantic models with their versions.", path: "/models", address: at(s.models.Listener)},
		{enabler: "training collector", about: "Jobs of federated training.", path: "/training", address: training},
		{enabler: "FL repository", about: "Results and strategies of trainings.", path: "/results", address: training + "/repository"},
		{enabler: "API publisher", about: "The library of APIs itself.", path: "/apis", address: s.apis.PortalURL},
		{enabler: "multi-link", about: "Several links as one.", path: "/links", address: at(s.links.web[0]), secured: s.links.token != ""},
	}
}

// publisher is who uploads them, for the record.
const publisher = "enablers"

// library is the library of APIs, as this process publishes its own there.
type library struct {
	apis *management.Management
	env  *host.Env // of apis
}

// publish publishes APIs, each below a path of its own. What people have changed, published or
// deleted since stays as they left it.
func (l *library) publish(ctx context.Context, own []ownAPI) {
	client := l.env.Door.Client()
	defer client.CloseIdleConnections()
	for _, one := range own {
		if err := l.put(ctx, client, one); err != nil && ctx.Err() == nil {
			l.log().Warn("an API is not in the library", "enabler", one.enabler, "error", err)
		}
	}
}

// log is the log of API management.
func (l *library) log() *slog.Logger {
	return l.env.BlockLogger(overview.Source{Block: management.Name, Href: overview.Page("apis/", "apis/", "enabler")})
}

// put publishes an API, unless it is there or people have changed it.
func (l *library) put(ctx context.Context, client *http.Client, one ownAPI) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	file, err := fetchDefinition(ctx, client, one.address+"/openapi.json")
	if err != nil {
		return err
	}
	if !one.secured {
		if file, err = l.apis.Secure(file); err != nil {
			return err
		}
	}
	d, err := definition.Load(ctx, file, definition.Limits{})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(file)
	next := ownState{SHA256: hex.EncodeToString(sum[:]), Server: one.address}
	last, err := l.lastState(ctx, one.enabler)
	if err != nil {
		return err
	}
	due, err := l.isDue(ctx, one, d, last, next)
	if err != nil || !due {
		return err
	}
	upload := apimgmt.Upload{Enabler: one.enabler, Description: one.about, KeepDescription: true, Definition: file,
		Path: one.path, Server: one.address, By: publisher}
	record, err := l.apis.Publisher.Publish(ctx, upload)
	if errors.Is(err, apimgmt.ErrConflict) {
		l.log().Warn("an API of the platform is a draft, because others serve its routes", "enabler", one.enabler, "error", err)
		upload.State = apimgmt.Draft
		record, err = l.apis.Publisher.Publish(ctx, upload)
	}
	if err != nil {
		return err
	}
	next.Revision = record.Revision
	return l.saveState(ctx, one.enabler, next)
}

// isDue reports whether an API of the platform is to be published: it is new, or what is there
// is exactly what was published before, and has to change.
func (l *library) isDue(ctx context.Context, one ownAPI, d *definition.Definition, last, next ownState) (bool, error) {
	there, err := l.apis.Publisher.Get(ctx, one.enabler)
	switch {
	case errors.Is(err, apimgmt.ErrNotFound):
		return last.Revision == "", nil // otherwise a person has deleted it
	case err != nil:
		return false, err
	case last.Revision == "": // of a version that kept drafts, and no states
		return len(there.Versions) == 1 && there.State == apimgmt.Draft && there.UploadedBy == publisher &&
			there.Description == d.Title(), nil
	case there.Revision != last.Revision:
		return false, nil // a person has changed it
	}
	last.Revision = ""
	return last != next || there.State == apimgmt.Draft, nil
}

// fetchDefinition gets the definition of a service.
func fetchDefinition(ctx context.Context, client *http.Client, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	const most = 4 << 20
	file, err := io.ReadAll(io.LimitReader(answer.Body, most))
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %q: %s", request.URL, answer.Status)
	}
	return file, nil
}

// ownState is what this program has published of an API. It is kept, so that a later start
// knows what people have changed.
type ownState struct {
	Revision string `json:"revision"` // of the record in the library
	SHA256   string `json:"sha256"`
	Server   string `json:"server"`
}

// states keeps the states of enablers.
func (l *library) states() storage.Documents {
	return storage.Prefixed(l.env.Stores.Documents, "own-apis/")
}

// stateKey is the key of the state of an enabler.
func stateKey(enabler string) string {
	return strings.ReplaceAll(strings.ToLower(enabler), " ", "-")
}

func (l *library) lastState(ctx context.Context, enabler string) (ownState, error) {
	var last ownState
	doc, err := l.states().Get(ctx, stateKey(enabler))
	if errors.Is(err, storage.ErrNotFound) {
		return last, nil
	}
	if err == nil {
		err = json.Unmarshal(doc.Data, &last)
	}
	return last, err
}

func (l *library) saveState(ctx context.Context, enabler string, state ownState) error {
	_, err := storage.Change(ctx, l.states(), stateKey(enabler), func(storage.Document) ([]byte, error) { return json.Marshal(state) })
	return err
}
