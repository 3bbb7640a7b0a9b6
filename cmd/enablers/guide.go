package main

import (
	"fmt"
	"io"

	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/internal/server"
)

// announce prints the addresses and the first steps.
func announce(stdout io.Writer, address string, m *models, t *training, a *apis, l *bonding, b *broker, guide []console.Step, demo bool) {
	d := a.access
	fmt.Fprintf(stdout, "listening on %s (console and annotator)\nlistening on %s (MQTT broker)\nlistening on %s (model repository)\n",
		address, b.url(), m.address)
	fmt.Fprintf(stdout, "listening on %s (training collector and FL repository)\nlistening on %s (Flower clients)\n",
		t.address(), t.grpc())
	fmt.Fprintf(stdout, "listening on %s (API portal)\nlistening on %s (API gateway)\nlistening on %s (gateway admin)\n",
		d.URL(a.at.portal), d.URL(a.at.gateway), d.URL(a.at.admin))
	fmt.Fprintf(stdout, "listening on %s (multi-link server, in memory)\nlistening on %s (multi-link client, in memory)\n",
		d.URL(l.web[0]), d.URL(l.web[1]))
	d.Announce(stdout, a.at.web)
	a.Announce(stdout, server.Reachable(address)+"/.enablers/sign-in")
	bondingServer, bondingClient := l.addresses()
	if l.token != "" {
		fmt.Fprintf(stdout, "\nLinks: sign in at %s/ or %s/.\n  The token is in %s.\n", bondingServer, bondingClient, l.tokenFile)
	} else {
		fmt.Fprintf(stdout, "\nLinks: %s/ and %s/.\n", bondingServer, bondingClient)
	}
	if l.fresh {
		fmt.Fprintf(stdout, "  It is new: %s\n", l.token)
	}
	if demo {
		return
	}
	for _, step := range guide {
		fmt.Fprintf(stdout, "\n%s\n  %s\n", step.Text, step.Command)
	}
	fmt.Fprintf(stdout, "\nOr start with -demo, and open %s in a browser.\n", server.Reachable(address))
}

// guide returns commands to try on this machine. Token is what a shell replaces by a
// token, empty if none is needed.
func guide(address, token string, at mqtt.Settings) []console.Step {
	address = server.Reachable(address)
	curl := "curl "
	if token != "" {
		curl += `-H "Authorization: Bearer ` + token + `" `
	}
	client := fmt.Sprintf("-h %s -p %d", at.Host, at.Port)
	return []console.Step{
		{Text: "Make a channel for weather reports in JSON:",
			Command: curl + "-H 'Content-Type: application/json' -d @examples/weather/channel.json " + address + "/channels"},
		{Text: "Listen to what comes out, in another terminal:",
			Command: "mosquitto_sub " + client + " -v -t 'weather/#'"},
		{Text: "Send a report:",
			Command: "mosquitto_pub " + client + ` -q 1 -t weather/json -m '{"station":"EWR","time":"2013-01-01T06:00:00Z","temp":39.02}'`},
		{Text: "Look at the channel:",
			Command: curl + "'" + address + "/channels/weather?status&settings'"},
	}
}
