// Command rml benchmarks the mapping engine beside other RML engines, in one
// run on one machine:
//
//	go run -C bench ./rml                    everything; the record goes to bench/rml
//	go run -C bench ./rml -quick             small sizes and one round, to see that it works
//	go run -C bench ./rml memory             constant memory: 1 GB NDJSON and 1 GB CSV
//
// It needs Java 17, Maven, Node, Python and GNU time. What is missing costs the
// engines that need it; the record has the reason.
//
// main.go has the flags, engine.go how each engine is run, install.go
// fetches the peers, process.go measures a process, check.go compares outputs,
// compare.go goes over the workloads, memory.go is the constant-memory check,
// record.go and report.go write down what came of it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/bench/rml/workload"
)

func main() { rig.Main("bench/rml", run) }

// settings are the flags.
type settings struct {
	rounds      int
	repeatBelow time.Duration
	timeout     time.Duration
	seconds     float64
	sizes       workload.Sizes
	only        string
	cache, out  string
	bytes       int64
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "message": // our side of the message workloads, as a process of its own
			return mapMessage(args[1:])
		case "check": // likewise, so that this process stays small
			return printCheck(args[1:])
		case "memory":
			s, err := parse(args[1:])
			if err != nil {
				return err
			}
			return memory(ctx, s)
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
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	flags := flag.NewFlagSet("bench/rml", flag.ContinueOnError)
	flags.IntVar(&s.rounds, "rounds", 3, "how often each engine runs each workload, interleaved")
	flags.DurationVar(&s.repeatBelow, "repeat-below", 2500*time.Millisecond,
		"an engine that took longer than this in the first round does not repeat the workload, unless it "+
			"is of messages")
	flags.DurationVar(&s.timeout, "timeout", 40*time.Second, "how long an engine may take")
	flags.Float64Var(&s.seconds, "seconds", 1, "how long messages are mapped, after a warm-up")
	flags.IntVar(&s.sizes.Batch, "batch", 100_000, "rows of a batch")
	flags.IntVar(&s.sizes.Axis, "axis", 10_000, "rows of the other workloads, a multiple of 100")
	flags.StringVar(&s.only, "only", "", "a regular `expression`: the workloads to run")
	flags.StringVar(&s.cache, "cache", filepath.Join(cache, "enablers-bench-rml"),
		"`folder` that the peers are installed in")
	flags.StringVar(&s.out, "out", filepath.Join("bench", "rml"), "`folder` that the record is written to")
	flags.Int64Var(&s.bytes, "bytes", 1<<30, "size of the inputs of the memory check")
	quick := flags.Bool("quick", false, "small sizes and one round")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if *quick {
		s.rounds, s.seconds, s.sizes = 1, 0.2, workload.Sizes{Batch: 2000, Axis: 1000}
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.rounds < 1 || s.seconds <= 0 || s.sizes.Batch < 1 || s.bytes < 1<<20:
		return s, errors.New("-rounds, -seconds and -batch are above zero, -bytes is a megabyte at least")
	case s.sizes.Axis < 100 || s.sizes.Axis%100 != 0:
		return s, fmt.Errorf("-axis %s: expected a multiple of 100", strconv.Itoa(s.sizes.Axis))
	}
	return s, nil
}
