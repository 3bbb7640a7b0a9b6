package main

import (
	"log/slog"
	"net/http"

	"github.com/iotenablers/enablers/annotate/manager"
	annotationpage "github.com/iotenablers/enablers/annotate/manager/page"
	annotationrest "github.com/iotenablers/enablers/annotate/manager/rest"
	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/internal/version"
	modelpage "github.com/iotenablers/enablers/modelrepo/page"
	modelrest "github.com/iotenablers/enablers/modelrepo/rest"
)

// The names of the blocks, in the header and the overview.
const (
	annotationBlock = "Annotation"
	modelsBlock     = "Models"
	trainingBlock   = "Training"
	apisBlock       = "APIs"
	linksBlock      = "Links"
	brokerBlock     = "MQTT broker"
)

// platform is all blocks of the process, as the console shows them.
type platform struct {
	annotator *manager.Manager
	models    *models
	trainings *training
	managed   *apis
	bonded    *bonding
	broker    *broker

	access  *door.Door
	events  *overview.Events
	address string // of the console
	hosts   []string
	guide   []command
	log     *slog.Logger
}

// handler returns the handler of the console's listener: the pages of all blocks beside the
// routes of the annotator.
func (p *platform) handler() http.Handler {
	channels := &annotationrest.HandlerOptions{Version: version.String(), Hosts: p.hosts, Authorize: p.access.Authorizer(), Logger: p.log}
	repository := &modelrest.HandlerOptions{Version: version.String(), Hosts: p.hosts, Authorize: p.access.Authorizer(), Logger: p.log}
	first := overview.NewPage(overview.Config{Blocks: p.blocks, Steps: p.stepsOf(), Events: p.events},
		&overview.HandlerOptions{Hosts: p.hosts, Authorize: p.access.Authorizer(), Logger: p.log})
	mux := http.NewServeMux()
	mux.Handle("/", annotationrest.NewHandler(p.annotator, channels))
	mux.Handle("/{$}", http.RedirectHandler(console.Root, http.StatusSeeOther))
	mux.Handle("/console/", http.RedirectHandler(console.Root, http.StatusSeeOther))
	mux.Handle("/console/state", http.RedirectHandler(console.Root+"state", http.StatusSeeOther))
	mux.Handle("/favicon.ico", http.RedirectHandler(console.Root+"favicon.ico", http.StatusSeeOther))
	return p.access.Handler(console.Mount(mux, console.MountConfig{
		Name: "enablers", Person: p.access.Person, Overview: first,
		Parts: []console.Part{
			{Section: annotationBlock, Path: "annotation", Handler: annotationpage.NewHandler(p.annotator, channels)},
			{Section: modelsBlock, Path: "models", Handler: modelpage.NewHandler(p.models.repository, repository)},
			{Section: trainingBlock, Path: "training", Handler: p.trainings.Page()},
			{Section: apisBlock, Path: "apis", Name: "Library", Handler: p.managed.Page()},
			{Section: apisBlock, Path: "gateway", Name: "Gateway", Handler: p.managed.GatewayAdmin.Page()},
			{Section: linksBlock, Path: "links", Handler: p.bonded.pages, Person: p.bonded.door.Person},
		},
	}))
}

// blocks returns what there is, in the order of the overview.
func (p *platform) blocks() []overview.Block {
	return []overview.Block{
		p.annotation(), p.models.block(), p.trainings.block(), p.managed.block(), p.bonded.block(), p.broker.block(),
	}
}

func (p *platform) annotation() overview.Block {
	const page = "annotation/"
	total := 0
	counts := p.annotator.CountStates()
	for _, n := range counts {
		total += n
	}
	state := func(s manager.State) overview.Fact {
		return overview.Fact{Name: string(s), Value: uint64(counts[s]), Href: page + "?state=" + string(s)}
	}
	b := overview.Block{
		Name: annotationBlock, Summary: "Turns JSON, CSV and XML messages into RDF, from broker to broker.",
		Href: page, Address: p.address,
		Links: []overview.Link{{Text: "Interface", Href: "/swagger/"}, {Text: "Metrics", Href: "/metrics"}},
		Facts: []overview.Fact{
			{Name: "channels", Value: uint64(total), Href: page},
			state(manager.StateRunning), state(manager.StateWaiting), state(manager.StateFailed),
		},
	}
	if err := p.annotator.Err(); err != nil {
		b.Fault = err.Error()
	}
	return b
}

func (b *broker) block() overview.Block {
	info := b.server.Info.Clone()
	count := func(n int64) uint64 { return uint64(max(n, 0)) }
	block := overview.Block{
		Name: brokerBlock, Summary: "Carries the messages. It keeps them in memory and accepts every client that can reach it.",
		Address: b.url(),
		Facts: []overview.Fact{
			{Name: "clients", Value: count(info.ClientsConnected)},
			{Name: "subscriptions", Value: count(info.Subscriptions)},
			{Name: "retained", Value: count(info.Retained)},
		},
	}
	if dropped := info.MessagesDropped + info.InflightDropped; dropped > 0 {
		block.Facts = append(block.Facts, overview.Fact{Name: "lost since the start", Value: count(dropped)})
	}
	return block
}
