package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/flcollect/flower"
)

// nothingServer is the server that does nothing.
type nothingServer struct {
	*rig.Process
	address string
}

func (b *bench) startNothing(ctx context.Context, folder string, rounds, clients int) (server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p, err := rig.Start(ctx, folder, nil, self, "nothing", "-rounds", fmt.Sprint(rounds), "-clients", fmt.Sprint(clients))
	if err != nil {
		return nil, err
	}
	soon, cancel := context.WithTimeout(ctx, rig.Patience)
	defer cancel()
	address, err := p.Await(soon, "listening on grpc://")
	if err != nil {
		p.End()
		return nil, err
	}
	return &nothingServer{p, address}, nil
}

func (n *nothingServer) proc() *rig.Process { return n.Process }

func (n *nothingServer) target() string { return n.address }

func (n *nothingServer) finished(ctx context.Context) error {
	_, err := n.AwaitWork(ctx, "finished")
	return err
}

// nothing is the program of the server: it asks a client for the model and sends it, in
// each round, to all clients, once to train and once to evaluate it. It drops what they
// answer, and sends them away after the last round. It prints where it listens, and
// "finished" in the end; then it stays until its input ends, so that its memory can be
// asked for.
func nothing(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench/collect nothing", flag.ContinueOnError)
	rounds := flags.Int("rounds", 1, "how many")
	clients := flags.Int("clients", 1, "how many take part in each")
	if err := flags.Parse(args); err != nil {
		return err
	}
	joined := make(chan *flower.Session, *clients)
	gate, err := flower.NewServer(flower.ServerConfig{Handle: func(ctx context.Context, session *flower.Session) error {
		select {
		case joined <- session:
		default:
			return errors.New("all clients are there")
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- gate.Serve(serving, listener) }()
	fmt.Println("listening on grpc://" + listener.Addr().String())
	sessions := make([]*flower.Session, *clients)
	for i := range sessions {
		select {
		case sessions[i] = <-joined:
		case err := <-served:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := passRounds(ctx, sessions, *rounds); err != nil {
		return err
	}
	fmt.Println("finished")
	_, _ = io.Copy(io.Discard, os.Stdin)
	stop()
	return <-served
}

// passRounds conducts the rounds.
func passRounds(ctx context.Context, sessions []*flower.Session, rounds int) error {
	first, err := sessions[0].Parameters(ctx, flower.GetParametersIns{})
	if err != nil {
		return err
	}
	model := flower.Parameters{Type: first.Parameters.Type}
	for _, tensor := range first.Parameters.Tensors {
		model.Tensors = append(model.Tensors, flower.Blob{bytes.Join(tensor, nil)})
	}
	first.Release()
	for range rounds {
		err := each(sessions, func(s *flower.Session) error {
			res, err := s.Fit(ctx, flower.FitIns{Parameters: model})
			if err == nil {
				res.Release()
			}
			return err
		})
		if err == nil {
			err = each(sessions, func(s *flower.Session) error {
				_, err := s.Evaluate(ctx, flower.EvaluateIns{Parameters: model})
				return err
			})
		}
		if err != nil {
			return err
		}
	}
	return each(sessions, func(s *flower.Session) error { return s.Reconnect(ctx, 0) })
}

// each instructs all sessions at once.
func each(sessions []*flower.Session, instruct func(*flower.Session) error) error {
	errs := make([]error, len(sessions))
	var group sync.WaitGroup
	for i, s := range sessions {
		group.Go(func() { errs[i] = instruct(s) })
	}
	group.Wait()
	return errors.Join(errs...)
}
