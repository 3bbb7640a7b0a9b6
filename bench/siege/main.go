// Command siege measures how the servers serve legitimate calls while others hold
// connections and say nothing, send slowly, and sign in with wrong tokens:
//
//	go run -C bench ./siege                     everything; the record goes to bench/siege
//	go run -C bench ./siege -quick              small and once, to see that it works
//	go run -C bench ./siege -only modelrepo     some servers
//	go run -C bench ./siege report RECORD       writes RESULTS.md again, from a record in results
//
// It needs Linux, whose /proc reports what a process uses and whose loopback has many
// addresses, and a limit of open files above twice the silent connections.
//
// server.go has the servers, calls.go the legitimate calls, attack.go the others;
// record.go and report.go write down what came of it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

func main() { rig.Main("bench/siege", run) }

// settings are the flags.
type settings struct {
	trials   int
	only     []string
	duration time.Duration
	size     size
	out      string
}

// size is how many attack at a time.
type size struct {
	Silent int `json:"silent"`  // connections
	Slow   int `json:"slow"`    // connections that send a body, a byte a second
	SignIn int `json:"sign_in"` // wrong tokens per second
	Calls  int `json:"calls"`   // legitimate calls per second
}

func run(ctx context.Context, args []string) error {
	if len(args) == 2 && args[0] == "report" {
		r, dir, err := rig.Read[record](args[1])
		if err != nil {
			return err
		}
		return rig.WriteReport(dir, r.markdown())
	}
	s, err := parse(args)
	if err != nil {
		return err
	}
	return measure(ctx, s)
}

func parse(args []string) (settings, error) {
	s := settings{size: size{Silent: 10_000, Slow: 1000, SignIn: 1000, Calls: 200}}
	flags := flag.NewFlagSet("bench/siege", flag.ContinueOnError)
	flags.IntVar(&s.trials, "trials", 3, "how often each server is besieged")
	only := flags.String("only", "", "the `servers` to run, all by default")
	flags.DurationVar(&s.duration, "duration", 15*time.Second, "how long calls are measured, without and with the siege")
	flags.StringVar(&s.out, "out", filepath.Join("bench", "siege"), "`folder` that the record is written to")
	quick := flags.Bool("quick", false, "small and once")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if *quick {
		s.trials, s.duration, s.size = 1, 2*time.Second, size{Silent: 200, Slow: 20, SignIn: 50, Calls: 100}
	}
	if *only != "" {
		s.only = strings.Split(*only, ",")
	}
	if flags.NArg() > 0 || s.trials < 1 || s.duration < time.Second {
		return s, errors.New("unexpected argument, or -trials or -duration too small to measure anything")
	}
	return s, nil
}

// measure besieges the servers in turns and writes the record.
func measure(ctx context.Context, s settings) error {
	folder, err := os.MkdirTemp("", "siege-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // what remains is in the folder for temporary files
	r := &record{
		Command: rig.Command("siege"), Date: time.Now().UTC().Format(time.RFC3339), Machine: rig.ThisMachine(ctx).String(),
		Commit: rig.Commit(ctx, "cmd", "internal", "bench/siege"), Size: s.size, Seconds: s.duration.Seconds(),
	}
	for n := range s.trials {
		for _, one := range servers() {
			if len(s.only) > 0 && !slices.Contains(s.only, one.name) {
				continue
			}
			t, err := one.trial(ctx, s, filepath.Join(folder, one.name), n)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				r.Problems = append(r.Problems, fmt.Sprintf("%s: %v", one.name, err))
				continue
			}
			fmt.Printf("%s: p99 %.1f ms, besieged %.1f ms; %d of %d calls failed; %.0f MB, peak %.0f MB\n", t.Server, t.Calm.P99, t.Siege.P99,
				t.Siege.Failed, t.Siege.Calls, t.Before/1e6, t.Peak/1e6)
			r.Trials = append(r.Trials, t)
		}
	}
	return rig.Write(s.out, rig.FileName(r.Date), r, r.markdown())
}
