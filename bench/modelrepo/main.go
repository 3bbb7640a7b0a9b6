// Command modelrepo benchmarks the model repository beside the distribution
// registry and MinIO, each as a process of its own, over HTTP:
//
//	go run -C bench ./modelrepo                  everything; the record goes to bench/modelrepo
//	go run -C bench ./modelrepo -quick           small and once, to see that it works
//	go run -C bench ./modelrepo -only large,pages  some sections
//	go run -C bench ./modelrepo report RECORD... writes RESULTS.md again, from records in results
//
// It needs Linux, whose /proc reports what a process uses, and the network the
// first time, to build the peers.
//
// contender.go has what is compared, repository.go and peers.go how each is
// spoken to; large.go, small.go and pages.go measure; record.go and report.go
// write down what came of it.
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

func main() { rig.Main("bench/modelrepo", run) }

// settings are the flags.
type settings struct {
	rounds       int
	only         []string
	size         int64 // of a large content
	hugeSize     int64 // of a content that is uploaded once, from a generator
	smallUploads int
	models       int
	calm         time.Duration
	data         string
	out          string
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "report" {
		return rig.Rewrite(args[1:], (*record).add, (*record).markdown)
	}
	s, err := parse(args)
	if err != nil {
		return err
	}
	return measure(ctx, s)
}

func parse(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("bench/modelrepo", flag.ContinueOnError)
	flags.IntVar(&s.rounds, "rounds", 5, "how often each contender runs, in turns")
	only := flags.String("only", "large,huge,small,pages", "the `sections` to run")
	flags.Int64Var(&s.size, "size", 1<<30, "`bytes` of a large content")
	flags.Int64Var(&s.hugeSize, "huge", 5<<30, "`bytes` of a content that comes from a generator")
	flags.IntVar(&s.smallUploads, "small", 10_000, "small uploads of a trial")
	flags.IntVar(&s.models, "models", 100_000, "models of the namespace that is listed")
	flags.DurationVar(&s.calm, "calm", 0, "how long a trial waits, at most, for the machine to have nothing else to do")
	flags.StringVar(&s.data, "data", "", "`folder` in which the contenders keep their data, a temporary one by default")
	flags.StringVar(&s.out, "out", filepath.Join("bench", "modelrepo"), "`folder` that the record is written to")
	quick := flags.Bool("quick", false, "small and once")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if *quick {
		s.rounds, s.size, s.hugeSize, s.smallUploads, s.models = 1, 64<<20, 128<<20, 500, 2000
	}
	s.only = strings.Split(*only, ",")
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.rounds < 1 || s.smallUploads < connections || s.models < 3*pageSize || min(s.size, s.hugeSize) < 1<<20:
		return s, errors.New("-rounds, -size, -huge, -small or -models is too small to measure anything")
	}
	return s, nil
}

// measure runs the sections and writes the record, as far as it gets.
func measure(ctx context.Context, s settings) (err error) {
	folder, err := os.MkdirTemp(s.data, "bench-modelrepo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	all, err := contenders(ctx, folder)
	if err != nil {
		return err
	}
	r := newRecord(ctx, s)
	for _, c := range all {
		r.Hows = append(r.Hows, c.name+": "+c.how)
	}
	b := &bench{settings: s, folder: folder, record: r, contenders: all}
	sections := map[string]func(context.Context) error{"large": b.large, "huge": b.huge, "small": b.small, "pages": b.pages}
	for _, name := range s.only {
		section, ok := sections[name]
		if !ok {
			return fmt.Errorf("-only: there is no section %q", name)
		}
		if err := section(ctx); err != nil {
			r.Problems = append(r.Problems, fmt.Sprintf("%s: %v", name, err))
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

// bench is a run of the benchmark.
type bench struct {
	settings
	folder     string
	record     *record
	contenders []contender
}
