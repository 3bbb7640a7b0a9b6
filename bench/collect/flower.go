package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// flowerServer is the server of Flower.
type flowerServer struct {
	*rig.Process
	address string
}

func (b *bench) startFlower(ctx context.Context, folder string, rounds, clients int) (server, error) {
	address, err := rig.FreeAddress()
	if err != nil {
		return nil, err
	}
	p, err := rig.Start(ctx, folder, nil, b.python, filepath.Join(b.scripts, "server.py"), address,
		fmt.Sprint(rounds), fmt.Sprint(clients))
	if err != nil {
		return nil, err
	}
	if err := awaitListener(ctx, address); err != nil {
		p.End()
		return nil, p.Failure(err)
	}
	return &flowerServer{p, address}, nil
}

func (f *flowerServer) proc() *rig.Process { return f.Process }

func (f *flowerServer) target() string { return f.address }

func (f *flowerServer) finished(ctx context.Context) error {
	_, err := f.AwaitWork(ctx, "finished")
	return err
}

// awaitListener waits until a server listens at the address.
func awaitListener(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, rig.Patience)
	defer cancel()
	for {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return connection.Close()
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}
