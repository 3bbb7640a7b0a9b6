package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/internal/peertest"
)

// contender is a server that is measured.
type contender struct {
	name, how string
	// still is whether it sends the model with which it began in every round.
	still bool
	// start starts it, for one training with so many clients, all of them in
	// every round.
	start func(ctx context.Context, folder string, rounds, clients int) (server, error)
}

// server is a contender that runs.
type server interface {
	// proc is what takes the memory and the processor time.
	proc() *rig.Process
	// target is the HOST:PORT for clients.
	target() string
	// finished waits for the end of the training.
	finished(ctx context.Context) error
}

// flowerVersion is the release that deployed clients have.
const flowerVersion = "1.3.0"

// The contenders.
const (
	ours   = "flcollector"
	theirs = "Flower"
	least  = "nothing"
)

// prepare builds and installs the programs, and begins the record.
func (b *bench) prepare(ctx context.Context) (err error) {
	if err := os.Setenv(peertest.RequirePeers, "1"); err != nil { // so that the peer is installed
		return err
	}
	if b.python, err = peertest.PythonProgram("flwr==" + flowerVersion); err != nil {
		return err
	}
	if b.program == "" {
		if b.program, err = rig.Build(ctx, b.folder, "flcollector"); err != nil {
			return err
		}
	}
	if b.program, err = filepath.Abs(b.program); err != nil {
		return err
	}
	if b.scripts, err = filepath.Abs(filepath.Join("bench", "collect", "python")); err != nil {
		return err
	}
	b.contenders = []contender{
		{
			name: ours, how: "`cmd/flcollector`, all settings default; the model of every round is stored on the disk",
			start: b.startCollector,
		},
		{
			name: theirs, how: "`flwr.server.start_server` of Flower " + flowerVersion +
				" with `FedAvg`, all settings default; nothing is stored",
			start: b.startFlower,
		},
		{
			name: least, how: "a server on `flcollect/flower` that sends all clients the model with which it began, " +
				"and drops the updates: no aggregation, no storage, no audit",
			still: true, start: b.startNothing,
		},
	}
	if b.who != nil {
		for _, name := range b.who {
			if !slices.ContainsFunc(b.contenders, func(c contender) bool { return c.name == name }) {
				return fmt.Errorf("-contenders: there is no %q", name)
			}
		}
		b.contenders = slices.DeleteFunc(b.contenders, func(c contender) bool { return !slices.Contains(b.who, c.name) })
	}
	b.record = newRecord(ctx, b)
	return nil
}
