package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// markdown is RESULTS.md.
func (r *record) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Servers under siege\n\nWritten by the benchmark; do not edit. `%s`, %s, commit %s.\n\n", r.Command, r.Date, r.Commit)
	fmt.Fprintf(&b, "- Machine: %s. Servers, callers and attackers share it and loopback.\n", r.Machine)
	var loads []float64
	var names []string
	for _, t := range r.Trials {
		loads = append(loads, t.Load)
		if !slices.Contains(names, t.Server) {
			names = append(names, t.Server)
		}
	}
	fmt.Fprintf(&b, "- Load average before the trials, which others used as well: %s.\n", rig.Loads(loads))
	fmt.Fprintf(&b, "- Siege: %s silent connections and %s slow senders of %d client addresses, which connect again when they are closed, "+
		"and %s wrong tokens per second. Legitimate: %d calls per second for %.0f s, half over new connections.\n",
		rig.Thousands(r.Size.Silent), rig.Thousands(r.Size.Slow), sources, rig.Thousands(r.Size.SignIn), r.Size.Calls, r.Seconds)
	b.WriteString("- Medians of the trials, lowest to highest in brackets. MB are of 10^6 bytes.\n\n")
	b.WriteString("| server | p50, ms | besieged | p99, ms | besieged | times | failed of calls | memory, MB | peak | connections | " +
		"sign-ins, refused |\n" +
		"|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, name := range names {
		r.row(&b, name)
	}
	b.WriteString(rig.NotMeasured(r.Problems))
	return b.String()
}

// row writes the medians of a server.
func (r *record) row(b *strings.Builder, name string) {
	of := func(value func(trial) float64) (values []float64) {
		for _, t := range r.Trials {
			if t.Server == name {
				values = append(values, value(t))
			}
		}
		return values
	}
	fine := func(value func(trial) float64) string {
		v := of(value)
		return fmt.Sprintf("%.1f (%.1f to %.1f)", rig.Median(v), slices.Min(v), slices.Max(v))
	}
	calls, failed, signIns, refused := 0, 0, int64(0), int64(0)
	for _, t := range r.Trials {
		if t.Server == name {
			calls, failed = calls+t.Siege.Calls, failed+t.Siege.Failed
			signIns, refused = signIns+t.Attack.SignIns, refused+t.Attack.SignInsRefused
		}
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %d of %s | %s | %s | %s | %s, %s |\n", name,
		fine(func(t trial) float64 { return t.Calm.P50 }), fine(func(t trial) float64 { return t.Siege.P50 }),
		fine(func(t trial) float64 { return t.Calm.P99 }), fine(func(t trial) float64 { return t.Siege.P99 }),
		fine(func(t trial) float64 { return t.Siege.P99 / t.Calm.P99 }), failed, rig.Thousands(calls),
		rig.Spread(of(func(t trial) float64 { return t.Before / 1e6 })), rig.Spread(of(func(t trial) float64 { return t.Peak / 1e6 })),
		rig.Spread(of(func(t trial) float64 { return float64(t.Attack.Connections) })), rig.Thousands(int(signIns)), rig.Thousands(int(refused)))
}
