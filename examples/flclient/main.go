// Command flclient shows Flower clients in Go: three parties that train with a
// collector elsewhere until it sends them away.
//
//	go run ./examples/flclient 127.0.0.1:8088
//
// FLOWER_TOKEN in the environment is the token for a collector that requires one.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"

	"golang.org/x/sync/errgroup"

	"github.com/iotenablers/enablers/examples/tumours"
	"github.com/iotenablers/enablers/flcollect/flower"
)

func main() {
	target := "127.0.0.1:8088"
	if len(os.Args) > 1 {
		target = os.Args[1]
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := train(ctx, target, os.Stdout); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// train runs a client for each party.
func train(ctx context.Context, target string, out io.Writer) error {
	parties, err := tumours.Parties()
	if err != nil {
		return err
	}
	clients, ctx := errgroup.WithContext(ctx)
	for _, p := range parties {
		client, err := flower.NewClient(flower.ClientConfig{
			Target:  target,
			Name:    p.Name,
			Token:   os.Getenv("FLOWER_TOKEN"),
			Trainer: tumours.NewTrainer(p), // or any flower.Trainer of yours
		})
		if err != nil {
			return err
		}
		clients.Go(func() error {
			if err := client.Run(ctx); err != nil {
				return fmt.Errorf("client %q: %w", p.Name, err)
			}
			fmt.Fprintln(out, p.Name, "has been sent away")
			return nil
		})
	}
	return clients.Wait()
}
