package main

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/console"
)

// consoleOf shows what runs here.
func consoleOf(address string, manager *annotate.Manager, b *broker) console.Config {
	return console.Config{
		Services: func() []console.Service {
			return []console.Service{annotatorService(address, manager), b.service()}
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
		Summary: "Carries the messages. It keeps them in memory and lets everybody in who can reach it.",
		Address: b.url(),
		Facts: []console.Fact{
			{Name: "clients", Value: count(info.ClientsConnected)},
			{Name: "messages in", Value: count(info.MessagesReceived)},
			{Name: "messages out", Value: count(info.MessagesSent)},
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

// guide is what a newcomer may try on this machine.
func guide(address string, at annotate.MQTTSettings) []console.Step {
	address = strings.NewReplacer("//0.0.0.0:", "//127.0.0.1:", "//[::]:", "//[::1]:").Replace(address)
	client := fmt.Sprintf("-h %s -p %d", at.Host, at.Port)
	return []console.Step{
		{Text: "Make a channel for weather reports in JSON:",
			Command: "curl -H 'Content-Type: application/json' -d @examples/weather/channel.json " + address + "/channels"},
		{Text: "Listen to what comes out, in another terminal:",
			Command: "mosquitto_sub " + client + " -v -t 'weather/#'"},
		{Text: "Send a report:",
			Command: "mosquitto_pub " + client + ` -q 1 -t weather/json -m '{"station":"EWR","time":"2013-01-01T06:00:00Z","temp":39.02}'`},
		{Text: "Look at the channel:",
			Command: "curl '" + address + "/channels/weather?status&settings'"},
	}
}
