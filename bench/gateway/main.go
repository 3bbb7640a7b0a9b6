// Command gateway benchmarks the embedded API gateway beside nginx, Caddy and
// the engine of KrakenD, each as a process of its own:
//
//	go run -C bench ./gateway                  everything; the record goes to bench/gateway
//	go run -C bench ./gateway -quick           small and once, to see that it works
//	go run -C bench ./gateway report RECORD... writes RESULTS.md again, from records in results
//	go run -C bench ./gateway transports       the gateway's own HTTP/1.1 client beside net/http; the record goes to bench/gateway/transport
//
// It needs Linux, whose /proc reports what a process uses, nginx and wrk, and the
// network the first time, to build Caddy and KrakenD's engine.
//
// contender.go has what is compared and how each is started, serve.go is our
// gateway, issuer.go signs tokens; trial.go measures; record.go and report.go
// write down what came of it. transport.go compares the clients that the gateway
// may speak HTTP/1.1 to services with.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

func main() { rig.Main("bench/gateway", run) }

// settings are the flags.
type settings struct {
	rounds      int
	length      time.Duration
	connections []int
	routes      []int
	out         string
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "report":
			return rig.Rewrite(args[1:], (*record).add, (*record).markdown)
		case "transports":
			return compareTransports(ctx, args[1:])
		case "serve":
			return serve(ctx, args[1:])
		}
	}
	s := settings{connections: []int{32, 256}, routes: []int{1, 1000}}
	flags := flag.NewFlagSet("bench/gateway", flag.ContinueOnError)
	flags.IntVar(&s.rounds, "rounds", 3, "how often each contender runs, in turns")
	flags.DurationVar(&s.length, "length", 3*time.Second, "how long a trial takes")
	flags.StringVar(&s.out, "out", filepath.Join("bench", "gateway"), "`folder` that the record is written to")
	quick := flags.Bool("quick", false, "small and once")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *quick {
		s.rounds, s.length, s.connections = 1, time.Second, []int{32}
	}
	if flags.NArg() > 0 || s.rounds < 1 || s.length < time.Second {
		return errors.New("unexpected argument, or too few -rounds or too short a -length to measure anything")
	}
	return measure(ctx, s)
}

// measure makes the trials and writes the record.
func measure(ctx context.Context, s settings) (err error) {
	folder, err := os.MkdirTemp("", "bench-gateway-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	who, err := newIssuer()
	if err != nil {
		return err
	}
	defer who.close()
	backend, err := startBackend(ctx, filepath.Join(folder, "backend"))
	if err != nil {
		return err
	}
	defer backend.end()
	all, err := contenders(ctx, folder)
	if err != nil {
		return err
	}
	r := newRecord(ctx, s)
	for _, c := range all {
		r.Hows = append(r.Hows, c.name+": "+c.how)
	}
	for _, routes := range s.routes {
		if err := compare(ctx, s, r, all, setting{folder: filepath.Join(folder, fmt.Sprint(routes)),
			backend: backend.address, routes: routes, issuer: who}); err != nil {
			r.Problems = append(r.Problems, fmt.Sprintf("%d routes: %v", routes, err))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.write(s.out); err != nil { // so that what follows cannot lose it
			return err
		}
	}
	if len(r.Problems) > 0 {
		return fmt.Errorf("the record says what failed: %s", strings.Join(r.Problems, "; "))
	}
	return nil
}
