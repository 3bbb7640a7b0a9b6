package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// asyncRecord is what ASYNC.md says.
type asyncRecord struct {
	Date, Commit, Command, Machine string
	Trials                         []asyncTrial
}

func newAsyncRecord(ctx context.Context) *asyncRecord {
	return &asyncRecord{
		Date: time.Now().UTC().Format(time.RFC3339), Command: rig.Command("collect"), Machine: rig.ThisMachine(ctx).String(),
		Commit: rig.Commit(ctx, "flcollect", "storage", "examples/tumours", "bench/collect/async.go", "go.mod", "bench/go.mod"),
	}
}

// write writes ASYNC.md.
func (r *asyncRecord) write(dir string) error {
	return os.WriteFile(filepath.Join(dir, "ASYNC.md"), []byte(r.markdown()), 0o644)
}

func (r *asyncRecord) of(manner string, pick func(asyncTrial) float64) (values []float64) {
	for _, t := range r.Trials {
		if t.Manner == manner {
			values = append(values, pick(t))
		}
	}
	return values
}

func (r *asyncRecord) markdown() string {
	var b strings.Builder
	b.WriteString("# Asynchronous jobs beside rounds, with one slow client\n\n")
	fmt.Fprintf(&b, "Written by the benchmark; do not edit. `%s`, %s, commit %s.\n\n",
		r.Command, r.Date, r.Commit)
	fmt.Fprintf(&b, "- Machine: %s; %s\n", r.Machine, runtime.Version())
	loads := r.loads()
	fmt.Fprintf(&b, "- Load average of the machine before the trials, which others used as well: %.1f to %.1f.\n",
		slices.Min(loads), slices.Max(loads))
	fmt.Fprintf(&b, "- Server and %d clients in Go in one process, over loopback; the store is on the disk. A client has an eighth of "+
		"three quarters of the tumours, and takes 5 steps of logistic regression an instruction. With that a fast one takes %v, the slow "+
		"one %d times as long; both wait for the rest of it. No evaluation.\n", asyncClients, asyncFit, asyncSlower)
	fmt.Fprintf(&b, "- Time to the target: from the first instruction to the first with a model whose loss over the last quarter of the "+
		"tumours, which no client has, is at most %v. Medians of the trials, in turns, lowest to highest in brackets.\n\n", asyncTarget)
	b.WriteString("| | seconds to the target | versions or rounds to it | versions or rounds per minute | updates to it | mean staleness |\n" +
		"|---|---:|---:|---:|---:|---:|\n")
	names := manners()
	for _, m := range names {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", m.name, spread(r.of(m.name, func(t asyncTrial) float64 { return t.Seconds }), 1),
			spread(r.of(m.name, func(t asyncTrial) float64 { return float64(t.Versions) }), 0),
			spread(r.of(m.name, asyncTrial.perMinute), 0),
			spread(r.of(m.name, func(t asyncTrial) float64 { return float64(t.Updates) }), 0),
			spread(r.of(m.name, func(t asyncTrial) float64 { return t.Stale }), 2))
	}
	b.WriteString("\nTrial by trial, in comparison with rounds:\n\n")
	for _, m := range names[1:] {
		fmt.Fprintf(&b, "- %s: %s times as fast to the target, %s times the versions per minute.\n", m.name,
			spread(r.ratios(names[0].name, m.name, func(t asyncTrial) float64 { return 1 / t.Seconds }), 1),
			spread(r.ratios(names[0].name, m.name, asyncTrial.perMinute), 1))
	}
	return b.String()
}

func (r *asyncRecord) loads() (all []float64) {
	for _, t := range r.Trials {
		all = append(all, t.Load)
	}
	return all
}

// ratios divides the figures of a manner by those of another, trial by trial.
func (r *asyncRecord) ratios(by, manner string, pick func(asyncTrial) float64) (all []float64) {
	divisors, values := r.of(by, pick), r.of(manner, pick)
	for i := range min(len(divisors), len(values)) {
		all = append(all, values[i]/divisors[i])
	}
	return all
}
