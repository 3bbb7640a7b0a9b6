// Command collect benchmarks the training collector beside the server of Flower,
// each as a process of its own:
//
//	go run -C bench ./collect                   everything; the record goes to bench/collect
//	go run -C bench ./collect -quick            small and once, to see that it works
//	go run -C bench ./collect -only rounds      some sections: rounds, streams
//	go run -C bench ./collect -quick -only rounds -contenders flcollector,nothing -sizes 10x8,100x4
//	go run -C bench ./collect async             asynchronous jobs beside rounds; writes ASYNC.md
//	go run -C bench ./collect compression       bytes and accuracy with each compression, for COMPRESSION.md
//	go run -C bench ./collect report RECORD...  writes RESULTS.md again, from records in results
//
// It needs Linux, whose /proc reports what a process uses, Python, and the network
// the first time, to install Flower.
//
// contender.go has what is compared, flower.go, collector.go and nothing.go how each
// is started; rounds.go measures with clients in Python, streams.go with those of
// load.go; record.go and report.go write down what came of it.
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

func main() { rig.Main("bench/collect", run) }

// settings are the flags.
type settings struct {
	trials  int
	only    []string
	who     []string // nil for all
	sizes   []training
	crowd   crowd
	program string
	calm    time.Duration
	out     string
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "report":
			return rig.Rewrite(args[1:], (*record).add, (*record).markdown)
		case "load":
			return load(ctx, args[1:])
		case "compression":
			return compression(ctx, args[1:])
		case "async":
			return measureAsync(ctx, args[1:])
		case "nothing":
			return nothing(ctx, args[1:])
		}
	}
	s, err := parse(args)
	if err != nil {
		return err
	}
	return measure(ctx, s)
}

func parse(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("bench/collect", flag.ContinueOnError)
	flags.IntVar(&s.trials, "trials", 3, "how often each contender runs, in turns")
	only := flags.String("only", "rounds,streams", "the `sections` to run")
	who := flags.String("contenders", "", "only the contenders of these `names`, in the section rounds")
	sizes := flags.String("sizes", "", "`sizes` in place of those of the section rounds: MB of the model x clients, as in 10x8,100x4")
	many := flags.String("crowd", "", "`clients` in place of those of the section streams: active in a round + idle, as in 100+1000")
	in := flags.String("in", inPython+","+inGo, "the `languages` of the clients in the section rounds")
	flags.StringVar(&s.program, "program", "", "`file` of the collector's program, instead of building cmd/flcollector")
	flags.DurationVar(&s.calm, "calm", 0, "how long a trial waits, at most, for the machine to have nothing else to do")
	flags.StringVar(&s.out, "out", filepath.Join("bench", "collect"), "`folder` that the record is written to")
	quick := flags.Bool("quick", false, "small and once")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if *who != "" {
		s.who = strings.Split(*who, ",")
	}
	models := []training{{Clients: 8, Bytes: 10e6, Rounds: 7}, {Clients: 4, Bytes: 100e6, Rounds: 5}}
	s.crowd = crowd{Active: 1000, Idle: 10_000, Bytes: 1e6, Rounds: 5}
	if *quick {
		s.trials, s.crowd = 1, crowd{Active: 20, Idle: 100, Bytes: 1e5, Rounds: 3}
		models = []training{{Clients: 3, Bytes: 1e6, Rounds: 3}}
	}
	if *sizes != "" {
		var err error
		if models, err = readSizes(*sizes); err != nil {
			return s, err
		}
	}
	if *many != "" {
		_, err := fmt.Sscanf(*many, "%d+%d", &s.crowd.Active, &s.crowd.Idle)
		if err != nil || s.crowd.Active < 1 || s.crowd.Idle < 1 {
			return s, fmt.Errorf("-crowd: %q is no crowd such as 100+1000", *many)
		}
	}
	for _, language := range strings.Split(*in, ",") {
		if language != inPython && language != inGo {
			return s, fmt.Errorf("-in: there are no clients in %q", language)
		}
		for _, t := range models {
			t.In = language
			s.sizes = append(s.sizes, t)
		}
	}
	s.only = strings.Split(*only, ",")
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.trials < 1:
		return s, errors.New("-trials is too small to measure anything")
	}
	return s, nil
}

// readSizes reads sizes such as 10x8,100x4.
func readSizes(text string) (sizes []training, err error) {
	for _, size := range strings.Split(text, ",") {
		var megabytes, clients int
		if _, err := fmt.Sscanf(size, "%dx%d", &megabytes, &clients); err != nil || megabytes < 1 || clients < 1 {
			return nil, fmt.Errorf("-sizes: %q is no size such as 10x8", size)
		}
		t := training{Clients: clients, Bytes: int64(megabytes) * 1e6, Rounds: 7}
		if megabytes >= 100 {
			t.Rounds = 5
		}
		sizes = append(sizes, t)
	}
	return sizes, nil
}

// bench is a run of the benchmark.
type bench struct {
	settings
	folder     string
	python     string
	scripts    string // folder
	contenders []contender
	record     *record
}

// measure runs the sections and writes the record, as far as it gets.
func measure(ctx context.Context, s settings) (err error) {
	folder, err := os.MkdirTemp("", "bench-collect-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	b := &bench{settings: s, folder: folder}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	sections := map[string]func(context.Context) error{"rounds": b.rounds, "streams": b.streams}
	for _, name := range s.only {
		section, ok := sections[name]
		if !ok {
			return fmt.Errorf("-only: there is no section %q", name)
		}
		if err := section(ctx); err != nil {
			b.record.Problems = append(b.record.Problems, fmt.Sprintf("%s: %v", name, err))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := b.record.write(s.out); err != nil { // so that what follows cannot lose it
			return err
		}
	}
	if len(b.record.Problems) > 0 {
		return fmt.Errorf("the record says what failed: %s", strings.Join(b.record.Problems, "; "))
	}
	return nil
}
