package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/demo"
	"github.com/iotenablers/enablers/cmd/internal/demo/tour"
	federated "github.com/iotenablers/enablers/cmd/internal/demo/training"
	"github.com/iotenablers/enablers/cmd/internal/host"
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

// tour returns the first steps, and what runs beside the blocks: the APIs of this process are
// published, and with -demo all blocks are kept busy.
func (s *settings) tour(env *host.Env, output io.Writer) *host.Block {
	s.guide = guide(env.Door.URL(s.web), shellToken(env.Door), s.broker.settings())
	block := &host.Block{Later: []server.Part{{Name: "library", Run: func(ctx context.Context) error {
		s.library.publish(ctx, s.ownAPIs(env))
		<-ctx.Done()
		return nil
	}}}}
	if s.demo {
		block.Later = append(block.Later, s.demonstrations(env, output)...)
	} else {
		block.Announce = func(w io.Writer) { s.printGuide(w, server.Reachable(env.Door.URL(s.web))) }
	}
	return block
}

// demonstrations returns the parts that keep the blocks busy. The program ends if the last
// one fails; the others log why they cannot go on.
func (s *settings) demonstrations(env *host.Env, output io.Writer) []server.Part {
	aside := func(name string, run func(context.Context) error) server.Part {
		return server.Part{Name: "demo: " + name, Run: func(ctx context.Context) error {
			if err := run(ctx); err != nil {
				env.Logger.Warn("the demonstration cannot "+name, "error", err)
			}
			<-ctx.Done()
			return nil
		}}
	}
	return []server.Part{
		aside("upload versions of a model", func(ctx context.Context) error {
			return tour.Models(ctx, s.models.Repository, demoUploads)
		}),
		aside("train", func(ctx context.Context) error {
			site := server.Reachable(env.Door.URL(s.training.Web))
			return federated.Run(ctx, federated.Config{
				Jobs: s.training.Jobs, Target: server.Reachable(s.training.Clients.Addr().String()), TLS: env.Door.ClientTLS(),
				Token: env.Door.Self(), Site: site,
				Repository: site + "/repository", Pause: demoPause, Again: demoAgain, Output: io.Discard,
			})
		}),
		aside("call an API", func(ctx context.Context) error {
			client := env.Door.Client()
			defer client.CloseIdleConnections()
			return tour.Calls(ctx, tour.CallsConfig{
				Publisher: s.apis.Publisher, Gateway: s.apis.GatewayURL, Client: client, Every: demoCalls,
			})
		}),
		aside("cut a link", func(ctx context.Context) error {
			return tour.Links(ctx, s.links.memory.Network, s.links.carrier, demoCuts)
		}),
		{Name: "demo", Run: func(ctx context.Context) error {
			printTour(output, server.Reachable(env.Door.URL(s.web))+console.Root)
			return demo.Run(ctx, demo.Config{
				Channels: s.annotation.Manager, Broker: s.annotation.Broker, MQTT: s.broker.settings(), Rate: s.demoRate, Output: output,
				Terminal: isTerminal(output),
			})
		}},
	}
}

// printTour says where to look, and how to end it.
func printTour(w io.Writer, ui string) {
	fmt.Fprintf(w, `
The demonstration keeps all blocks busy. Watch it at %[1]s:
  Annotation  %[1]sannotation/  weather reports through three channels
  Models      %[1]smodels/  a new version every %[2]v; the last %[3]d are kept
  Training    %[1]straining/  three clients, 20 rounds a minute, again and again
  APIs        %[1]sapis/  %[4]s, called four times a second; some calls fail
  Links       %[1]slinks/  the link in use is cut every %[5]v
Ctrl-C ends it. Models and jobs stay; channels and the API are removed.
`, ui, demoUploads, tour.KeptVersions, tour.API, demoCuts)
}
