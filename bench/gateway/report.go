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
	b.WriteString(r.Markdown("The embedded gateway beside nginx, Caddy and KrakenD's engine"))
	fmt.Fprintf(&b, "- wrk with one thread, the gateway and the service, an nginx that answers with 28 bytes, share "+
		"the cores and loopback. Contenders take turns, %.0f s each; medians of the rounds, lowest to highest in brackets. "+
		"All get the same token; those that say RS256 verify it.\n", r.Seconds)
	var loads []float64
	for _, t := range r.Trials {
		loads = append(loads, t.Load)
	}
	fmt.Fprintf(&b, "- Load average of the machine before the trials, which others used as well: %s.\n", rig.Loads(loads))
	for _, how := range r.Hows {
		fmt.Fprintf(&b, "- %s\n", how)
	}
	r.goals(&b)
	for _, routes := range r.distinct(func(t *trial) int { return t.Routes }) {
		for _, connections := range r.distinct(func(t *trial) int { return t.Connections }) {
			r.table(&b, routes, connections)
		}
	}
	b.WriteString(rig.NotMeasured(r.Problems))
	return b.String()
}

// distinct are the values that trials have, in order.
func (r *record) distinct(of func(*trial) int) []int {
	var all []int
	for _, t := range r.Trials {
		all = append(all, of(t))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// pick are the numbers of a contender.
func (r *record) pick(name string, routes, connections int, of func(*trial) float64) []float64 {
	var all []float64
	for _, t := range r.Trials {
		if t.Contender == name && t.Routes == routes && t.Connections == connections {
			all = append(all, of(t))
		}
	}
	return all
}

func rate(t *trial) float64 { return t.Rate }
func cpu(t *trial) float64  { return t.CPU }
func p99(t *trial) float64  { return t.P99 }

func (r *record) table(b *strings.Builder, routes, connections int) {
	fmt.Fprintf(b, "\n## %s routes, %d connections\n\n"+
		"| | requests/s | of nginx | p99, ms | CPU of the gateway, µs a request |\n"+
		"|---|---:|---:|---:|---:|\n", rig.Thousands(routes), connections)
	nginx := rig.Median(r.pick("nginx", routes, connections, rate))
	var names []string
	for _, t := range r.Trials {
		if !slices.Contains(names, t.Contender) {
			names = append(names, t.Contender)
		}
	}
	for _, name := range names {
		rates := r.pick(name, routes, connections, rate)
		if len(rates) == 0 {
			continue
		}
		low, high := slices.Min(rates), slices.Max(rates)
		fmt.Fprintf(b, "| %s | %s (%s to %s) | %.2f | %.1f | %.1f |\n", name,
			rig.Thousands(int(rig.Median(rates))), rig.Thousands(int(low)), rig.Thousands(int(high)),
			rig.Median(rates)/nginx, rig.Median(r.pick(name, routes, connections, p99)), rig.Median(r.pick(name, routes, connections, cpu)))
	}
}

// goals says what was wanted and what came of it.
func (r *record) goals(b *strings.Builder) {
	b.WriteString("\n| wanted | setting | requests/s | CPU a request |\n|---|---|---:|---:|\n")
	line := func(goal, setting string, ours, theirs string, routes, otherRoutes, connections int) {
		x, y := rig.Median(r.pick(ours, routes, connections, rate)), rig.Median(r.pick(theirs, otherRoutes, connections, rate))
		c, d := rig.Median(r.pick(ours, routes, connections, cpu)), rig.Median(r.pick(theirs, otherRoutes, connections, cpu))
		if x > 0 && y > 0 && d > 0 {
			fmt.Fprintf(b, "| %s | %s | %.2f times | %.2f times |\n", goal, setting, x/y, c/d)
		}
	}
	all := r.distinct(func(t *trial) int { return t.Routes })
	for _, routes := range all {
		for _, connections := range r.distinct(func(t *trial) int { return t.Connections }) {
			setting := fmt.Sprintf("%s routes, %d connections", rig.Thousands(routes), connections)
			line("with RS256 at least 3 times KrakenD's engine with RS256", setting,
				"ours, RS256", "KrakenD's engine, RS256", routes, routes, connections)
			line("with RS256 ahead of Caddy without", setting, "ours, RS256", "Caddy", routes, routes, connections)
			line("without tokens at least half of nginx", setting, "ours", "nginx", routes, routes, connections)
		}
	}
	if len(all) > 1 {
		for _, connections := range r.distinct(func(t *trial) int { return t.Connections }) {
			most := all[len(all)-1]
			setting := fmt.Sprintf("%s routes beside %s, %d connections", rig.Thousands(most), rig.Thousands(all[0]), connections)
			line("as fast with more routes", setting, "ours", "ours", most, all[0], connections)
		}
	}
}
