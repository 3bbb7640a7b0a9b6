package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"time"
)

// flowerServer is the server of Flower.
type flowerServer struct {
	*process
	address string
}

func (b *bench) startFlower(ctx context.Context, folder string, rounds, clients int) (server, error) {
	address, err := unusedAddress()
	if err != nil {
		return nil, err
	}
	p, err := start(ctx, folder, b.python, filepath.Join(b.scripts, "server.py"), address, fmt.Sprint(rounds), fmt.Sprint(clients))
	if err != nil {
		return nil, err
	}
	if err := awaitListener(ctx, address); err != nil {
		p.end()
		return nil, p.failure(err)
	}
	return &flowerServer{p, address}, nil
}

func (f *flowerServer) proc() *process { return f.process }

func (f *flowerServer) target() string { return f.address }

func (f *flowerServer) finished(ctx context.Context) error {
	_, err := f.await(ctx, "finished")
	return err
}

// unusedAddress returns a HOST:PORT of loopback where nothing listens.
func unusedAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// awaitListener waits until somebody listens at the address.
func awaitListener(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
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
