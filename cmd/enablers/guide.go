package main

import (
	"fmt"
	"io"

	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/cmd/internal/collector"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/internal/server"
)

// announce prints the addresses and the first steps.
func announce(stdout io.Writer, address string, m *models, t *training, a *apis, l *bonding, b *broker, guide []command, demo bool) {
	d := a.access
	fmt.Fprintf(stdout, "listening on %s (console and annotator)\nlistening on %s (MQTT broker)\nlistening on %s (model repository)\n",
		address, b.url(), m.address)
	fmt.Fprintf(stdout, "listening on %s (training collector and FL repository)\nlistening on %s (Flower clients)\n",
		t.address(), t.grpc())
	fmt.Fprintf(stdout, "listening on %s (API portal)\nlistening on %s (API gateway)\nlistening on %s (gateway admin)\n",
		d.URL(a.at.portal), d.URL(a.at.gateway), d.URL(a.at.admin))
	fmt.Fprintf(stdout, "listening on %s (multi-link server, in memory)\nlistening on %s (multi-link client, in memory)\n",
		d.URL(l.web[0]), d.URL(l.web[1]))
	if at := collector.FleetURL(t.fleet); at != "" {
		fmt.Fprintf(stdout, "listening on %s (SuperNodes)\n", at)
	}
	d.Announce(stdout, a.at.web)
	a.Announce(stdout, server.Reachable(address)+"/.enablers/sign-in")
	bondingServer, bondingClient := l.addresses()
	if l.token != "" {
		fmt.Fprintf(stdout, "\nLinks: sign in at %s/ or %s/.\n  The token is in %s.\n", bondingServer, bondingClient, l.tokenFile)
	} else {
		fmt.Fprintf(stdout, "\nLinks: %s/ and %s/.\n", bondingServer, bondingClient)
	}
	if demo {
		return
	}
	for _, step := range guide {
		fmt.Fprintf(stdout, "\n%s\n  %s\n", step.text, step.command)
	}
	fmt.Fprintf(stdout, "\nOr start with -demo, and open %s in a browser.\n", server.Reachable(address))
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

// stepsOf returns what to try first, on the page of each block and as a command of a shell.
// Facts that a new platform has already are taken off.
func (p *platform) stepsOf() []overview.Step {
	curl := "curl "
	if token := tokenOf(p.access); token != "" {
		curl += `-H "Authorization: Bearer ` + token + `" `
	}
	first := "Disable one"
	if p.bonded.token != "" {
		first = "Sign in and disable one"
	}
	const json = "-H 'Content-Type: application/json' "
	models, training := server.Reachable(p.models.address), server.Reachable(p.trainings.address())
	return []overview.Step{
		{
			Title: "Annotate messages", Text: "Paste a sample message: its first mapping is written for you, and you see the RDF.",
			Href: "annotation/new", Action: "Create a channel", Role: "operator",
			Command: p.guide[0].command, Block: annotationBlock, Fact: "channels",
		},
		{
			Title: "Keep a model", Text: "Make a namespace, a model and a version, and upload its content.",
			Href: "models/", Action: "Open the repository",
			Command: curl + "-X POST " + models + "/demo\n" + curl + "-X POST " + json + "-d '{}' " + models + "/demo/first",
			Block:   modelsBlock, Fact: "models",
		},
		{
			Title: "Train a model", Text: "Configure a job, connect Flower clients, and watch loss and metrics as rounds go by.",
			Href: "training/", Action: "Open the jobs",
			Command: curl + json + "-d @examples/flcollect/job.json " + training + "/job/config/1\ngo run ./examples/flclient " +
				server.Reachable(p.trainings.clients.Addr().String()),
			Block: trainingBlock, Fact: "jobs",
		},
		{
			Title: "Publish an API", Text: "Those of this platform are there. Upload an OpenAPI file, and call it through the gateway.",
			Href: apisPage, Action: "Open the library", Block: apisBlock, Fact: "published", Before: uint64(len(p.ownAPIs())),
		},
		{
			Title: "Lose a link", Text: "Three links in memory carry one network. " + first + ", and watch another take over.",
			Href: "links/", Action: "Open the links", Block: linksBlock, Fact: "links", Before: demoLinks,
		},
	}
}
