// Command ckks benchmarks the mean of encrypted updates beside that of TenSEAL in
// Python, each in a process of its own:
//
//	go run -C bench ./ckks                     everything; the record goes to bench/ckks
//	go run -C bench ./ckks -quick              small and once, to see that it works
//	go run -C bench ./ckks report RECORD...    writes RESULTS.md again, from records in results
//
// It needs Linux, whose /proc reports what a process uses, and a Python with TenSEAL,
// which ENABLERS_REQUIRE_PEERS=1 installs the first time.
//
// trial.go has what is compared and how; aggregate.go is our side, python/peer.py
// the other; record.go and report.go write down what came of it.
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

func main() { rig.Main("bench/ckks", run) }

// settings are the flags.
type settings struct {
	trials      int
	clients     int
	ciphertexts int
	calm        time.Duration
	out         string
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "report":
			return rig.Rewrite(args[1:], (*record).add, (*record).markdown)
		case "aggregate": // in a process of its own
			if len(args) != 3 {
				return errors.New("aggregate: a folder and a file are needed")
			}
			return aggregate(ctx, args[1], args[2])
		}
	}
	s, err := parse(args)
	if err != nil {
		return err
	}
	return compare(ctx, s)
}

func parse(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("bench/ckks", flag.ContinueOnError)
	flags.IntVar(&s.trials, "trials", 5, "how often each side aggregates, in turns")
	flags.IntVar(&s.clients, "clients", 8, "how many clients there are")
	flags.IntVar(&s.ciphertexts, "ciphertexts", 245, "ciphertexts of an update, of 4096 parameters each")
	flags.DurationVar(&s.calm, "calm", 0, "how long a trial waits, at most, for the machine to have nothing else to do")
	flags.StringVar(&s.out, "out", filepath.Join("bench", "ckks"), "`folder` that the record is written to")
	quick := flags.Bool("quick", false, "small and once")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if *quick {
		s.trials, s.clients, s.ciphertexts = 1, 3, 4
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.trials < 1 || s.clients < 1 || s.ciphertexts < 2:
		return s, errors.New("-trials, -clients or -ciphertexts is too small to measure anything")
	}
	return s, nil
}

// compare has the sides aggregate in turns and writes the record.
func compare(ctx context.Context, s settings) (err error) {
	folder, err := os.MkdirTemp("", "bench-ckks-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	r := newRecord(ctx, s)
	b := &bench{settings: s, folder: folder, record: r}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	for round := range s.trials {
		for _, side := range b.sides {
			if err := b.try(ctx, round, side); err != nil {
				r.Problems = append(r.Problems, fmt.Sprintf("%s: %v", side.name, err))
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	if err := r.write(s.out); err != nil {
		return err
	}
	if len(r.Problems) > 0 {
		return fmt.Errorf("the record says what failed: %s", strings.Join(r.Problems, "; "))
	}
	return nil
}
