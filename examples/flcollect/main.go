// Command flcollect shows the federated-learning server inside a program, with
// an aggregation strategy of its own: everything in memory, three clients that
// train a model together, and the result in the repository. With disk.Open in
// place of the stores in memory a training survives the death of the program.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/iotenablers/enablers/examples/tumours"
	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/storage"
)

func main() {
	store, err := repository.New(repository.Config{
		Documents: storage.NewMemoryDocuments(), // or those of disk.Open or mongo.Open
		Blobs:     storage.NewMemoryBlobs(),
	})
	if err != nil {
		log.Fatal(err)
	}
	collector, err := flcollect.NewServer(flcollect.Config{
		Documents:  storage.NewMemoryDocuments(),
		Blobs:      storage.NewMemoryBlobs(),
		Repository: store,
		Strategies: map[string]func(strategy.Conf) (strategy.Strategy, error){"rootmean": newRootMean},
	})
	if err != nil {
		log.Fatal(err)
	}
	gate, err := flower.NewServer(flower.ServerConfig{Handle: collector.Handle})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // or an address that your clients reach
	if err != nil {
		log.Fatal(err)
	}

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	running, ctx := errgroup.WithContext(ctx)
	running.Go(func() error { return collector.Run(ctx) })
	running.Go(func() error { return gate.Serve(ctx, listener) })
	running.Go(func() error {
		defer stop()
		if err := train(ctx, collector, listener.Addr().String()); err != nil {
			return err
		}
		return show(ctx, collector)
	})
	if err := running.Wait(); err != nil {
		log.Fatal(err)
	}
}

const job = "first"

// train starts the job, runs the clients, and waits until the job has ended.
func train(ctx context.Context, collector *flcollect.Server, target string) error {
	for collector.Ready() != nil { // it reads what is stored
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := collector.Start(ctx, job, jobconfig.Config{
		Strategy: "rootmean", ModelName: "tumours", ModelVersion: "1.0", ConfigurationID: "1", Rounds: 15,
		StrategyConf: strategy.Conf{"min_fit_clients": 3, "min_evaluate_clients": 3, "min_available_clients": 3},
		ClientConf:   []map[string]any{{"epochs": int64(5), "learning_rate": 0.1}},
	}); err != nil {
		return err
	}
	parties, err := tumours.Parties()
	if err != nil {
		return err
	}
	clients, ctx := errgroup.WithContext(ctx)
	for _, p := range parties {
		client, err := flower.NewClient(flower.ClientConfig{Target: target, Trainer: tumours.NewTrainer(p)})
		if err != nil {
			return err
		}
		clients.Go(func() error { return client.Run(ctx) }) // until it is disconnected, when the job has ended
	}
	return clients.Wait()
}

// show prints some rounds, and what the common model is worth.
func show(ctx context.Context, collector *flcollect.Server) error {
	if err := stored(ctx, collector); err != nil {
		return err
	}
	rounds, err := collector.Rounds(ctx, job, 0, 0)
	if err != nil {
		return err
	}
	for _, r := range rounds {
		if r.Number%5 == 0 {
			fmt.Printf("round %d: loss %.3f, accuracy %.3f\n", r.Number, *r.Loss, r.Metrics["accuracy"])
		}
	}
	result, err := collector.Result(ctx, job)
	if err != nil {
		return err
	}
	model, err := tumours.Decode(result.Weights)
	if err != nil {
		return err
	}
	all, err := tumours.All()
	if err != nil {
		return err
	}
	_, accuracy := model.Measure(all)
	fmt.Printf("after %d rounds: %.1f %% of all tumours told rightly\n", result.Rounds, 100*accuracy)
	return nil
}

// stored waits until the repository has the result.
func stored(ctx context.Context, collector *flcollect.Server) error {
	for {
		changed := collector.Changed(job)
		status, err := collector.Status(ctx, job)
		switch {
		case err != nil:
			return err
		case status.State == report.Interrupted:
			return fmt.Errorf("job %q was interrupted: %s", job, status.Error)
		case status.Stored:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
