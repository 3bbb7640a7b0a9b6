package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/demo"
	"github.com/iotenablers/enablers/cmd/internal/demo/tour"
	federated "github.com/iotenablers/enablers/cmd/internal/demo/training"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/internal/server"
)

// How busy the demonstration keeps the blocks.
const (
	demoUploads = 30 * time.Second       // between two versions of the model
	demoPause   = 3 * time.Second        // of a client before each of 20 rounds
	demoAgain   = 10 * time.Second       // between two trainings
	demoCalls   = 250 * time.Millisecond // between two calls of the API
	demoCuts    = 20 * time.Second       // between two cuts of the link in use
)

// demonstrated is what the demonstration uses.
type demonstrated struct {
	console   string // its address
	annotator *manager.Manager
	broker    *mqtt.Broker
	mqtt      mqtt.Settings
	models    *models
	trainings *training
	managed   *apis
	bonded    *bonding
	access    *door.Door
	output    io.Writer
	log       *slog.Logger
}

// demonstrations returns the parts that keep the blocks busy. The program ends if the first
// one fails; the others log why they cannot go on.
func (s *settings) demonstrations(d demonstrated) []server.Part {
	messages := func(ctx context.Context) error {
		d.announce()
		return demo.Run(ctx, demo.Config{
			Channels: d.annotator, Broker: d.broker, MQTT: d.mqtt, Rate: s.demoRate, Output: d.output, Terminal: isTerminal(d.output),
		})
	}
	return []server.Part{
		d.aside("upload versions of a model", func(ctx context.Context) error {
			return tour.Models(ctx, d.models.repository, demoUploads)
		}),
		d.aside("train", func(ctx context.Context) error {
			return federated.Run(ctx, federated.Config{
				Jobs: d.trainings.Jobs, Target: server.Reachable(d.trainings.clients.Addr().String()), TLS: d.access.ClientTLS(),
				Token: d.access.Self(), Site: server.Reachable(d.trainings.address()),
				Repository: server.Reachable(d.trainings.address()) + "/repository", Pause: demoPause, Again: demoAgain, Output: io.Discard,
			})
		}),
		d.aside("call an API", func(ctx context.Context) error {
			client := d.access.Client()
			defer client.CloseIdleConnections()
			return tour.Calls(ctx, tour.CallsConfig{
				Publisher: d.managed.Publisher, Gateway: d.managed.GatewayURL(), Client: client, Every: demoCalls,
			})
		}),
		d.aside("cut a link", func(ctx context.Context) error {
			return tour.Links(ctx, d.bonded.memory.Network, d.bonded.carrier, demoCuts)
		}),
		{Name: "demo", Run: messages},
	}
}

// aside returns a part whose failure ends nothing else.
func (d *demonstrated) aside(name string, run func(context.Context) error) server.Part {
	return server.Part{Name: "demo: " + name, Run: func(ctx context.Context) error {
		if err := run(ctx); err != nil {
			d.log.Warn("the demonstration cannot "+name, "error", err)
		}
		<-ctx.Done()
		return nil
	}}
}

// announce says where to look, and how to end it.
func (d *demonstrated) announce() {
	ui := server.Reachable(d.console) + console.Root
	fmt.Fprintf(d.output, `
The demonstration keeps all blocks busy. Watch it at %[1]s:
  Annotation  %[1]sannotation/  weather reports through three channels
  Models      %[1]smodels/  a new version every %[2]v; the last %[3]d are kept
  Training    %[1]straining/  three clients, 20 rounds a minute, again and again
  APIs        %[1]sapis/  %[4]s, called four times a second; some calls fail
  Links       %[1]slinks/  the link in use is cut every %[5]v
Ctrl-C ends it. Models and jobs stay; channels and the API are removed.
`, ui, demoUploads, tour.KeptVersions, tour.API, demoCuts)
}
