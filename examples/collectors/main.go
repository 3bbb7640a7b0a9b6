// Command collectors shows a tree of collectors inside a program: a client of an upper
// collector is itself a collector, with clients of its own. Three parties train a model at
// two edges behind a collector in the middle, and again at one collector. The models have
// the same bits.
package main

import (
	"bytes"
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
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/storage"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

const job = "first"

func run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	parties, err := tumours.Parties()
	if err != nil {
		return err
	}
	running, ctx := errgroup.WithContext(ctx)
	running.Go(func() error {
		defer stop()
		one, err := level(ctx, running, "", 3)
		if err != nil {
			return err
		}
		flat, err := train(ctx, one, map[*collector][]tumours.Party{one: parties})
		if err != nil {
			return err
		}
		top, err := level(ctx, running, "", 1)
		if err != nil {
			return err
		}
		middle, err := level(ctx, running, top.address, 2)
		if err != nil {
			return err
		}
		north, err := level(ctx, running, middle.address, 2)
		if err != nil {
			return err
		}
		south, err := level(ctx, running, middle.address, 1)
		if err != nil {
			return err
		}
		tree, err := train(ctx, top, map[*collector][]tumours.Party{north: parties[:2], south: parties[2:]})
		if err != nil {
			return err
		}
		fmt.Printf("one collector: loss %.3f, accuracy %.3f\n", *flat.FinalLoss, flat.Metrics["accuracy"])
		fmt.Println("three levels have the same model, bit for bit:", same(flat.Weights, tree.Weights))
		return nil
	})
	return running.Wait()
}

// collector is a collector and where its clients connect.
type collector struct {
	*flcollect.Server
	address string
}

// level runs a collector, and starts the job there for so many clients. Below an upper
// collector the job follows the one there.
func level(ctx context.Context, running *errgroup.Group, upper string, clients int) (*collector, error) {
	config := flcollect.Config{
		Documents: storage.NewMemoryDocuments(), // or those of disk.Open or mongo.Open
		Blobs:     storage.NewMemoryBlobs(),
		Initial: func(context.Context, jobconfig.Config) (strategy.Model, error) {
			return tumours.Regression{}.Tensors(), nil
		},
	}
	if upper != "" {
		config.Upstream = &flcollect.Upstream{Target: upper}
	}
	server, err := flcollect.NewServer(config)
	if err != nil {
		return nil, err
	}
	gate, err := flower.NewServer(flower.ServerConfig{Handle: server.Handle})
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // or an address that clients reach
	if err != nil {
		return nil, err
	}
	running.Go(func() error { return server.Run(ctx) })
	running.Go(func() error { return gate.Serve(ctx, listener) })
	err = server.Start(ctx, job, jobconfig.Config{ // it waits for Run
		Strategy: "FedAdam", ModelName: "tumours", ModelVersion: "1.0", ConfigurationID: "1", Rounds: 5,
		StrategyConf: strategy.Conf{
			"min_fit_clients": clients, "min_evaluate_clients": clients, "min_available_clients": clients,
		},
		ClientConf: []map[string]any{{"epochs": int64(5), "learning_rate": 0.1}},
	})
	return &collector{server, listener.Addr().String()}, err
}

// train has parties train at collectors, and returns the result of the one at the top.
func train(ctx context.Context, top *collector, parties map[*collector][]tumours.Party) (flcollect.Result, error) {
	clients, training := errgroup.WithContext(ctx)
	for at, some := range parties {
		for _, party := range some {
			client, err := flower.NewClient(flower.ClientConfig{Target: at.address, Trainer: tumours.NewTrainer(party)})
			if err != nil {
				return flcollect.Result{}, err
			}
			clients.Go(func() error { return client.Run(training) }) // until it is disconnected
		}
	}
	if err := clients.Wait(); err != nil {
		return flcollect.Result{}, err
	}
	for {
		changed := top.Changed(job)
		status, err := top.Status(ctx, job)
		if err != nil || status.State.Ended() {
			break
		}
		select {
		case <-changed:
		case <-time.After(time.Minute):
			return flcollect.Result{}, fmt.Errorf("the job is still %s", status.State)
		}
	}
	return top.Result(ctx, job)
}

// same reports whether two models have the same bits.
func same(a, b strategy.Model) bool {
	for i := range a {
		if !bytes.Equal(bytes.Join(a[i].Chunks(), nil), bytes.Join(b[i].Chunks(), nil)) {
			return false
		}
	}
	return len(a) == len(b)
}
