// Command multilink benchmarks the multi-link tunnel beside OpenVPN, fastd, tinc,
// Multipath TCP and the bare link, each between two network namespaces of its
// own:
//
//	go run -C bench ./multilink                  everything; the record goes to bench/multilink
//	go run -C bench ./multilink -quick           short and once, to see that it works
//	go run -C bench ./multilink report RECORD... writes RESULTS.md again, from records in results
//
// It needs root on Linux, and the programs openvpn, fastd, tincd, iperf3 and ip;
// for kernel bonding, which few kernels of virtual machines have, qemu as well. Nothing is made
// outside of the namespaces, which vanish with it.
//
// contender.go says what is compared, ours.go, openvpn.go, fastd.go, tinc.go and
// mptcp.go how each is started, network.go is what they run on; throughput.go,
// failover.go and machine.go measure, stream.go sends the packets that a failover
// is seen by; record.go and report.go write down what came of it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

func main() { rig.Main("bench/multilink", run) }

// settings are the flags.
type settings struct {
	rounds    int
	failovers int
	length    time.Duration
	patience  time.Duration
	machine   bool
	program   string
	only      *regexp.Regexp
	out       string
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "report" {
		return rig.Rewrite(args[1:], (*record).add, (*record).markdown)
	}
	var s settings
	flags := flag.NewFlagSet("bench/multilink", flag.ContinueOnError)
	flags.IntVar(&s.rounds, "rounds", 5, "how often the throughput of each contender is measured, in turns")
	flags.IntVar(&s.failovers, "failovers", 5, "how often each contender meets each fault, in turns")
	flags.DurationVar(&s.length, "length", 5*time.Second, "how long iperf3 sends in each direction")
	flags.DurationVar(&s.patience, "patience", 20*time.Second, "how long a failover may take")
	flags.StringVar(&s.program, "program", "", "`file` of cmd/multilink, built before; the default is to build it")
	flags.StringVar(&s.out, "out", filepath.Join("bench", "multilink"), "`folder` that the record is written to")
	flags.BoolVar(&s.machine, "machine", true, "have kernel bonding tried in a virtual machine, which takes qemu")
	only := flags.String("only", "", "measure contenders whose names match the `expression`")
	quick := flags.Bool("quick", false, "short and once")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *quick {
		s.rounds, s.failovers, s.length, s.patience, s.machine = 1, 1, time.Second, 10*time.Second, false
	}
	var err error
	if s.only, err = regexp.Compile(*only); err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if flags.NArg() > 0 || s.rounds < 0 || s.failovers < 0 || s.length < time.Second || s.patience < time.Second {
		return errors.New("unexpected argument, or too few -rounds or too short a -length or -patience to measure anything")
	}
	return measure(ctx, s)
}

// measure makes the trials and writes the record.
func measure(ctx context.Context, s settings) (err error) {
	if os.Geteuid() != 0 {
		return errors.New("network namespaces and TAP devices take root on Linux")
	}
	folder, err := os.MkdirTemp("", "bench-multilink-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if s.program == "" {
		if s.program, err = rig.Build(ctx, folder, "multilink"); err != nil {
			return err
		}
	}
	if s.program, err = filepath.Abs(s.program); err != nil {
		return err
	}
	r := newRecord(ctx, s)
	speed, failover := throughputContenders(s.program), failoverContenders(s.program)
	for _, list := range [][]contender{speed, failover} {
		for _, c := range list {
			if s.only.MatchString(c.name) {
				r.addHow(c)
			}
		}
	}
	for round := range s.rounds {
		each(ctx, s, r, folder, round, speed, measureThroughput)
		if err := r.write(s.out); err != nil { // so that what follows cannot lose it
			return err
		}
	}
	for round := range s.failovers {
		each(ctx, s, r, folder, round, failover, measureFailovers)
		if err := r.write(s.out); err != nil {
			return err
		}
	}
	if s.machine && ctx.Err() == nil {
		if err := measureMachine(ctx, s, r); err != nil {
			r.Problems = append(r.Problems, err.Error())
		}
		if err := r.write(s.out); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(r.Problems) > 0 {
		return fmt.Errorf("the record says what failed, %d times; the first: %s", len(r.Problems), r.Problems[0])
	}
	return nil
}

// each has every contender measured once. The one that begins changes from round
// to round.
func each(ctx context.Context, s settings, r *record, folder string, round int, all []contender,
	one func(context.Context, settings, *record, setting) error) {
	for i := range all {
		c := all[(i+round)%len(all)]
		if ctx.Err() != nil || !s.only.MatchString(c.name) {
			continue
		}
		what := setting{contender: c, round: round, folder: folder}
		if err := one(ctx, s, r, what); err != nil && ctx.Err() == nil {
			r.Problems = append(r.Problems, fmt.Sprintf("%s, round %d: %v", c.name, round+1, err))
		}
	}
}
