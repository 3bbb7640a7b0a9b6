package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/examples/tumours"
	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/compress"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/storage"
)

// goal is the loss whose first round the table has.
const goal = 0.1

// way is a way to compress.
type way struct {
	name   string
	config compress.Config // without a kind, updates are whole
}

func ways() []way {
	list := []way{{name: "none"}}
	for _, w := range []way{
		{"float16", compress.Config{Kind: compress.Float16}}, {"int8", compress.Config{Kind: compress.Int8}},
		{"top-k, 10 %", compress.Config{Kind: compress.TopK, Share: 0.1}},
		{"top-k, 1 %", compress.Config{Kind: compress.TopK, Share: 0.01}},
	} {
		forgetting := w
		forgetting.name += ", no error feedback"
		forgetting.config.Forget = true
		list = append(list, w, forgetting)
	}
	return list
}

// compression trains a network with each way to compress, and writes COMPRESSION.md. What
// it measures does not depend on the speed of the machine.
func compression(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench/collect compression", flag.ContinueOnError)
	rounds := flags.Int("n", 50, "the `rounds` of each training")
	out := flags.String("out", filepath.Join("bench", "collect"), "`folder` that COMPRESSION.md is written to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Compressed updates of the training collector\n\nWritten by `go run -C bench ./collect compression`; do not edit.\n\n"+
		"- Machine: %s\n- Three parties with unequal shares of 569 real tumours (`examples/tumours`) train a network with %d hidden units,\n"+
		"  %d numbers of float32, for %d rounds of five steps over a TCP connection each; the strategy is FedAvg.\n"+
		"- Bytes are those of parameters that the collector received in a round, of all three. The loss is that of the last round,\n"+
		"  over tumours that no party trains with, and so is the accuracy.\n\n",
		rig.ThisMachine(ctx), hidden, hidden*(tumours.Features+2)+1, *rounds)
	fmt.Fprintf(&b, "| compression | bytes per round | of none | first round with a loss below %v | loss | accuracy |\n"+
		"|---|--:|--:|--:|--:|--:|\n", goal)
	var whole float64
	for _, w := range ways() {
		done, err := trainCompressed(ctx, w.config, *rounds)
		if err != nil {
			return fmt.Errorf("train with %s: %w", w.name, err)
		}
		received, reached := 0.0, "none"
		for _, r := range done {
			received += float64(r.Fit.Received) / float64(len(done))
			if r.Loss != nil && *r.Loss < goal && reached == "none" {
				reached = fmt.Sprint(r.Number)
			}
		}
		if whole == 0 {
			whole = received
		}
		last := done[len(done)-1]
		if last.Loss == nil {
			return fmt.Errorf("train with %s: no loss: %s", w.name, last.Note)
		}
		fmt.Fprintf(&b, "| %s | %.0f | %.1f %% | %s | %.4f | %.1f %% |\n", w.name, received, 100*received/whole, reached,
			*last.Loss, 100*last.Metrics["accuracy"])
	}
	fmt.Print(b.String())
	return os.WriteFile(filepath.Join(*out, "COMPRESSION.md"), []byte(b.String()), 0o644)
}

// trainCompressed trains with a collector of its own, and returns the rounds.
func trainCompressed(ctx context.Context, config compress.Config, rounds int) (done []report.Round, err error) {
	dir, err := os.MkdirTemp("", "bench-compression-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	server, err := flcollect.NewServer(flcollect.Config{
		Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(), Dir: dir,
	})
	if err != nil {
		return nil, err
	}
	clients, err := flower.NewServer(flower.ServerConfig{Handle: server.Handle})
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	failed := make(chan error, 8)
	start := func(run func(context.Context) error) {
		group.Go(func() {
			if err := run(running); err != nil && running.Err() == nil {
				failed <- err
			}
		})
	}
	defer func() {
		stop()
		group.Wait()
	}()
	start(server.Run)
	start(func(ctx context.Context) error { return clients.Serve(ctx, listener) })
	parties, err := tumours.Parties()
	if err != nil {
		return nil, err
	}
	for _, party := range parties {
		c := &compressing{party: party}
		if config.Kind != "" {
			if c.encoder, err = compress.NewEncoder(config); err != nil {
				return nil, err
			}
		}
		client, err := flower.NewClient(flower.ClientConfig{Target: listener.Addr().String(), Trainer: c})
		if err != nil {
			return nil, err
		}
		start(client.Run)
	}
	all := len(parties)
	job := jobconfig.Config{Strategy: "avg", ModelName: "tumours", ModelVersion: "1", Rounds: rounds, ConfigurationID: "1",
		StrategyConf: strategy.Conf{"min_fit_clients": all, "min_evaluate_clients": all, "min_available_clients": all}}
	if err := server.Start(ctx, "1", job); err != nil {
		return nil, err
	}
	for {
		changed := server.Changed("1")
		status, err := server.Status(ctx, "1")
		switch {
		case err != nil:
			return nil, err
		case status.State == report.Interrupted:
			return nil, errors.New(status.Error)
		case status.State == report.Finished:
			return server.Rounds(ctx, "1", 0, 0)
		}
		select {
		case <-changed:
		case err := <-failed:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
