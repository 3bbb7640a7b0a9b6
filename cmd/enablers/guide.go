package main

import (
	"fmt"
	"io"

	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/cmd/internal/annotation"
	"github.com/iotenablers/enablers/cmd/internal/collector"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/management"
	"github.com/iotenablers/enablers/cmd/internal/models"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/internal/server"
)

// announce prints the addresses.
func (s *settings) announce(stdout io.Writer) {
	t := &s.training
	s.web.Print(stdout, s.Door.URL(s.web))
	s.mqtt.Print(stdout, "mqtt://"+s.mqtt.Addr().String())
	s.models.Listener.Print(stdout, s.Door.URL(s.models.Listener))
	t.Web.Print(stdout, s.Door.URL(t.Web))
	t.Clients.Print(stdout, t.ClientsURL(s.Door.TLS().Certificate != ""))
	for _, l := range []*host.Listener{s.apis.Portal, s.apis.Gateway, s.apis.Admin, s.links.web[0], s.links.web[1]} {
		l.Print(stdout, s.Door.URL(l))
	}
	if at := t.Fleet.URL(); at != "" {
		t.Fleet.Print(stdout, at)
	}
}

// printGuide prints the first steps. The console is at an address.
func (s *settings) printGuide(stdout io.Writer, address string) {
	for _, step := range s.guide {
		fmt.Fprintf(stdout, "\n%s\n  %s\n", step.text, step.command)
	}
	fmt.Fprintf(stdout, "\nOr start with -demo, and open %s in a browser.\n", address)
}

// command is a command to try, and why.
type command struct{ text, command string }

// guide returns commands to try on this machine. Token is what a shell replaces by a
// token, empty if none is needed.
func guide(address, token string, at mqtt.Settings) []command {
	address = server.Reachable(address)
	curl := "curl "
	if token != "" {
		curl += `-H "Authorization: Bearer ` + token + `" `
	}
	client := fmt.Sprintf("-h %s -p %d", at.Host, at.Port)
	return []command{
		{text: "Create a channel for weather reports in JSON:",
			command: curl + "-H 'Content-Type: application/json' -d @examples/weather/channel.json " + address + "/channels"},
		{text: "Listen to what comes out, in another terminal:",
			command: "mosquitto_sub " + client + " -v -t 'weather/#'"},
		{text: "Send a report:",
			command: "mosquitto_pub " + client + ` -q 1 -t weather/json -m '{"station":"EWR","time":"2013-01-01T06:00:00Z","temp":39.02}'`},
		{text: "Look at the channel:",
			command: curl + "'" + address + "/channels/weather?status&settings'"},
	}
}

// steps returns what to try first, on the page of each block and as a command of a shell.
// Facts that a new platform has already are taken off.
func (s *settings) steps(env *host.Env) []overview.Step {
	curl := "curl "
	if token := shellToken(env.Door); token != "" {
		curl += `-H "Authorization: Bearer ` + token + `" `
	}
	first := "Disable one"
	if s.links.token != "" {
		first = "Sign in and disable one"
	}
	const json = "-H 'Content-Type: application/json' "
	repository, training := server.Reachable(env.Door.URL(s.models.Listener)), server.Reachable(env.Door.URL(s.training.Web))
	return []overview.Step{
		{
			Title: "Annotate messages", Text: "Paste a sample message: its first mapping is written for you, and you see the RDF.",
			Href: "annotation/new", Action: "Create a channel", Role: "operator",
			Command: s.guide[0].command, Block: annotation.Name, Fact: "channels",
		},
		{
			Title: "Keep a model", Text: "Make a namespace, a model and a version, and upload its content.",
			Href: "models/", Action: "Open the repository",
			Command: curl + "-X POST " + repository + "/demo\n" + curl + "-X POST " + json + "-d '{}' " + repository + "/demo/first",
			Block:   models.Name, Fact: "models",
		},
		{
			Title: "Train a model", Text: "Configure a job, connect Flower clients, and watch loss and metrics as rounds go by.",
			Href: "training/", Action: "Open the jobs",
			Command: curl + json + "-d @examples/flcollect/job.json " + training + "/job/config/1\ngo run ./examples/flclient " +
				server.Reachable(s.training.Clients.Addr().String()),
			Block: collector.Name, Fact: "jobs",
		},
		{
			Title: "Publish an API", Text: "Those of this platform are there. Upload an OpenAPI file, and call it through the gateway.",
			Href: "apis/", Action: "Open the library", Block: management.Name, Fact: "published", Before: uint64(len(s.ownAPIs(env))),
		},
		{
			Title: "Lose a link", Text: "Three links in memory carry one network. " + first + ", and watch another take over.",
			Href: "links/", Action: "Open the links", Block: linksBlock, Fact: "links", Before: demoLinks,
		},
	}
}
