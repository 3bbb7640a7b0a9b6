package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/internal/version"
)

// handler puts the console beside the routes of the annotator.
func handler(manager *annotate.Manager, view console.Config, hosts []string, log *slog.Logger) http.Handler {
	page := console.NewHandler(view, &console.HandlerOptions{Hosts: hosts, Logger: log})
	mux := http.NewServeMux()
	mux.Handle("/{$}", page)
	mux.Handle("/console/", page)
	mux.Handle("/favicon.ico", page)
	mux.Handle("/", manager.Handler(&annotate.HandlerOptions{Version: version.String(), Hosts: hosts, Logger: log}))
	return mux
}

// consoleOf returns the console of the annotator, the broker and the other services.
func consoleOf(address string, manager *annotate.Manager, b *broker, between ...func() console.Service) console.Config {
	return console.Config{
		Services: func() []console.Service {
			services := []console.Service{annotatorService(address, manager)}
			for _, service := range between {
				services = append(services, service())
			}
			return append(services, b.service())
		},
		Channels: func() []console.Channel { return channelsOf(manager) },
		Guide:    guide(address, b.settings()),
	}
}

func annotatorService(address string, manager *annotate.Manager) console.Service {
	var running uint64
	channels := manager.List()
	for _, c := range channels {
		if !c.Status.IsStopped {
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
	if err := manager.Ready(); err != nil {
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

func channelsOf(manager *annotate.Manager) []console.Channel {
	stats := manager.Stats()
	var rows []console.Channel
	for _, c := range manager.List() {
		s, id := stats[c.Settings.ChannelID], c.Settings.ChannelID
		row := console.Channel{
			ID: id, Name: c.Metadata.Name, Href: "/channels/" + url.PathEscape(id) + "?all",
			From: string(c.Metadata.Mapping.InputFormat), To: string(c.Metadata.Mapping.OutputFormat),
			Input: c.Settings.Input.Topic, Output: c.Settings.Output.Topic,
			State: console.Running, Fault: c.Status.Error,
			Received: s.Received, Published: s.Published, Failed: s.Failed,
		}
		if row.Name == "" {
			row.Name = id
		}
		switch {
		case c.Status.IsStopped && c.Status.Error != "":
			row.State = console.Failed
		case c.Status.IsStopped:
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
