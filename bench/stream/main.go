// Command stream benchmarks channels beside a bare passthrough and beside Java
// stream processors, over real brokers:
//
//	go run -C bench ./stream                    everything; the record goes to bench/stream
//	go run -C bench ./stream -quick             few messages and one round, to see that it works
//	go run -C bench ./stream -only mqtt,latency some sections
//	go run -C bench ./stream report RECORD      writes RESULTS.md again, from a record in results
//
// It needs mosquitto, Java 17 and Maven, and Linux, whose /proc reports what a
// process uses. A section whose broker is missing fails; the record has the reason.
//
// main.go has the flags, contender.go has what is compared, subject.go and
// saramabare.go are our processes that are measured, bench.go runs them,
// meter.go watches a run, latency.go and backlog.go measure what their names
// say. brokers.go starts brokers, install.go fetches programs,
// mqttload.go and kafkaload.go make and check the messages, record.go and
// report.go write down what came of it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/bench/stream/workload"
)

func main() { rig.Main("bench/stream", run) }

// settings are the flags.
type settings struct {
	rounds        int
	only          []string
	contenders    *regexp.Regexp
	mqttMessages  int
	kafkaMessages int
	fakeMessages  int
	peerMessages  int
	seconds       float64
	backlog       int
	window        int
	profiles      string
	cache, out    string
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "subject":
			return runSubject(args[1:])
		case "kfake":
			return serveFake()
		case "report":
			return rewrite(args[1:])
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
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	flags := flag.NewFlagSet("bench/stream", flag.ContinueOnError)
	flags.IntVar(&s.rounds, "rounds", 3, "how often each contender runs, in turns")
	only := flags.String("only", "mqtt,kafka,kfake,latency,backlog", "the `sections` to run")
	contenders := flags.String("contenders", "", "a regular `expression`: the contenders to run")
	flags.IntVar(&s.mqttMessages, "mqtt", 150_000, "messages of a trial over MQTT")
	flags.IntVar(&s.kafkaMessages, "kafka", 1_000_000, "messages of a trial over Kafka")
	flags.IntVar(&s.fakeMessages, "kfake", 500_000, "messages of a trial over a Kafka in memory")
	flags.IntVar(&s.peerMessages, "peers", 50_000, "messages of a trial of a peer in Java")
	flags.Float64Var(&s.seconds, "seconds", 10, "how long latency is measured")
	flags.IntVar(&s.backlog, "backlog", 1_000_000, "the largest backlog; others are a tenth and a hundredth of it")
	flags.IntVar(&s.window, "window", 0, "messages that our processes have in flight; zero means their default")
	flags.StringVar(&s.profiles, "profiles", "", "`folder` for profiles of our processes, which costs them some speed")
	flags.StringVar(&s.cache, "cache", filepath.Join(cache, "enablers-bench-stream"),
		"`folder` that Kafka and the peers are installed in")
	flags.StringVar(&s.out, "out", filepath.Join("bench", "stream"), "`folder` that the record is written to")
	quick := flags.Bool("quick", false, "few messages and one round")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if *quick {
		s.rounds, s.mqttMessages, s.kafkaMessages, s.fakeMessages, s.seconds, s.backlog, s.peerMessages = 1, 30_000,
			100_000, 100_000, 2, 50_000, 5000
	}
	s.only = strings.Split(*only, ",")
	if s.contenders, err = regexp.Compile(*contenders); err != nil {
		return s, fmt.Errorf("-contenders: %w", err)
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.rounds < 1 || s.seconds <= 0 || min(s.mqttMessages, s.kafkaMessages, s.fakeMessages, s.peerMessages,
		s.backlog) < 1000:
		return s, errors.New("-rounds and -seconds are above zero, and a trial has a thousand messages at least")
	}
	return s, nil
}

// measure runs the sections and writes the record.
func measure(ctx context.Context, s settings) error {
	scratch, err := os.MkdirTemp("", "bench-stream-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	b := &bench{settings: s, scratch: scratch, mapping: filepath.Join(scratch, "weather.ttl"), record: newRecord(ctx)}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if err := os.WriteFile(b.mapping, []byte(workload.Mapping), 0o600); err != nil {
		return err
	}
	if s.profiles != "" {
		if err := os.MkdirAll(s.profiles, 0o755); err != nil {
			return err
		}
		if b.profiles, err = filepath.Abs(s.profiles); err != nil {
			return err
		}
	}
	for _, name := range []string{"kafka", "peers"} {
		if err := install(ctx, s.cache, name); err != nil {
			b.record.Problems = append(b.record.Problems, fmt.Sprintf("install %s: %v", name, err))
		}
	}
	for _, section := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"mqtt", b.overMQTT}, {"kafka", b.overKafka}, {"kfake", b.overFake}, {"latency", b.latency}, {"backlog", b.backlogs},
	} {
		if !slices.Contains(s.only, section.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s\n", section.name)
		if err := section.run(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			b.record.Problems = append(b.record.Problems, fmt.Sprintf("%s: %v", section.name, err))
			fmt.Fprintf(os.Stderr, "%s: %v\n", section.name, err)
		}
	}
	return b.record.write(s.out)
}
