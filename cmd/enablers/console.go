package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/internal/version"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/rest"
)

// handler puts the pages of all blocks beside the routes of the annotator.
func handler(m *manager.Manager, repository *modelrepo.Store, managed *apis, view console.Config, events *overview.Events, d *door.Door,
	hosts []string, log *slog.Logger,
) http.Handler {
	page := console.NewHandler(view, &console.HandlerOptions{Hosts: hosts, Authorize: d.Authorizer(), Logger: log})
	mux := http.NewServeMux()
	mux.Handle("/console/", page)
	mux.Handle("/favicon.ico", page)
	mux.Handle("/{$}", page)
	channels := &manager.HandlerOptions{Version: version.String(), Hosts: hosts, Authorize: d.Authorizer(), Logger: log}
	models := &rest.HandlerOptions{Version: version.String(), Hosts: hosts, Authorize: d.Authorizer(), Logger: log}
	mux.Handle("/", manager.NewHandler(m, channels))
	first := overview.NewHandler(overview.Config{Events: events, Blocks: func() []overview.Block { return blocksOf(view.Services()) },
		Steps: stepsOf(view.Guide)}, &overview.HandlerOptions{Hosts: hosts, Authorize: d.Authorizer(), Logger: log})
	return d.Handler(console.Mount(mux, console.MountConfig{Name: "enablers", Person: d.Person, Front: true, Overview: first,
		Parts: []console.Part{
			{Section: "Annotation", Path: "annotation", Handler: m.Page(channels)},
			{Section: "Models", Path: "models", Handler: rest.NewPage(repository, models)},
			{Section: "APIs", Path: "apis", Handler: managed.Page()},
		}}))
}

// blocksOf returns the services as the overview shows them.
func blocksOf(services []console.Service) []overview.Block {
	pages := map[string]string{"Annotator": "annotation/", "Model repository": "models/", "API management": "apis/"}
	var blocks []overview.Block
	for _, s := range services {
		b := overview.Block{Name: s.Name, Summary: s.Summary, Address: s.Address, Fault: s.Fault, Href: pages[s.Name]}
		if b.Href == "" && len(s.Links) > 0 {
			b.Href = s.Links[0].Href
		}
		for _, f := range s.Facts {
			b.Facts = append(b.Facts, overview.Fact{Name: f.Name, Value: f.Value, Href: b.Href})
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// stepsOf returns the first steps as the overview shows them.
func stepsOf(guide []console.Step) []overview.Step {
	steps := []overview.Step{{Text: "Make a channel from a sample message", Href: "annotation/new"}}
	for _, step := range guide[min(1, len(guide)):] {
		steps = append(steps, overview.Step{Text: step.Text, Command: step.Command})
	}
	return steps
}

// consoleOf returns the console of the annotator, the broker and the other services.
func consoleOf(address, token string, m *manager.Manager, b *broker, between ...func() console.Service) console.Config {
	return console.Config{
		Services: func() []console.Service {
			services := []console.Service{annotatorService(address, m)}
			for _, service := range between {
				services = append(services, service())
			}
			return append(services, b.service())
		},
		Channels: func() []console.Channel { return channelsOf(m) },
		Guide:    guide(address, token, b.settings()),
	}
}

func annotatorService(address string, m *manager.Manager) console.Service {
	var running uint64
	channels := m.List()
	for _, c := range channels {
		if !c.Status.Stopped {
			running++
		}
	}
	s := console.Service{
		Name:    "Annotator",
		Summary: "Turns JSON, CSV and XML messages into RDF, from broker to broker.",
		Address: address,
		Links: []console.Link{
			{Text: "Interface", Href: "/swagger/"}, {Text: "Channels", Href: "/channels?all"},
			{Text: "Settings", Href: "/settings"}, {Text: "Metrics", Href: "/metrics"},
		},
		Facts: []console.Fact{{Name: "channels", Value: uint64(len(channels))}, {Name: "running", Value: running}},
	}
	if err := m.Err(); err != nil {
		s.Fault = err.Error()
	}
	return s
}

func (b *broker) service() console.Service {
	info := b.server.Info.Clone()
	count := func(n int64) uint64 { return uint64(max(n, 0)) }
	return console.Service{
		Name:    "MQTT broker",
		Summary: "Carries the messages. It keeps them in memory and accepts every client that can reach it.",
		Address: b.url(),
		Facts: []console.Fact{
			{Name: "clients", Value: count(info.ClientsConnected)},
			{Name: "subscriptions", Value: count(info.Subscriptions)},
			{Name: "retained", Value: count(info.Retained)},
			{Name: "dropped", Value: count(info.MessagesDropped + info.InflightDropped)},
		},
	}
}

func channelsOf(m *manager.Manager) []console.Channel {
	stats := m.Stats()
	var rows []console.Channel
	for _, c := range m.List() {
		s, id := stats[c.ID], c.ID
		row := console.Channel{
			ID: id, Name: c.Metadata.Name, Href: "/channels/" + url.PathEscape(id) + "?all",
			From: string(c.Mapping.InputFormat), To: string(c.Mapping.OutputFormat),
			Input: c.Input.Name, Output: c.Output.Name,
			State: console.Running, Fault: c.Status.Error,
			Received: s.Received, Published: s.Published, Failed: s.Failed,
		}
		if row.Name == "" {
			row.Name = id
		}
		switch {
		case c.Status.Stopped && c.Status.Error != "":
			row.State = console.Failed
		case c.Status.Stopped:
			row.State = console.Stopped
		case c.Status.Error != "":
			row.State = console.Waiting
		}
		if s.LastError != "" {
			row.LastFailure = fmt.Sprintf("%s: %s", s.LastErrorTime.Format("15:04:05"), s.LastError)
		}
		rows = append(rows, row)
	}
	return rows
}
