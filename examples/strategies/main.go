// Command strategies shows the ways to have a training aggregate by a rule of your
// own. The rule, server momentum, is here in Go as part of the program, and as
// WebAssembly modules in Go and in C, which are uploaded to the FL repository and run
// in a sandbox. A job selects either by its name; three clients train with each.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
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

// names are those that jobs select a strategy by.
const (
	inProgram = "momentum"
	inGo      = "momentum-wasm-go"
	inC       = "momentum-wasm-c"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	library, err := repository.New(repository.Config{
		Documents:  storage.NewMemoryDocuments(), // or those of disk.Open or mongo.Open
		Blobs:      storage.NewMemoryBlobs(),
		Strategies: load,
	})
	if err != nil {
		return err
	}
	collector, err := flcollect.NewServer(flcollect.Config{
		Documents:  storage.NewMemoryDocuments(),
		Blobs:      storage.NewMemoryBlobs(),
		Repository: library,
		Strategies: map[string]func(strategy.Conf) (strategy.Strategy, error){inProgram: newMomentum},
	})
	if err != nil {
		return err
	}
	gate, err := flower.NewServer(flower.ServerConfig{Handle: collector.Handle})
	if err != nil {
		return err
	}
	clients, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	rest := &http.Server{Handler: repository.NewHandler(library, nil), ReadHeaderTimeout: time.Minute}

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	running, ctx := errgroup.WithContext(ctx)
	running.Go(func() error { return collector.Run(ctx) })
	running.Go(func() error { return gate.Serve(ctx, clients) })
	running.Go(func() error {
		if err := rest.Serve(web); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	running.Go(func() error {
		<-ctx.Done()
		return rest.Close()
	})
	running.Go(func() error {
		defer stop()
		if err := fill(ctx, "http://"+web.Addr().String()); err != nil {
			return err
		}
		for _, name := range []string{inProgram, inGo, inC} {
			if err := train(ctx, collector, name, clients.Addr().String()); err != nil {
				return fmt.Errorf("train with %s: %w", name, err)
			}
		}
		return nil
	})
	return running.Wait()
}

// fill uploads the modules to the repository.
func fill(ctx context.Context, address string) error {
	fromGo, err := builtFromGo(ctx)
	if err != nil {
		return err
	}
	fromC, err := builtFromC(ctx)
	if err != nil {
		return err
	}
	return errors.Join(upload(ctx, address, inGo, fromGo), upload(ctx, address, inC, fromC)) // over REST, as from elsewhere
}

// train runs a job with the strategy of that name, and prints how good its model is.
func train(ctx context.Context, collector *flcollect.Server, name, target string) error {
	for collector.Ready() != nil { // it reads what is stored
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := collector.Start(ctx, name, jobconfig.Config{
		Strategy: name, ModelName: "tumours", ModelVersion: "1.0", ConfigurationID: "1", Rounds: 15,
		StrategyConf: strategy.Conf{"momentum": 0.5, "min_fit_clients": 3, "min_evaluate_clients": 3, "min_available_clients": 3},
		ClientConf:   []map[string]any{{"epochs": int64(5), "learning_rate": 0.1}},
	}); err != nil {
		return err
	}
	parties, err := tumours.Parties()
	if err != nil {
		return err
	}
	training, clientsCtx := errgroup.WithContext(ctx)
	for _, p := range parties {
		client, err := flower.NewClient(flower.ClientConfig{Target: target, Trainer: tumours.NewTrainer(p)})
		if err != nil {
			return err
		}
		training.Go(func() error { return client.Run(clientsCtx) }) // until it is disconnected, when the job has ended
	}
	if err := training.Wait(); err != nil {
		return err
	}
	return show(ctx, collector, name)
}

// show prints how a job has ended.
func show(ctx context.Context, collector *flcollect.Server, job string) error {
	status, err := collector.Status(ctx, job)
	if err != nil {
		return err
	}
	if status.State != report.Finished {
		return fmt.Errorf("the job is %s: %s", status.State, status.Error)
	}
	rounds, err := collector.Rounds(ctx, job, 0, 0)
	if err != nil {
		return err
	}
	last := rounds[len(rounds)-1]
	fmt.Printf("%s: %s after %d rounds, loss %.3f, accuracy %.3f\n", job, status.State, status.Round, *last.Loss,
		last.Metrics["accuracy"])
	return nil
}
